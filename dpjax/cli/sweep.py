"""`dpjax sweep`: compare mechanisms × ε × repeats on real or simulated records."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping

from dpjax.cli.options import plots, progress
from dpjax.cli.outputs import refuse_outputs
from dpjax.cli.printing import print_json
from dpjax.cli.sweep_studies import study_of
from dpjax.exports.tables import check_table_path
from dpjax.noise.keys import study_key
from dpjax.privacy import exact_epsilon
from dpjax.runtime import processes
from dpjax.study.sweeps import SweepResult, sweep


def run(options: argparse.Namespace) -> None:
    """Run `dpjax sweep` with the given options."""
    _refuse_outputs(options)
    epsilons = [exact_epsilon(epsilon, "epsilons") for epsilon in options.epsilons]
    if not epsilons or sorted(set(epsilons)) != epsilons:
        raise ValueError(
            "`epsilons` must be budgets in increasing order, such as 0.1,1,10, got "
            f"{','.join(options.epsilons) or 'none'}."
        )
    if len(set(options.mechanisms)) < len(options.mechanisms):
        raise ValueError(
            f"`mechanisms` must all differ, got {','.join(options.mechanisms)}."
        )
    with _stdout_for_results(options.distributed):
        mesh = _mesh(options)  # before JAX is used
        key = study_key(options.seed)
        experiment, data = study_of(options)
        result = sweep(
            key,
            experiment,
            data,
            epsilons=epsilons,
            mechanisms=experiment.mechanisms(options.mechanisms, epsilons),
            prepare=experiment.prepare,
            repeats=options.repeats,
            block=options.block,
            checkpoint=options.checkpoint,
            mesh=mesh,
            progress=progress("sweep", "block"),
        )
    if processes.is_first():
        _write(options, result)


@contextlib.contextmanager
def _stdout_for_results(distributed: bool) -> Iterator[None]:
    """Redirect output of libraries to the standard error while processes connect."""
    if not distributed:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _mesh(options: argparse.Namespace):
    described = (options.coordinator, options.processes, options.process)
    if options.distributed:
        processes.start(*described)
    elif any(x is not None for x in described):
        raise ValueError(
            "`distributed` must be given with `coordinator`, `processes` and `process`."
        )
    if options.distributed or options.devices is not None:
        return processes.device_mesh(options.devices)
    return None


def _refuse_outputs(options: argparse.Namespace) -> None:
    """Reject outputs that cannot be written, are inputs, or are the same file."""
    outputs = [(x, getattr(options, x)) for x in ("out", "plot", "checkpoint")]
    if options.out is not None:
        check_table_path(options.out, "out")
    if options.plot is not None:
        plots().require_matplotlib()
    refuse_outputs(outputs, [options.data, options.schema], {"plot": (".png",)})


def _write(options: argparse.Namespace, result: SweepResult) -> None:
    if options.out is not None:
        result.save(options.out)
    if options.plot is not None:
        plots().sweep_curves(
            result,
            options.plot,
            title=f"{options.repeats} repeats, {options.adjacency}",
        )
    rows = rows_of(result)
    if options.json:
        print_json({"private": False, "results": rows})
        return
    print(table_of(rows, {name: name for name in result}))
    if options.data is not None:
        print("NOT private: these results are for those who may see DATA.")


def rows_of(result: SweepResult) -> list[dict]:
    """Return a dictionary of mean scores and standard errors for each mechanism and ε.

    Its keys are "mechanism", "epsilon", and SCORE and SCORE_se for each score.
    """
    means = {name: (result.mean(name), result.standard_error(name)) for name in result}
    rows = []
    for m, mechanism in enumerate(result.coordinates["mechanism"]):
        for e, epsilon in enumerate(result.coordinates["epsilon"]):
            row = {"mechanism": mechanism, "epsilon": epsilon}
            for name, (mean, error) in means.items():
                row[name] = float(mean[m, e])
                row[f"{name}_se"] = float(error[m, e])
            row = {k: None if x != x else x for k, x in row.items()}  # JSON has no NaN
            rows.append(row)
    return rows


def table_of(rows: list[dict], titles: Mapping[str, str]) -> str:
    """Format the result of `rows_of` as text, with a column for each of `titles`."""
    header = "".join(f"{title:>20}" for title in titles.values())
    lines = [f"{'mechanism':<18} {'ε':>6}{header}"]
    for row in rows:
        pairs = [(row[score], row[f"{score}_se"]) for score in titles]
        shown = "".join(f" {_shown(x)} ± {_shown(se)}".rjust(20) for x, se in pairs)
        epsilon = "∞" if row["epsilon"] is None else f"{row['epsilon']:g}"
        lines.append(f"{row['mechanism']:<18} {epsilon:>6}{shown}")
    return "\n".join(lines)


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if abs(value) < 1e4 else f"{value:.4g}"
