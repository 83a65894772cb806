"""The experiment and data of `dpjax sweep`, from its options."""

import argparse
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from dpjax._checks import probability
from dpjax.cli.models import Model, chosen_model, regression_of
from dpjax.cli.options import network_of
from dpjax.data.schema import Schema
from dpjax.event_logs import event_network, log_variables
from dpjax.noise.keys import study_key
from dpjax.posteriors.plug_in import draw_tables
from dpjax.posteriors.priors import flat_prior
from dpjax.study.experiments import (
    HiddenMarkovExperiment,
    NaiveBayesExperiment,
    NetworkExperiment,
    RegressionExperiment,
    is_binary_naive_bayes,
)

Study = tuple[Any, Array]
"""A pair of an experiment of `dpjax.study.experiments` and its data."""


def study_of(options: argparse.Namespace) -> Study:
    """Return the experiment and the data that the command's options describe."""
    model = chosen_model(options, MODELS)
    if (options.data is None) == (options.synthetic is None):
        raise ValueError("`data` or `synthetic` must be given, and not both.")
    probability(training=options.training)
    if options.synthetic is not None and options.synthetic < 2:
        raise ValueError(
            f"`synthetic` must be at least 2 records, got {options.synthetic}."
        )
    return model.make(options, Schema.from_json(options.schema))


def _of_network(options: argparse.Namespace, schema: Schema) -> Study:
    net = network_of(options.network, schema)
    form, _, of_network = options.network.partition(":")
    target = options.target or (of_network if form == "naive-bayes" else None)
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
        return experiment, draw_tables(key, prior, net.layout)
    unused = [name for name in schema if name not in net.names]
    data = Schema(net.variables).encode(options.data, ignore=[*options.ignore, *unused])
    fast = is_binary_naive_bayes(net, target)
    kind = NaiveBayesExperiment if fast else NetworkExperiment
    training = _share(data.shape[0], options)
    return kind(net, target, training, options.adjacency), data


def _of_regression(options: argparse.Namespace, schema: Schema) -> Study:
    statistic = regression_of(options, schema)
    data = Schema(statistic.variables).encode(options.data, ignore=options.ignore)
    return RegressionExperiment(statistic, _share(data.shape[0], options)), data


def _of_events(options: argparse.Namespace, schema: Schema) -> Study:
    net = event_network(schema, options.region, options.time)
    region, time, _ = log_variables(net)
    cells = region.size * time.size
    held_out = cells - _share(cells, options)
    experiment = HiddenMarkovExperiment(
        net, options.states, held_out, options.adjacency
    )
    data = Schema(net.variables).encode(options.data, ignore=options.ignore)
    return experiment, data


def _share(n: int, options: argparse.Namespace) -> int:
    """Return the size of the training part of n records, from 1 to n - 1."""
    if n < 2:
        raise ValueError("`data` must have at least 2 records, to train and to test.")
    return min(max(round(options.training * n), 1), n - 1)


MODELS = {
    "bayes-net": Model(_of_network, ("network",), ("target", "synthetic")),
    "linear-regression": Model(_of_regression, ("target",)),
    "hmm": Model(_of_events, ("region", "time", "states")),
}
