"""`dpjax release`: make a private release file of a table of sensitive records."""

import argparse
import sys
from dataclasses import replace

from dpjax._documents import parse_json, printable, read_text
from dpjax.cli.budgets import cost_of, ledger_of, said
from dpjax.cli.databases import file_of, opened
from dpjax.cli.models import mechanism_of, model_of
from dpjax.cli.options import (
    saying,
    span_of,
    split_of,
    summary,
)
from dpjax.cli.outputs import refuse_outputs
from dpjax.cli.printing import print_json
from dpjax.data.intervals import Interval
from dpjax.data.schema import Schema
from dpjax.mechanisms.recipes import HiddenMarkovSample, Laplace, Recipe, recipe_of
from dpjax.privacy import Ledger
from dpjax.releases.about import about_of
from dpjax.releases.publish import release
from dpjax.releases.released import Released

_CHOICES = ("omega", "temperature", "samples", "prior", "units", "points")


def run(options: argparse.Namespace) -> None:
    """Run `dpjax release` with the given options."""
    budget = cost_of(options)
    schema = Schema.from_json(options.schema)
    what = model_of(options, schema)
    network = getattr(options, "network", None)
    inputs = [options.schema, network, options.about, options.ledger]
    refuse_outputs([("out", options.out)], [file_of(options.data), *inputs], new=True)
    about = about_facts(options.about)
    ledger = ledger_of(options)
    if ledger is not None:
        ledger.require(budget, options.part)  # before the table is touched
    names = [variable.name for variable in what.variables]
    unused = [name for name in schema if name not in names]
    doing = saying("release", "measuring the table and drawing private values")
    with opened(options.data) as table, doing:
        released = release(
            what,
            table,
            mechanism=_recipe_of(options),
            budget=budget,
            id=options.id,
            multiplicity=options.multiplicity,
            weights=options.weights,
            sample_rate=options.sample_rate,
            ledger=ledger,
            part=options.part,
            ignore=[*unused, *options.ignore],
            about=about,
        )
    write(replace(released, hidden_states=options.states), options, ledger)


def write(
    released: Released, options: argparse.Namespace, ledger: Ledger | None
) -> None:
    """Save a release to --out, and print its cost and what is left of the ledger."""
    released.save(options.out)
    for variable in released.statistic.variables:
        if isinstance(variable, Interval):
            print(
                f"dpjax: cells of {variable.name!r:.80} without a value count as "
                f"{variable.missing:g}, its `missing` or the middle of its bounds",
                file=sys.stderr,
            )
    k = released.guarantee().contributions
    if k > 1 and not (options.id or getattr(options, "weights", None)):
        print(
            f"dpjax: you promise that nobody has more than {k} rows; --id COLUMN keeps "
            f"at most {k} of each person (add-remove)",
            file=sys.stderr,
        )
    if options.json:
        print_json({"out": options.out, **summary(released, ledger)})
        return
    print(f"{options.out}: {released}")
    if ledger is not None:
        named = dict.fromkeys(x.part for x in ledger.charges if x.part is not None)
        parts = f"; parts: {', '.join(map(printable, named))}" if named else ""
        print(f"ledger: {said(ledger.cost)} of {said(ledger.limit)} spent{parts}")


def about_facts(path: str | None) -> dict[str, str]:
    """Return the public facts of the file of --about."""
    facts = {} if path is None else parse_json(read_text(path, "about"), "about")
    if not isinstance(facts, dict):
        raise ValueError('`about` must be a JSON object, such as {"title": "…"}.')
    about_of(facts)  # before the ledger is opened
    return facts


def _recipe_of(options: argparse.Namespace) -> Recipe | None:
    """Return the recipe that is chosen, or None for the noise that fits the model."""
    choices = _choices_of(options)
    name = mechanism_of(options) or (Laplace.kind if choices else None)
    return None if name is None else recipe_of(name, choices)


def _choices_of(options: argparse.Namespace) -> dict[str, object]:
    given = {name: getattr(options, name) for name in _CHOICES}
    limits = [
        span_of(spec, "truncation", "NAME=LEAST:MOST", float)
        for spec in options.truncation
    ]
    given["truncation"] = dict(limits) or None
    given["split"] = split_of(options.split)
    if options.mechanism == HiddenMarkovSample.kind:
        given["states"] = options.states
    return {name: value for name, value in given.items() if value is not None}
