"""`dpjax plan`: compare the expected errors of mechanisms, without data."""

import argparse
import dataclasses
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
from dpjax.privacy import exact_epsilon
from dpjax.releases.released import load
from dpjax.statistics import Statistic
from dpjax.study.outlooks import Plan
from dpjax.study.plan import plan

_WITHOUT_PLAN = ("marginals",)


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
    if options.like is not None:
        planned = dataclasses.replace(planned, tables=f"as in {options.like}")
    if options.json:
        print_json(_facts(planned))
        return
    print(planned)


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
