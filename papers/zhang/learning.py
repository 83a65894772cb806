"""How each curve of Figure 1 learns naive Bayes, all from the same training records."""

__all__ = ["DRAWS", "SAMPLES", "AccuracyStudy", "Learners", "learners"]

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int32, Real

from dpjax._products import matmul
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import Laplace, PosteriorSample
from dpjax.posteriors import Windows, exact_posterior
from dpjax.privacy import REPLACE_ONE, Sensitivity, exact_epsilon
from dpjax.releases.released import Released
from dpjax.statistics import FourierCoefficients, NetworkCounts
from dpjax.study.experiments import NaiveBayesExperiment
from dpjax.study.experiments.learners import stacked
from dpjax.study.experiments.naive_bayes import NaiveBayesTrial, joint_weights
from dpjax.tables.fourier_basis import raise_total
from dpjax.tables.projection import project
from dpjax.theory import truncation
from dpjax.theory.stealth import calibrated_increment

SAMPLES = 100  # of the curve with many of them
DRAWS = 8  # of the noise, a training set: their mean is more certain than one


class Learners(eqx.Module):
    """What the curves are made with, stacked over budgets.

    Args:
        algorithm_1: noise on the tables of all families.
        algorithm_2: noise on all Fourier coefficients, for the sensitivity 2|N|.
        increment: of the total, in records.
        tight: noise on Fourier coefficients for their own sensitivity.
        tight_increment: of the total, in records.
        maximal: noise on the tables of maximal families.
        sampler: truncated as ε pays for one sample of it.
    """

    algorithm_1: Laplace
    algorithm_2: Laplace
    increment: Real[Array, " *e"]
    tight: Laplace
    tight_increment: Real[Array, " *e"]
    maximal: Laplace
    sampler: PosteriorSample


def learners(
    key: Key, net: BayesNet, epsilons: Sequence[str], stealth: float
) -> tuple[Learners, float]:
    """For each budget, with increments that hide the noise with a probability.

    Returns:
        The learners, and t of the paper's increment 4t|N|²/ε: one for all budgets, as
        noise and increment both go with 1/ε.
    """
    exact = [exact_epsilon(epsilon) for epsilon in epsilons]
    budgets = jnp.array([float(x) for x in exact], float)
    omegas = [float(truncation(2, x / Fraction(2 * len(net.names)))) for x in exact]
    every = FourierCoefficients.of_network(net, "add-remove")
    change = FourierCoefficients.of_network(net, REPLACE_ONE).sensitivity(REPLACE_ONE)
    size, tight = 2.0 * len(every.closure), 2.0 * float(change.value)
    unit = calibrated_increment(key, every, _noise(1.0, size), stealth)
    made = Learners(
        _noise(budgets, 2.0 * len(net.names)),
        _noise(budgets, size),
        unit / budgets,
        _noise(budgets, tight),
        unit * tight / size / budgets,
        _noise(budgets, 2.0 * len(NetworkCounts(net).measured.groups)),
        stacked([PosteriorSample(net.layout, 1.0, x, REPLACE_ONE) for x in omegas]),
    )
    return made, unit / size**2


def _noise(epsilon: float | Array, change: float) -> Laplace:
    return Laplace(epsilon, Sensitivity(change, REPLACE_ONE))


