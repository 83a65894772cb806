"""`dpjax sample`: infer the hidden states of a released event log."""

import argparse
import csv
import io
import sys

import numpy as np

from dpjax._documents import write_atomically
from dpjax.cli.options import plots, progress, span_of
from dpjax.cli.outputs import refuse_outputs
from dpjax.cli.printing import print_json
from dpjax.cli.sample_report import disagreement, facts_of, table_of
from dpjax.data.categorical import Categorical
from dpjax.event_logs import HiddenMarkovPosterior, fit, log_variables
from dpjax.noise.keys import study_key
from dpjax.releases.released import Released, load

_PICTURE = (".png",)
_FEWEST = 4  # draws per chain, for diagnostics


def run(options: argparse.Namespace) -> None:
    """Run `dpjax sample` with the given options."""
    _refuse(options)
    released = load(options.release)
    region, time, fields = log_variables(released.net, "release")
    states = released.hidden_states if options.states is None else options.states
    if states is None:
        raise ValueError(
            "`states` must be given as the number of hidden states, such as --states "
            "3, since the release suggests none."
        )
    posterior = fit(
        study_key(options.seed),
        released,
        states,
        times=_times_of(options.times),
        emission=options.emission,
        transition=options.transition,
        chains=options.chains,
        sweeps=options.sweeps,
        burn_in=options.burn_in,
        noise_aware=not options.no_noise_aware,
        progress=progress("sample", "block", options.quiet or options.json),
    )
    _write(options, posterior, released)
    facts = facts_of(posterior, region, time, fields)
    facts |= {"sweeps": options.sweeps, "burn_in": options.burn_in}
    if options.json:
        print_json(facts)
    else:
        print(table_of(facts))
    warning = disagreement(facts)
    if warning:
        print(f"dpjax: {warning}", file=sys.stderr)


def _refuse(options: argparse.Namespace) -> None:
    """Raise if outputs cannot be written, or if too few draws would remain."""
    endings = {"out": (".csv", ".npz"), "plot": _PICTURE, "emissions-plot": _PICTURE}
    outputs = [(name, getattr(options, name.replace("-", "_"))) for name in endings]
    refuse_outputs(outputs, [options.release], endings)
    if options.plot or options.emissions_plot:
        plots().require_matplotlib()
    if options.burn_in >= 0 and options.sweeps - options.burn_in < _FEWEST:
        raise ValueError(
            f"`sweeps` must be at least {options.burn_in + _FEWEST}, {_FEWEST} more "
            f"than `burn-in`, got {options.sweeps}."
        )


def _times_of(specs: list[str]) -> dict[str, tuple[int, int]]:
    times = {}
    for spec in specs:
        name, span = span_of(spec, "times", "REGION=FIRST:LAST", int)
        if name in times:
            raise ValueError(f"`times` must name a region once, got {name!r} twice.")
        times[name] = span
    return times


def _write(
    options: argparse.Namespace, posterior: HiddenMarkovPosterior, released: Released
) -> None:
    region, time, fields = log_variables(released.net)
    if options.out is not None and options.out.lower().endswith(".csv"):
        write_atomically(options.out, _states(posterior, region, time))
    elif options.out is not None:
        write_atomically(options.out, _draws(posterior, region, time, fields))
    if options.plot is not None:
        plots().state_map(posterior, region, time, options.plot)
    if options.emissions_plot is not None:
        plots().emission_bars(posterior, fields, options.emissions_plot)


def _states(
    posterior: HiddenMarkovPosterior, region: Categorical, time: Categorical
) -> str:
    found = np.asarray(posterior.predict_states())
    chances = np.asarray(posterior.state_probabilities()).max(axis=2)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([region.name, time.name, "state", "probability"])
    writer.writerows(
        (region.levels[i], time.levels[j], found[i, j], f"{chances[i, j]:.4g}")
        for i, j in zip(*np.nonzero(found >= 0), strict=True)
    )
    return text.getvalue()


def _draws(
    posterior: HiddenMarkovPosterior,
    region: Categorical,
    time: Categorical,
    fields: tuple[Categorical, ...],
) -> bytes:
    levels = [f"{field.name}={level}" for field in fields for level in field.levels]
    arrays = {
        name: np.asarray(getattr(posterior, name))
        for name in (
            "paths", "emission", "initial", "transition", "trace", "declared"
        )
    }  # fmt: skip
    data = io.BytesIO()
    arrays["regions"] = np.array([str(level) for level in region.levels])
    arrays["times"], arrays["levels"] = np.array(time.levels), np.array(levels)
    np.savez_compressed(data, **arrays)  # pyright: ignore[reportArgumentType]
    return data.getvalue()
