"""`dpjax query`: probabilities of some variables, given the levels of others."""

__all__ = ["run"]

import argparse
import csv
import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpjax.cli.options import pair_of, releases_of, saying
from dpjax.data.intervals import Interval
from dpjax.posteriors import posterior
from dpjax.posteriors.mixed.parts import network_of
from dpjax.releases.released import Released, load


def run(options: argparse.Namespace) -> None:
    """Run `dpjax query` with the given options."""
    if not options.target:
        raise ValueError("`target` must be given: --target NAME.")
    released = load(options.release)
    evidence: Any = options.data
    if options.given:
        if evidence is not None:
            raise ValueError("`given` must be left out with a table of evidence.")
        evidence = dict(pair_of(text) for text in options.given)
    levels = [_levels_of(released, name) for name in options.target]
    with saying("query", "inferring the posterior"):
        given, disjoint = releases_of(options, released)
        fitted: Any = posterior(given, disjoint=disjoint)
        found = np.asarray(fitted.query(options.target, evidence))
    print(f"dpjax: posterior by method {fitted.method}", file=sys.stderr)
    cells = [*itertools.product(*levels)]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    rows = found.reshape(len(found), -1)
    if options.data is None:
        writer.writerow([*options.target, "probability"])
        writer.writerows([*cell, p] for cell, p in zip(cells, rows[0], strict=True))
    else:
        writer.writerow(["p_" + "_".join(map(str, cell)) for cell in cells])
        writer.writerows(rows)
    sys.stdout.flush()


def _levels_of(released: Released, name: str) -> Sequence[object]:
    net = network_of(released)
    variable = net.variables[net.index(name)]
    if isinstance(variable, Interval):
        raise ValueError(
            f"`target` must have levels, got {name!r:.80}, a number: use "
            "`dpjax predict`."
        )
    return variable.levels
