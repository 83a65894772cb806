"""The options of `dpjax release` that choose the model, and its statistic."""

__all__ = ["add_model_options", "model_of"]

import argparse
from collections.abc import Callable
from typing import NamedTuple

from dpjax.cli.options import network_of
from dpjax.data.bayes_net import BayesNet
from dpjax.data.encoding import of_one_kind
from dpjax.data.schema import Schema
from dpjax.event_logs import check_states, declared_cells, event_network
from dpjax.families import FAMILIES
from dpjax.statistics import Sufficient

_BAYES_NET, _REGRESSION, _EVENTS = "bayes-net", "linear-regression", "hmm"


def add_model_options(command: argparse.ArgumentParser) -> None:
    """Declare the options of the models."""
    command.add_argument(
        "--model",
        choices=(*_MODELS,),
        default=_BAYES_NET,
        help="default: %(default)s; the others use all variables of the schema",
    )
    command.add_argument(
        "--network",
        help="for bayes-net: a BIF file, a JSON file "
        '{"parents": {"x": ["y"]}}, or naive-bayes:TARGET',
    )
    command.add_argument("--target", help="for linear-regression: variable to predict")
    command.add_argument(
        "--variance", type=float, help="for gaussian-mean: the public variance"
    )
    command.add_argument(
        "--region", help="for hmm: the variable with one chain of states per level"
    )
    command.add_argument(
        "--time",
        help="for hmm: the variable of time, whose levels are consecutive integers; "
        "all further variables are fields of an event",
    )
    command.add_argument(
        "--states",
        type=int,
        help="for hmm: number of hidden states to suggest in the file; dpjax sample "
        "accepts any number",
    )


def model_of(options: argparse.Namespace, schema: Schema) -> BayesNet | Sufficient:
    """Return the network, or the statistic of a family, that the options choose.

    Raises:
        ValueError: if an option is missing, is for another model, or does not fit the
            schema.
    """
    model = _MODELS[options.model]
    given = [x for x in _FOR_ONE_MODEL if getattr(options, x) is not None]
    for name in given:
        if name not in (*model.needs, *model.may_have):
            owners = [x for x, m in _MODELS.items() if name in (*m.needs, *m.may_have)]
            raise ValueError(
                f"`{name}` must be left out for the model {options.model}: it is for "
                f"--model {' or '.join(owners)}."
            )
    for name in model.needs:
        if name not in given:
            raise ValueError(f"`{name}` must be given for the model {options.model}.")
    if options.prior is not None and options.model != _BAYES_NET:
        raise ValueError("`prior` must be left out: this option is for networks.")
    return model.build(options, schema)


def _network(options: argparse.Namespace, schema: Schema) -> BayesNet:
    return network_of(options.network, schema)


def _events(options: argparse.Namespace, schema: Schema) -> BayesNet:
    if options.mechanism != "laplace":
        raise ValueError(
            f"`mechanism` must be laplace for the model {_EVENTS}, got "
            f"{options.mechanism}."
        )
    net = event_network(list(schema.values()), options.region, options.time)
    if options.states is not None:
        check_states(options.states, declared_cells(net, None))
    return net


def _regression(options: argparse.Namespace, schema: Schema) -> Sufficient:
    if options.target not in schema:
        raise ValueError(
            f"`target` must be a variable of the schema, got {options.target!r}."
        )
    features = [name for name in schema if name != options.target]
    return _sufficient(options, schema, [*features, options.target])


def _family(options: argparse.Namespace, schema: Schema) -> Sufficient:
    return _sufficient(options, schema, list(schema))


def _sufficient(
    options: argparse.Namespace, schema: Schema, names: list[str]
) -> Sufficient:
    levels, numbers = of_one_kind([schema[name] for name in names])
    given = {} if options.variance is None else {"variance": options.variance}
    variables = tuple(levels) or tuple(numbers)
    return Sufficient.of(options.model, variables, options.adjacency, **given)


class _Model(NamedTuple):
    """A model of the command line.

    Attributes:
        build: makes the network or statistic.
        needs: required options.
        may_have: optional ones.
    """

    build: Callable[[argparse.Namespace, Schema], BayesNet | Sufficient]
    needs: tuple[str, ...] = ()
    may_have: tuple[str, ...] = ()


_MODELS = {
    _BAYES_NET: _Model(_network, ("network",)),
    **{name: _Model(_family) for name in FAMILIES},
    _REGRESSION: _Model(_regression, ("target",)),
    "gaussian-mean": _Model(_family, ("variance",)),
    _EVENTS: _Model(_events, ("region", "time"), ("states",)),
}
_FOR_ONE_MODEL = ("network", "target", "variance", "region", "time", "states")
