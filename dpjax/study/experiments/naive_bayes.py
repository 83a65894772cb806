"""Experiment for sweeps: binary naive Bayes by matrix products.

One matrix product counts the records for all repeats of a block, and one predicts for
all mechanisms, budgets and repeats.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32

from dpjax._checks import array_of
from dpjax._private import Unpickled
from dpjax._products import matmul
from dpjax._types import Key, Records
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms.recipes import Recipe
from dpjax.privacy import Adjacency, Epsilon
from dpjax.study.experiments.learners import Experiment, TableLearner, refuse_unprepared
from dpjax.study.experiments.network import NetworkExperiment
from dpjax.study.experiments.splits import training_mask
from dpjax.study.metrics import roc_auc

_MOST_RECORDS = 1 << 24  # for exact sums in float32


class NaiveBayesTrial(Unpickled, eqx.Module):
    """Training counts and held-out records of one repeat of `NaiveBayesExperiment`."""

    counts: Int32[Array, " m"]  # exact maximal node tables of the training records
    held_out: Bool[Array, " n"]
    design: Float[Array, "rows n"]  # features of all records, and a last row of ones
    positive: Bool[Array, " n"]  # whether a record has the target's second level


@dataclass(frozen=True)
class NaiveBayesExperiment(Experiment):
    """A faster `NetworkExperiment` for binary naive Bayes, with the same scores.

    Args:
        net: binary variables; the target is the only parent of every other variable.
        target, training, adjacency, prior, exact_noise: as for `NetworkExperiment`.
        scores: some of accuracy, auc, log_loss and log_likelihood; None means all.

    Privacy:
        The results are not private: show them only to those who may see the data.

    Raises:
        ValueError: if an argument is out of range, or the network has another form.
    """

    net: BayesNet
    target: str
    training: int
    adjacency: Adjacency
    prior: float = 1.0
    scores: tuple[str, ...] | None = None
    exact_noise: bool = False

    def __post_init__(self):
        if not is_binary_naive_bayes(self.net, self.target):
            raise ValueError(
                "`net` must be naive Bayes of binary variables with the target as the "
                "parent of all others: use NetworkExperiment for other networks."
            )
        object.__setattr__(self, "scores", self._general.scores)

    @property
    def _general(self) -> NetworkExperiment:
        return NetworkExperiment(
            self.net,
            self.target,
            self.training,
            self.adjacency,
            self.prior,
            self.scores,
            self.exact_noise,
        )

    def learner(self, name: str | Recipe, epsilons: Sequence[Epsilon]) -> TableLearner:
        """Return the mechanism `name`, with parameters stacked over budgets."""
        return self._general.learner(name, epsilons)

    def bytes_a_cell(self, data: Records) -> int:
        """Return the number of bytes that one fit needs, a float for each record."""
        return len(array_of(data, "data")) * jnp.result_type(float).itemsize

    def prepare(self, key: Key, data: Records) -> NaiveBayesTrial:
        """Prepare one repeat: choose the training records, and count them.

        Privacy:
            The counts are exact, so they are not private.

        Raises:
            ValueError: if there are too few records, or 2^24 or more.
        """
        records = array_of(data, "data")
        n, place = records.shape[0], self.net.index(self.target)
        if n >= _MOST_RECORDS:
            raise ValueError(
                f"`data` must have fewer than {_MOST_RECORDS} records, got {n}: use "
                "NetworkExperiment."
            )
        mask = training_mask(key, n, self.training)
        target = records[:, place].astype(bool)
        features = np.delete(np.arange(records.shape[1]), place)
        design = records[:, features].astype(bool)
        counts = matmul(mask.astype(jnp.float32), _cells(target, design))
        ones = jnp.ones((1, n), float)
        return NaiveBayesTrial(
            counts.astype(jnp.int32),
            ~mask,
            jnp.concatenate([design.T.astype(float), ones]),
            target,
        )

    def __call__(
        self, key: Key, mechanism: TableLearner, data: NaiveBayesTrial
    ) -> dict[str, Float[Array, ""]]:
        """Fit the tables by one mechanism and budget; return the scores by name."""
        refuse_unprepared(data, NaiveBayesTrial)
        wanted = self.scores or ()
        logs = jnp.log(mechanism.fit(key, data.counts))
        zero, one = (
            jnp.asarray(x, float) for x in joint_weights(self.net, self.target)
        )
        margin = matmul(matmul(one - zero, logs), data.design)
        scores = dict(_OF_MARGIN)
        if "log_likelihood" in wanted:
            negative = matmul(matmul(zero, logs), data.design)
            joint = negative + jnp.where(data.positive, margin, 0)
            scores["log_likelihood"] = lambda margin, data: _mean(joint, data)
        return {name: scores[name](margin, data) for name in wanted}


def is_binary_naive_bayes(net: BayesNet, target: str) -> bool:
    """Whether all variables are binary and `target` is the only parent of the rest."""
    place = net.index(target)
    parents = [group for i, group in enumerate(net.parents) if i != place]
    star = not net.parents[place] and {*parents} == {(place,)}
    return star and {*net.sizes} == {2}


def _cells(target: Array, features: Array) -> Float[Array, "n cells"]:
    """Return a one-hot encoding of each record's cell in each target-feature table."""
    by_target = jnp.stack([~target, target], axis=1)[:, None, :, None]
    by_feature = jnp.stack([~features, features], axis=2)[:, :, None, :]
    return (by_target & by_feature).reshape(target.shape[0], -1).astype(jnp.float32)


def joint_weights(net: BayesNet, target: str) -> tuple[np.ndarray, np.ndarray]:
    """Return matrices $W_0$, $W_1$ that give the joint log-probability of a record.

    A record with features x and target level t has the log-probability
    `(*x, 1) @ W_t @ log(tables)`; `tables` is a flat vector laid out by `net.layout`.
    """
    place, layout = net.index(target), net.layout
    features = [i for i in range(len(net.names)) if i != place]
    weights = np.zeros((2, len(features) + 1, layout.length))
    for level in (0, 1):
        weights[level, -1, layout.offsets[place] + level] = 1
        for row, i in enumerate(features):
            first = layout.offsets[i] + 2 * level
            weights[level, row, first : first + 2] = -1, 1
            weights[level, -1, first] = 1
    return weights[0], weights[1]


def _mean(values: Array, data: NaiveBayesTrial) -> Array:
    total = jnp.where(data.held_out, values, 0).sum()
    return total / data.held_out.astype(total.dtype).sum()


def _accuracy(margin: Array, data: NaiveBayesTrial) -> Array:
    right = ((margin > 0) == data.positive) & data.held_out
    number = right.sum(dtype=jnp.int32).astype(margin.dtype)
    return number / data.held_out.astype(margin.dtype).sum()


def _log_loss(margin: Array, data: NaiveBayesTrial) -> Array:
    return _mean(jax.nn.softplus(jnp.where(data.positive, -margin, margin)), data)


def _auc(margin: Array, data: NaiveBayesTrial) -> Array:
    return roc_auc(margin, data.positive.astype(jnp.int32), among=data.held_out)


_OF_MARGIN = {"accuracy": _accuracy, "auc": _auc, "log_loss": _log_loss}
