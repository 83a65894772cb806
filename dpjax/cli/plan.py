"""`dpjax plan`: compare the expected errors of mechanisms, without data."""

__all__ = ["run"]

import argparse
import dataclasses
import json

from jaxtyping import Array

from dpjax.cli.options import network_of, saying
from dpjax.data.bayes_net import BayesNet
from dpjax.data.schema import Schema
from dpjax.noise.keys import study_key
from dpjax.posteriors.choice import posterior
from dpjax.privacy import exact_epsilon, unit_of
from dpjax.releases.released import load
from dpjax.study.plan import Outlook, Plan, plan


def run(options: argparse.Namespace) -> None:
    """Run `dpjax plan` with the given options."""
    net = network_of(options.network, Schema.from_json(options.schema))
    with saying("plan", "simulating releases"):
        planned = plan(
            net,
            options.n,
            exact_epsilon(options.epsilon),
            options.adjacency,
            key=study_key(options.seed),
            contributions=1 if options.contributions is None else options.contributions,
            repeats=options.repeats,
            mechanisms=options.mechanism,
            tables=None if options.like is None else _tables_like(options.like, net),
        )
    if options.json:
        facts = {**dataclasses.asdict(planned), "preferred": planned.preferred}
        print(json.dumps(facts))
        return
    print(_table(planned, options.like))


def _tables_like(path: str, net: BayesNet) -> dict[str, Array]:
    """Return the mean tables of a release of the same network."""
    released = load(path)
    if released.statistic.network != net:
        raise ValueError(
            f"`like` must be a release of the network and schema given, {path} is not."
        )
    return posterior(released).mean()


def _table(planned: Plan, like: str | None) -> str:
    tables = "drawn uniformly" if like is None else f"as in {like}"
    lines = [
        f"n = {planned.n}, ε = {planned.epsilon}, {planned.adjacency}, "
        f"{planned.repeats} repeats, tables {tables}",
        f"unit: {unit_of(planned.contributions)}",
        f"{'expected':<22}{'KL of a record':>18}{'KL of a row':>18}"
        f"{'variation of a row':>20}  choices",
    ]
    lines += [_line(outlook) for outlook in planned.outlooks]
    return "\n".join([*lines, f"prefer: {planned.preferred}"])


def _line(outlook: Outlook) -> str:
    divergence = f"{outlook.divergence:.4f} ± {outlook.divergence_se:.4f}"
    kl = f"{outlook.kl:.4f} ± {outlook.kl_se:.4f}"
    variation = f"{outlook.total_variation:.4f} ± {outlook.total_variation_se:.4f}"
    choices = ", ".join(
        f"{name} {_show(value)}" for name, value in outlook.choices.items()
    )
    numbers = f"{divergence:>18}{kl:>18}{variation:>20}"
    return f"{outlook.name:<22}{numbers}  {choices}".rstrip()


def _show(value: float | list[float]) -> str:
    if isinstance(value, list):
        ends = (value[0], value[-1]) if len(value) > 1 else (value[0],)
        return " to ".join(f"{x:.4g}" for x in ends)
    return f"{value:.4g}"
