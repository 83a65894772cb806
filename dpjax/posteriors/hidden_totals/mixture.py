"""Mixtures of conjugate posteriors, one for each draw of Markov chains."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import probability, sample_shape
from dpjax._later import diagnostics
from dpjax._types import Key
from dpjax.families import Family
from dpjax.families.conjugate_base import (
    ConjugatePosterior,
    FamilyPosterior,
    Values,
    host,
)
from dpjax.families.marginal_laws import HostArray, mixture_quantile

_MOST_COMPONENTS = 1000  # most components of a mixture, for its quantiles


class ConjugateMixture(FamilyPosterior):
    """A mixture of conjugate posteriors of a family, of equal weights.

    `mean`, `variance` and `quantile` are computed from the mixture, and are more
    precise than summaries of draws from `sample`.

    Args:
        family: the exponential family; static.
        parameters: parameters of the conjugate posteriors; the first axes of their
            arrays are chains and draws.
        accepted: share of accepted proposals.
    """

    family: eqx.AbstractVar[Any]
    parameters: eqx.AbstractVar[Any]
    accepted: eqx.AbstractVar[Array]

    @property
    def components(self) -> int:
        """Number of components of the mixture."""
        chains, draws = jax.tree.leaves(self.parameters)[0].shape[:2]
        return chains * draws

    def mean(self) -> Values:
        """Return the posterior mean of every parameter, in arrays by parameter name."""
        return jax.tree.map(_average, _moments(self.family, self.parameters)[0])

    def variance(self) -> Values:
        """Return every parameter's posterior variance, by the law of total variance."""
        between, within = _moments(self.family, self.parameters)

        def total(between, within):
            return _average(within) + between.var(axis=(0, 1))

        return jax.tree.map(total, between, within)

    def quantile(self, q: float) -> HostArray | dict[str, HostArray]:
        """Compute every parameter's marginal posterior q-quantile, on the host.

        For a covariance matrix, the result has only the quantiles of the variances.

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """
        probability(q=q)
        laws = self.family.posterior(self._rows).marginals()
        values = {name: mixture_quantile(law, q) for name, law in laws.items()}
        return values.get("", values)

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Values:
        """Draw parameters independently; arrays have `shape` as their first axes."""
        shape = sample_shape(key, shape)
        key_total, key_law = jr.split(key)
        size = int(np.prod(shape, dtype=int))
        chosen = jr.randint(key_total, (size,), 0, self.components)
        rows = jax.tree.map(lambda x: x[chosen], self._rows)

        def draw(key, parameters):
            return self.family.posterior(parameters).sample(key)

        values = jax.vmap(draw)(jr.split(key_law, size), rows)
        return jax.tree.map(lambda x: x.reshape(shape + x.shape[1:]), values)

    def log_prob(self, values: Values) -> Array:
        """Return the posterior log-density at parameters in the form of `mean`."""
        each = self._each(lambda law: law.log_prob(values))
        return logsumexp(each, axis=(0, 1)) - np.log(self.components)

    def diagnostics(self) -> dict[str, Any]:
        """Return convergence diagnostics of the chains, in a dictionary.

        The entries "r_hat" (split R-hat, near 1 if chains agree) and "effective"
        (effective sample size) have a value for every parameter, computed from its
        expectations given the drawn totals. "accepted" is the field's smallest entry.
        NumPyro computes on the host, and needs JAX's default type promotion.
        """
        means = jax.tree.map(np.asarray, _moments(self.family, self.parameters)[0])
        return {
            "r_hat": jax.tree.map(diagnostics.split_gelman_rubin, means),
            "effective": jax.tree.map(diagnostics.effective_sample_size, means),
            "accepted": float(jnp.min(self.accepted)),
        }

    def predict(self, features: Real[ArrayLike, "n f"]) -> Float[Array, " n"]:
        """Return a regression's expected targets for n rows of f features.

        Raises:
            ValueError: if the family is not a regression.
        """
        return _average(self._each(lambda law: law.predict(features)))

    def interval(
        self, features: Real[ArrayLike, "n f"], level: float = 0.95
    ) -> tuple[HostArray, HostArray]:
        """Compute central prediction intervals of a regression's targets, on the host.

        The result has the lower ends and the upper ends of the intervals, for n rows of
        f features. At most 1000 of the drawn totals are used.

        Raises:
            ValueError: if `level` is not between 0 and 1, or the family is not a
                regression.
        """
        probability(level=level)
        step = -(-self.components // _MOST_COMPONENTS)
        rows = jax.tree.map(lambda x: x[::step], self._rows)

        def target_law(row):
            return self.family.posterior(row).target_law(features)

        law = jax.tree.map(lambda x: host(x)[0], jax.vmap(target_law)(rows))
        low, high = (1 - level) / 2, (1 + level) / 2
        return mixture_quantile(law, low), mixture_quantile(law, high)

    @property
    def _rows(self) -> Any:
        return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), self.parameters)

    def _each(self, ask: Callable[[ConjugatePosterior], Any]) -> Any:
        """Apply `ask` to the conjugate posterior of every chain and every draw."""
        answer = jax.vmap(jax.vmap(lambda row: ask(self.family.posterior(row))))
        return answer(self.parameters)


@partial(jax.jit, static_argnames="family")
def _moments(family: Family, parameters: Any) -> tuple[Any, Any]:
    """Return mean and variance of the conjugate posterior of every chain and draw.

    They are compiled as one program, since separate operations take longer to compile.
    """

    def moments(parameters):
        law = family.posterior(parameters)
        return law.mean(), law.variance()

    return jax.vmap(jax.vmap(moments))(parameters)


def _average(values: Array) -> Array:
    return values.mean(axis=(0, 1))
