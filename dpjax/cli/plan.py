"""`dpjax plan`: compare the expected errors of mechanisms, without data."""

__all__ = ["run"]

import argparse
import dataclasses
import json

from dpjax.cli.options import network_of, saying
from dpjax.data.schema import Schema
from dpjax.noise.keys import study_key
from dpjax.privacy import exact_epsilon, unit_of
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
        )
    if options.json:
        facts = {**dataclasses.asdict(planned), "preferred": planned.preferred}
        print(json.dumps(facts))
        return
    print(_table(planned))


def _table(planned: Plan) -> str:
    header = "expected error of a row"
    lines = [
        f"n = {planned.n}, ε = {planned.epsilon}, {planned.adjacency}, "
        f"{planned.repeats} repeats, tables drawn uniformly",
        f"unit: {unit_of(planned.contributions)}",
        f"{header:<22}{'total variation':>20}{'KL (nats)':>20}  choices",
    ]
    lines += [_line(outlook) for outlook in planned.outlooks]
    return "\n".join([*lines, f"prefer: {planned.preferred}"])


def _line(outlook: Outlook) -> str:
    variation = f"{outlook.total_variation:.4f} ± {outlook.total_variation_se:.4f}"
    divergence = f"{outlook.kl:.4f} ± {outlook.kl_se:.4f}"
    choices = ", ".join(
        f"{name} {_show(value)}" for name, value in outlook.choices.items()
    )
    return f"{outlook.name:<22}{variation:>20}{divergence:>20}  {choices}".rstrip()


def _show(value: float | list[float]) -> str:
    if isinstance(value, list):
        ends = (value[0], value[-1]) if len(value) > 1 else (value[0],)
        return " to ".join(f"{x:.4g}" for x in ends)
    return f"{value:.4g}"
