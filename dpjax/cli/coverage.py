"""`dpjax coverage`: test by simulation how often posterior intervals cover."""

__all__ = ["add"]

import argparse
import importlib
import json
from functools import partial

from tqdm import tqdm

from dpjax.cli.options import network_of, refuse_unwritable_file
from dpjax.data.bayes_net import BayesNet
from dpjax.data.schema import Schema
from dpjax.noise.keys import study_key
from dpjax.privacy import ADJACENCIES, exact_epsilon
from dpjax.study.coverage import Coverage, Ranks, coverage


def add(commands) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "coverage",
        help="coverage of posterior intervals, noise-aware and naive",
        description="Repeatedly draw tables uniformly, records from them, and a "
        "release; report how often posterior intervals contain the true values. Uses "
        "no data. The exit status does not depend on the result.",
    )
    command.add_argument(
        "--network",
        required=True,
        help="BIF file, JSON file or naive-bayes:TARGET; the latter two need --schema",
    )
    command.add_argument("--schema", help="JSON file, as for release")
    command.add_argument("--n", type=int, required=True, help="number of records")
    command.add_argument("--epsilon", required=True, help="privacy loss: 0.5 or 1/3")
    command.add_argument("--adjacency", required=True, choices=ADJACENCIES)
    command.add_argument(
        "--releases", type=int, default=2000, help="simulated releases (%(default)s)"
    )
    command.add_argument(
        "--level", type=float, default=0.95, help="level of intervals (%(default)s)"
    )
    command.add_argument("--out", help="PNG file for the rank histograms")
    command.add_argument("--seed", type=int, default=0, help="seed of the simulation")
    command.add_argument("--json", action="store_true", help="print results as JSON")
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    if options.out is not None:
        refuse_unwritable_file(options.out, endings=(".png",))
    found = coverage(
        study_key(options.seed),
        _network(options),
        options.n,
        exact_epsilon(options.epsilon),
        options.adjacency,
        releases=options.releases,
        level=options.level,
        progress=partial(tqdm, desc="dpjax coverage", unit="block", disable=None),
    )
    if options.out is not None:
        plots = importlib.import_module("dpjax.plots")  # slow to import
        plots.rank_histograms(found, options.out)
    if options.json:
        print(json.dumps(_facts(found)))
        return
    print(f"n = {found.n}, ε = {found.epsilon:g}, {found.adjacency}")
    print(f"{'posterior':<32}{'coverage':>10}{'95 % interval':>18}{'ranks: p':>12}")
    for ranks in (found.noise_aware, found.naive):
        low, high = ranks.coverage_interval
        print(
            f"{ranks.posterior:<32}{ranks.coverage:>10.4f}"
            f"{f'{low:.4f} to {high:.4f}':>18}{ranks.pvalue:>12.2g}"
        )


def _network(options: argparse.Namespace) -> BayesNet:
    if options.schema is not None:
        return network_of(options.network, Schema.from_json(options.schema))
    if ".bif" not in options.network.lower():
        raise ValueError("`schema` must be given, unless the network is a BIF file.")
    return BayesNet.from_bif(options.network)


def _facts(found: Coverage) -> dict[str, object]:
    return {
        "n": found.n,
        "epsilon": found.epsilon,
        "adjacency": found.adjacency,
        "releases": int(found.naive.ranks.size),
        "level": found.naive.level,
        "noise_aware": _show(found.noise_aware),
        "naive": _show(found.naive),
    }


def _show(ranks: Ranks) -> dict[str, object]:
    low, high = ranks.coverage_interval
    return {
        "posterior": ranks.posterior,
        "coverage": ranks.coverage,
        "coverage_interval": [low, high],
        "histogram": ranks.histogram.tolist(),
        "pvalue": ranks.pvalue,
    }
