"""`dpjax coverage`: test by simulation how often posterior intervals cover."""

import argparse

from dpjax.cli.budgets import cost_of
from dpjax.cli.options import network_of, plots, progress
from dpjax.cli.outputs import refuse_outputs
from dpjax.cli.printing import print_json
from dpjax.data.bayes_net import BayesNet
from dpjax.data.schema import Schema
from dpjax.noise.keys import study_key
from dpjax.study.coverage import Coverage, Ranks, coverage
from dpjax.study.ecdf import ecdf_band


def run(options: argparse.Namespace) -> None:
    """Run `dpjax coverage` with the given options."""
    outputs = [(name, getattr(options, name)) for name in ("plot", "ecdf")]
    inputs = options.network, options.schema
    refuse_outputs(outputs, inputs, dict.fromkeys(("plot", "ecdf"), (".png",)))
    budget = cost_of(options)
    found = coverage(
        study_key(options.seed),
        _network(options),
        options.n,
        budget=budget,
        mechanism=options.mechanism,
        releases=options.releases,
        level=options.level,
        progress=progress("coverage", "block"),
    )
    if options.plot is not None:
        plots().rank_histograms(found, options.plot)
    if options.ecdf is not None:
        plots().rank_ecdfs(found, options.ecdf)
    if options.json:
        print_json(_facts(found))
        return
    print(found)
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
        **found.loss,
        "adjacency": found.adjacency,
        "releases": int(found.naive.ranks.size),
        "level": found.naive.level,
        "noise_aware": _facts_of_ranks(found.noise_aware),
        "naive": _facts_of_ranks(found.naive),
    }


def _facts_of_ranks(ranks: Ranks) -> dict[str, object]:
    return {
        "posterior": ranks.posterior,
        "coverage": ranks.coverage,
        "coverage_interval": list(ranks.coverage_interval),
        "histogram": ranks.histogram.tolist(),
        "outside_band": int(ecdf_band(ranks.ranks.size).outside(ranks.ranks).sum()),
        "pvalue": ranks.pvalue,
    }
