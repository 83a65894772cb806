"""The experiment and data of `dpjax sweep`, from its options."""

__all__ = ["MODELS", "Study", "study_of"]

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from dpjax.cli.options import network_of
from dpjax.data.encoding import of_one_kind
from dpjax.data.schema import Schema
from dpjax.event_logs import event_network, log_variables
from dpjax.noise.keys import study_key
from dpjax.posteriors.plug_in import draw_tables
from dpjax.posteriors.priors import flat_prior
from dpjax.statistics import Sufficient
from dpjax.study.experiments import (
    HiddenMarkovExperiment,
    NaiveBayesExperiment,
    NetworkExperiment,
    RegressionExperiment,
    is_binary_naive_bayes,
)


class Study(NamedTuple):
    """An experiment of `dpjax.study.experiments` and its data."""

    experiment: Any
    data: Array


def study_of(options: argparse.Namespace) -> Study:
    """Make the study that the options describe.

    Raises:
        ValueError: if an option is missing, is for another model, or does not fit.
    """
    for name in ("network", "region", "time", "states", "synthetic"):
        wanted = name in _MODELS[options.model].options
        given = getattr(options, name) is not None
        if given and not wanted:
            raise ValueError(
                f"`{name}` must be left out for the model {options.model}."
            )
    if (options.data is None) == (options.synthetic is None):
        raise ValueError("`data` or `synthetic` must be given, and not both.")
    if not 0 < options.training < 1:
        raise ValueError(
            f"`training` must be a fraction between 0 and 1, got {options.training}."
        )
    if options.synthetic is not None and options.synthetic < 2:
        raise ValueError(
            f"`synthetic` must be at least 2 records, got {options.synthetic}."
        )
    return _MODELS[options.model].study(options, Schema.from_json(options.schema))


def _of_network(options: argparse.Namespace, schema: Schema) -> Study:
    _require(options, "network")
    net = network_of(options.network, schema)
    target = options.target or _target_of(options.network)
    if target not in net.names:
        raise ValueError(
            f"`target` must be one of the network's variables, got {target!r}."
        )
    if options.synthetic is not None:
        training = _share(options.synthetic, options)
        experiment = NetworkExperiment(
            net,
            target,
            training,
            options.adjacency,
            synthetic=options.synthetic - training,
        )
        prior = jnp.asarray(flat_prior(net, 1.0), float)
        prior = jnp.broadcast_to(prior, (net.layout.length,))
        key = jax.random.fold_in(study_key(options.seed), 1)
        return Study(experiment, draw_tables(key, prior, net.layout))
    data = Schema(net.variables).encode(options.data, ignore=[*options.ignore, *schema])
    fast = is_binary_naive_bayes(net, target)
    kind = NaiveBayesExperiment if fast else NetworkExperiment
    training = _share(data.shape[0], options)
    return Study(kind(net, target, training, options.adjacency), data)


def _of_regression(options: argparse.Namespace, schema: Schema) -> Study:
    _require(options, "target")
    if options.target not in schema:
        raise ValueError(
            f"`target` must be a variable of the schema, got {options.target!r}."
        )
    names = [*(x for x in schema if x != options.target), options.target]
    _, numbers = of_one_kind([schema[name] for name in names])
    statistic = Sufficient.of("linear-regression", tuple(numbers), options.adjacency)
    data = Schema(numbers).encode(options.data, ignore=options.ignore)
    return Study(RegressionExperiment(statistic, _share(data.shape[0], options)), data)


def _of_events(options: argparse.Namespace, schema: Schema) -> Study:
    _require(options, "region", "time", "states")
    net = event_network(list(schema.values()), options.region, options.time)
    region, time, _ = log_variables(net)
    cells = region.size * time.size
    held_out = cells - _share(cells, options)
    experiment = HiddenMarkovExperiment(
        net, options.states, held_out, options.adjacency
    )
    data = Schema(net.variables).encode(options.data, ignore=options.ignore)
    return Study(experiment, data)


def _share(n: int, options: argparse.Namespace) -> int:
    """Size of the training part of n, from 1 to n - 1."""
    if n < 2:
        raise ValueError("`data` must have at least 2 records, to train and to test.")
    return min(max(round(options.training * n), 1), n - 1)


def _target_of(network: str) -> str | None:
    kind, _, target = network.partition(":")
    return target if kind == "naive-bayes" else None


def _require(options: argparse.Namespace, *names: str) -> None:
    for name in names:
        if getattr(options, name) is None:
            raise ValueError(f"`{name}` must be given for the model {options.model}.")


class _Model(NamedTuple):
    """The study of a model, and the names of its own options."""

    study: Callable[[argparse.Namespace, Schema], Study]
    options: tuple[str, ...]


_MODELS = {
    "bayes-net": _Model(_of_network, ("network", "target", "synthetic")),
    "linear-regression": _Model(_of_regression, ("target",)),
    "hmm": _Model(_of_events, ("region", "time", "states")),
}
MODELS = tuple(_MODELS)
