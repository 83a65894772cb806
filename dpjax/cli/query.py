"""`dpjax query`: probabilities of some variables, given the levels of others."""

import argparse
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dpjax.cli.options import given_of, releases_of, saying
from dpjax.cli.printing import kept_of, print_rows
from dpjax.data.intervals import Interval
from dpjax.posteriors import posterior
from dpjax.posteriors.mixed.parts import network_of
from dpjax.releases.released import Released, load


def run(options: argparse.Namespace) -> None:
    """Run `dpjax query` with the given options."""
    released = load(options.release)
    evidence: Any = options.data
    if options.given:
        if evidence is not None:
            raise ValueError("`given` must be left out with a table of evidence.")
        evidence = given_of(options.given, network_of(released).names)
    if options.keep and options.data is None:
        raise ValueError("`keep` must be left out without a table of evidence.")
    kept = kept_of(options)
    levels = [_levels_of(released, name) for name in options.target]
    with saying("query", "inferring the posterior"):
        given, disjoint = releases_of(options, released)
        fitted: Any = posterior(given, disjoint=disjoint)
        found = np.asarray(fitted.query(options.target, evidence))
    cells = [*itertools.product(*levels)]
    columns = ["p_" + "_".join(map(str, cell)) for cell in cells]
    rows: Iterable[Any] = found.reshape(len(found), -1)
    if options.data is None:
        columns = [*options.target, "probability"]
        rows = [[*cell, p] for cell, p in zip(cells, *rows, strict=True)]
    print_rows(options, fitted.method, columns, rows, kept)


def _levels_of(released: Released, name: str) -> Sequence[object]:
    net = network_of(released)
    variable = net.variables[net.index(name)]
    if isinstance(variable, Interval):
        raise ValueError(
            f"`target` must have levels, got {name!r:.80}, a number: use "
            "`dpjax predict`."
        )
    return variable.levels
