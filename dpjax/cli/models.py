"""The models of `dpjax release` and `dpjax sweep`, chosen by their options."""

import argparse
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dpjax.cli.options import any_network_of
from dpjax.data.bayes_net import BayesNet
from dpjax.data.encoding import of_one_kind
from dpjax.data.mixed_net import MixedNet
from dpjax.data.schema import Schema
from dpjax.event_logs import check_states, declared_cells, event_network
from dpjax.families import FAMILIES
from dpjax.mechanisms.auto import Auto
from dpjax.mechanisms.recipes import Gaussian, HiddenMarkovSample, Laplace, recipe_of
from dpjax.statistics import Statistic, Sufficient


class Model(NamedTuple):
    """A choice of `--model`: how to make it, and its required and optional options."""

    make: Callable[[argparse.Namespace, Schema], Any]
    needs: tuple[str, ...] = ()
    may_have: tuple[str, ...] = ()


def chosen_model(options: argparse.Namespace, models: Mapping[str, Model]) -> Model:
    """Return the model that `--model` names; raise if its options do not fit it."""
    own = {name: (*x.needs, *x.may_have) for name, x in models.items()}
    for option in dict.fromkeys(option for names in own.values() for option in names):
        given = getattr(options, option) is not None
        if given and option not in own[options.model]:
            owners = " or ".join(name for name, names in own.items() if option in names)
            raise ValueError(
                f"`{option}` must be left out for the model {options.model}: it is for "
                f"--model {owners}."
            )
        if not given and option in models[options.model].needs:
            raise ValueError(f"`{option}` must be given for the model {options.model}.")
    return models[options.model]


def model_of(
    options: argparse.Namespace, schema: Schema
) -> BayesNet | MixedNet | Statistic:
    """Return the network or the statistic that `dpjax release` measures."""
    model = chosen_model(options, MODELS)
    if options.prior is not None and options.model != "bayes-net":
        raise ValueError("`prior` must be left out: this option is for networks.")
    return model.make(options, schema)


def _network(options: argparse.Namespace, schema: Schema) -> BayesNet | MixedNet:
    return any_network_of(options.network, schema)


def mechanism_of(options: argparse.Namespace) -> Any:
    """Return the name of the mechanism, or None for the noise that fits the model."""
    return options.mechanism or (Auto.kind if options.model == "marginals" else None)


def _marginals(options: argparse.Namespace, schema: Schema) -> Statistic:
    recipe = recipe_of(mechanism_of(options))
    return recipe.marginals(schema, options.order, options.adjacency)


def _events(options: argparse.Namespace, schema: Schema) -> BayesNet:
    known = [Laplace.kind, Gaussian.kind, HiddenMarkovSample.kind]
    if options.mechanism and options.mechanism not in known:
        raise ValueError(
            f"`mechanism` must be {' or '.join(known)} for the model hmm, got "
            f"{options.mechanism}."
        )
    net = event_network(schema, options.region, options.time)
    if options.states is not None:
        check_states(options.states, declared_cells(net, None))
    return net


def regression_of(options: argparse.Namespace, schema: Schema) -> Sufficient:
    """Return the statistic for linear regression of --target on the other variables."""
    if options.target not in schema:
        raise ValueError(
            f"`target` must be a variable of the schema, got {options.target!r}."
        )
    features = [name for name in schema if name != options.target]
    return _sufficient(options, schema, [*features, options.target])


def _family(options: argparse.Namespace, schema: Schema) -> Sufficient:
    given = {} if options.variance is None else {"variance": options.variance}
    return _sufficient(options, schema, list(schema), **given)


def _sufficient(
    options: argparse.Namespace, schema: Schema, names: list[str], **given: Any
) -> Sufficient:
    levels, numbers = of_one_kind([schema[name] for name in names])
    variables = tuple(levels) or tuple(numbers)
    return Sufficient.of(options.model, variables, options.adjacency, **given)


MODELS = {
    "bayes-net": Model(_network, ("network",)),
    "marginals": Model(_marginals, ("order",)),
    **{name: Model(_family) for name in FAMILIES},
    "linear-regression": Model(regression_of, ("target",)),
    "gaussian-mean": Model(_family, ("variance",)),
    "hmm": Model(_events, ("region", "time"), ("states",)),
}