@dataclass(frozen=True)
class AccuracyStudy:
    """Held-out accuracy of every curve, for `sweep`: a cell is some fits of each.

    Args:
        naive: the network, its target and the number of training records.
        held_out: how many records are held out, if they are simulated from tables drawn
            for each repeat; None: `data` are records, split at random.

    Privacy:
        A simulation on data that the caller may see: nothing here is to be published.
    """

    naive: NaiveBayesExperiment
    held_out: int | None

    def prepare(self, key: Key, data: Real[Array, "..."]) -> NaiveBayesTrial:
        """One repeat: a split of records.

        Privacy:
            None: these are the exact counts.
        """
        if self.held_out is None:
            return self.naive.prepare(key, data)
        key_records, key_split = jr.split(key)
        n, features = self.naive.training + self.held_out, len(self.naive.net.names) - 1
        return self.naive.prepare(key_split, simulated(key_records, n, features))

    def __call__(
        self, key: Key, mechanism: Learners, data: NaiveBayesTrial
    ) -> dict[str, Float[Array, ""]]:
        """Mean accuracies, and how often Algorithm 2 left no negative cell."""
        key_printed, key_ours, key_samples = jr.split(key, 3)
        found = {}
        for fits, key_fits, draws in (
            (self._printed, key_printed, 8 * DRAWS),
            (self._ours, key_ours, DRAWS),
        ):
            scores = partial(fits, use=mechanism, data=data)
            found |= jax.tree.map(
                lambda x: x.mean(), lax.map(scores, jr.split(key_fits, draws))
            )
        found["Fourier"] = found.pop("stealthy right") / found["stealthy"]
        samples = self._samples(key_samples, mechanism, data)
        exact = _all_tables(self.naive.net, data.counts).astype(float)
        plain = self._accuracy(self._posterior_mean(exact), data)
        return {"non-private": plain, **found, **samples}

    def _printed(
        self, key: Key, use: Learners, data: NaiveBayesTrial
    ) -> dict[str, Float[Array, ""]]:
        """Algorithms 1 and 2, and the latter with our sensitivity."""
        key_cells, key_fourier = jr.split(key)
        exact = _all_tables(self.naive.net, data.counts)
        cells = use.algorithm_1.sample(key_cells, exact)
        printed, tight = self._fourier(key_fourier, use, data.counts)
        stealthy = (printed >= 0).all().astype(float)
        return {
            "Laplace": self._accuracy(self._posterior_mean(cells), data),
            "stealthy": stealthy,
            "stealthy right": stealthy
            * self._accuracy(self._raised_mean(printed), data),
            "tight Fourier": self._accuracy(self._raised_mean(tight), data),
        }

    def _ours(
        self, key: Key, use: Learners, data: NaiveBayesTrial
    ) -> dict[str, Float[Array, ""]]:
        """One release of the maximal families, read in three ways."""
        maximal, n = NetworkCounts(self.naive.net), self.naive.training
        noisy = use.maximal.sample(key, data.counts)
        agreed = project(maximal.counted, noisy, n)
        released = Released(noisy, maximal, use.maximal, n)
        windows = Windows(n + 1, n + 1, n + 1)
        learned = {
            "plug-in": self._posterior_mean(maximal.tables(noisy)),
            "projected": self._posterior_mean(maximal.tables(agreed)),
            "noise-aware": exact_posterior(released, windows=windows).first,
        }
        return {name: self._accuracy(x, data) for name, x in learned.items()}

    def _fourier(
        self, key: Key, use: Learners, counts: Int32[Array, " m"]
    ) -> tuple[Float[Array, " c"], Float[Array, " c"]]:
        """Raised tables of Algorithm 2, as printed and by our sensitivity.

        Both with the same draws, so that what differs is their scale; in ours n is
        public, and not noised.
        """
        net, n = self.naive.net, self.naive.training
        every = FourierCoefficients.of_network(net, "add-remove")
        exact = every.of_counts(counts, n)
        printed = every.tables(use.algorithm_2.sample(key, exact))
        noisy = use.tight.sample(jr.clone(key), exact)
        tight = every.tables(noisy.at[0].set(n))
        return (
            raise_total(net.layout, printed, use.increment),
            raise_total(net.layout, tight, use.tight_increment),
        )

    def _samples(
        self, key: Key, use: Learners, data: NaiveBayesTrial
    ) -> dict[str, Float[Array, ""]]:
        """Of one posterior sample, on average, and of the mean of the predictions."""
        exact = _all_tables(self.naive.net, data.counts)
        keys = jr.split(key, SAMPLES)
        draws = jax.vmap(use.sampler.sample, in_axes=(0, None))(keys, exact)
        zero, one = (
            matmul(matmul(jnp.log(draws), jnp.asarray(x.T, float)), data.design)
            for x in joint_weights(self.naive.net, self.naive.target)
        )
        many = logsumexp(one, 0) - logsumexp(zero, 0)
        return {
            "one sample": jax.vmap(_right, in_axes=(0, None))(one - zero, data).mean(),
            "many samples": _right(many, data),
        }

    def _posterior_mean(self, tables: Float[Array, " c"]) -> Float[Array, " c"]:
        """From a uniform prior and counts, clamped to what is possible."""
        return self._raised_mean(jnp.minimum(tables, self.naive.training))

    def _raised_mean(self, tables: Float[Array, " c"]) -> Float[Array, " c"]:
        """The same of counts that were raised."""
        return self.naive.net.layout.normalise(1.0 + jnp.maximum(tables, 0))

    def _accuracy(
        self, tables: Float[Array, " c"], data: NaiveBayesTrial
    ) -> Float[Array, ""]:
        zero, one = joint_weights(self.naive.net, self.naive.target)
        score = matmul(jnp.asarray(one - zero, float), jnp.log(tables))
        margin = matmul(score, data.design)
        return _right(margin, data)


def simulated(key: Key, n: int, features: int) -> Int32[Array, "n d"]:
    """Records of tables drawn from their prior, the class last.

    P(feature | class) is uniform, P(class) uniform between .3 and .7.
    """
    key_chances, key_share, key_class, key_features = jr.split(key, 4)
    chances = jr.uniform(key_chances, (2, features))
    share = jr.uniform(key_share, (), minval=0.3, maxval=0.7)
    positive = jr.uniform(key_class, (n, 1)) < share
    chance = jnp.where(positive, chances[1:], chances[:1])
    ones = jr.uniform(key_features, (n, features)) < chance
    return jnp.concatenate([ones, positive], axis=1).astype(jnp.int32)


def _all_tables(net: BayesNet, counts: Int32[Array, " m"]) -> Int32[Array, " c"]:
    return NetworkCounts(net).tables(counts)


def _right(margin: Float[Array, " n"], data: NaiveBayesTrial) -> Float[Array, ""]:
    """The share of held-out records on the right side."""
    right = ((margin > 0) == data.positive) & data.held_out
    number = data.held_out.sum(dtype=jnp.int32).astype(margin.dtype)
    return right.sum(dtype=jnp.int32).astype(margin.dtype) / number
