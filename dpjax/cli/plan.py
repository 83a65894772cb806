"""`dpjax plan`: compare the expected errors of mechanisms, without data."""

__all__ = ["run"]

import argparse
import dataclasses
import math
from typing import Any

from jaxtyping import Array

from dpjax.cli.models import MODELS, chosen_model
from dpjax.cli.options import saying
from dpjax.cli.printing import print_json
from dpjax.data.bayes_net import BayesNet
from dpjax.data.mixed_net import MixedNet
from dpjax.data.schema import Schema
from dpjax.noise.keys import study_key
from dpjax.posteriors.choice import posterior
from dpjax.privacy import exact_epsilon, unit_of
from dpjax.releases.released import load
from dpjax.statistics import Statistic
from dpjax.study.outlooks import Outlook, Plan
from dpjax.study.plan import plan

_WITHOUT_PLAN = ("marginals",)
_MOST_PARTS = 6  # variables whose error is shown


def run(options: argparse.Namespace) -> None:
    """Run `dpjax plan` with the given options."""
    schema = Schema.from_json(options.schema)
    models = {name: MODELS[name] for name in MODELS if name not in _WITHOUT_PLAN}
    what = chosen_model(options, models).make(options, schema)
    if options.model == "hmm" and options.states is None:
        raise ValueError("`states` must be given for the model hmm.")
    with saying("plan", "simulating releases"):
        planned = plan(
            what,
            options.n,
            exact_epsilon(options.epsilon),
            options.adjacency,
            key=study_key(options.seed),
            contributions=1 if options.contributions is None else options.contributions,
            repeats=options.repeats,
            mechanisms=options.mechanism,
            states=options.states,
            delta=options.delta,
            tables=None if options.like is None else _tables_like(options.like, what),
        )
    if options.json:
        print_json(_facts(planned))
        return
    print(_table(planned, options.like))


def _facts(planned: Plan) -> dict[str, Any]:
    """Return the plan as plain data, without the errors that a family does not have."""
    facts = dataclasses.asdict(planned)
    facts["outlooks"] = [
        {name: x for name, x in outlook.items() if x == x}  # NaN differs from itself
        for outlook in facts["outlooks"]
    ]
    return {**facts, "preferred": planned.preferred, "not_worth": planned.not_worth}


def _tables_like(path: str, what: BayesNet | MixedNet | Statistic) -> dict[str, Array]:
    """Return the mean tables of a release of the same network."""
    released = load(path)
    if released.statistic.network is None or released.statistic.network != what:
        raise ValueError(
            f"`like` must be a release of the network and schema given, {path} is not."
        )
    return posterior(released).mean()


def _table(planned: Plan, like: str | None) -> str:
    tables = "drawn uniformly" if like is None else f"as in {like}"
    of_rows = not math.isnan(planned.outlooks[0].kl)
    heads = ("KL of a row", "variation of a row") if of_rows else ("", "")
    lines = [
        f"n = {planned.n}, ε = {planned.epsilon}, {planned.adjacency}, "
        f"{planned.repeats} repeats{f', tables {tables}' if of_rows else ''}",
        f"unit: {unit_of(planned.contributions)}",
        f"{'expected':<22}{'KL of a record':>18}{heads[0]:>18}{heads[1]:>20}  choices",
    ]
    lines += [_line(outlook) for outlook in planned.outlooks]
    lines += [
        f"not worth its ε: {name}, with {ratio:.3g} times the error of added noise"
        for name, ratio in planned.not_worth.items()
    ]
    best = planned.outlooks[0]
    largest = sorted(best.parts.items(), key=lambda part: -part[1])[:_MOST_PARTS]
    parts = ", ".join(f"{name} {error:.4f}" for name, error in largest)
    of_parts = [f"KL of a record by variable, {best.name}: {parts}"] if parts else []
    return "\n".join([*lines, *of_parts, f"prefer: {planned.preferred}"])


def _line(outlook: Outlook) -> str:
    divergence = f"{outlook.divergence:.4f} ± {outlook.divergence_se:.4f}"
    kl = f"{outlook.kl:.4f} ± {outlook.kl_se:.4f}"
    variation = f"{outlook.total_variation:.4f} ± {outlook.total_variation_se:.4f}"
    choices = ", ".join(
        f"{name} {_show(value)}" for name, value in outlook.choices.items()
    )
    if math.isnan(outlook.kl):
        kl = variation = ""
    numbers = f"{divergence:>18}{kl:>18}{variation:>20}"
    return f"{outlook.name:<22}{numbers}  {choices}".rstrip()


def _show(value: float | list[float]) -> str:
    if isinstance(value, list):
        ends = (value[0], value[-1]) if len(value) > 1 else (value[0],)
        return " to ".join(f"{x:.4g}" for x in ends)
    return f"{value:.4g}"
