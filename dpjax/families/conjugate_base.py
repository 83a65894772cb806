"""The interface of posteriors, and the base class of conjugate posteriors."""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dpjax._checks import positive, probability
from dpjax._later import dist
from dpjax._private import Unpickled, shapes_only
from dpjax._types import Key
from dpjax.families.marginal_laws import HostArray, Law, StudentLaw

Values = Array | dict[str, Array]
"""An array of one parameter, or a dictionary from parameter name to array."""

Axes = tuple[dict[str, list[str]], dict[str, list]]
"""The names of the axes of each array, and the labels of each of these axes, by name.

The name of a variable's axis is that of `level_axis`.
"""


def level_axis(name: str) -> str:
    """Return the name of the axis of a variable's levels."""
    return f"{name}_level"


def as_arrays(parameters: Any) -> Any:
    """Convert every parameter to an array of floats."""
    return type(parameters)(*(jnp.asarray(x, float) for x in parameters))


class Posterior(eqx.Module):
    """The probability distribution of a model's parameters, given data or a release.

    Methods return an array for a model with one parameter, and a dictionary from
    parameter name to array otherwise. If a method is not available for this posterior,
    it raises a `ValueError` that names an alternative.
    """

    @property
    @abc.abstractmethod
    def method(self) -> str:
        """The name of the inference method, one of `dpjax.posteriors.METHODS`."""

    @abc.abstractmethod
    def mean(self) -> Any:
        """Return the posterior mean of every parameter."""

    @abc.abstractmethod
    def sd(self) -> Any:
        """Return the posterior standard deviation of every parameter."""

    @abc.abstractmethod
    def quantile(self, q: float) -> Any:
        """Return the q-quantile of the marginal distribution of every parameter.

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """

    @abc.abstractmethod
    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Any:
        """Draw independent samples of the parameters, with `shape` as first axes."""

    @abc.abstractmethod
    def log_prob(self, values: Any) -> Array:
        """Joint log-density at parameter values in the form that `sample` returns."""

    @abc.abstractmethod
    def update(self, records: Any, key: Key | None = None) -> "Posterior":
        """Return the posterior given more records, with this posterior as the prior.

        Args:
            records: new records of the model's variables.
            key: JAX key of the Markov chain, if there is one; None: a constant key.

        Privacy:
            A release that this posterior was computed from has no further privacy loss.
            The new records are not protected: the result may reveal them.
        """

    def chains(self) -> dict[str, Array] | None:
        """Return the Markov chains' draws by parameter name; None without a chain."""
        return None

    def axes(self) -> Axes | None:
        """Return names and labels of the parameters' axes, for exports.

        None, as here: the names are those of the network, if there is one.
        """
        return None

    def __repr__(self) -> str:
        released = getattr(self, "released", None)
        given = "" if released is None else f", given {released!r}"
        return f"{type(self).__name__}(method {self.method!r}{given})"

    def _undefined(self, question: str, remedy: str) -> ValueError:
        return ValueError(
            f"`{question}` must be asked of another posterior than one by the method "
            f"{self.method!r}, for which it is not defined: use {remedy}."
        )


class FamilyPosterior(Posterior):
    """The posterior distribution of the parameters of an exponential family."""

    @abc.abstractmethod
    def variance(self) -> Any:
        """Return the posterior variance of every parameter."""

    def sd(self) -> Any:
        """Return the posterior standard deviation of every parameter."""
        return jax.tree.map(jnp.sqrt, self.variance())

    def predict(self, features: Any) -> Array:
        """Return a regression's expected target for each row of `features`.

        Args:
            features: an array with a column for each feature, in the order of the
                variables; or, if the posterior has the statistic of a release, a table
                in memory whose columns are found by name. Numbers are not clipped.

        Raises:
            ValueError: if the family is not a regression, or the rows do not fit it.
        """
        raise self._no_regression()

    def interval(
        self, features: Any, level: float = 0.95
    ) -> tuple[HostArray, HostArray]:
        """Return lower and upper ends of each target's central prediction interval.

        Raises:
            ValueError: if `level` is not in (0, 1), or the family is not a regression.
        """
        raise self._no_regression()

    def _no_regression(self) -> ValueError:
        name = getattr(getattr(self, "family", None), "name", self.method)
        return ValueError(
            f"`family` must be a linear-regression to predict, got {name}."
        )


class ConjugatePosterior(Unpickled, FamilyPosterior):
    """The conjugate distribution of a family's parameters, given data or a release.

    Arrays may have leading batch axes, for `vmap` over posteriors. SciPy computes
    marginals and quantiles on the CPU in double precision; other methods work under
    `jit`. NumPyro distributions need JAX's default type and rank promotion.

    Privacy:
        Post-processing of a statistic: no privacy loss if the statistic is a release.
        The statistic may be exact, and therefore the posterior cannot be pickled.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), equation 11.
    """

    family: Any = eqx.field(static=True)
    parameters: Any = eqx.field(converter=as_arrays)

    _positive: ClassVar[tuple[str, ...]] = ()  # names of parameters that must be > 0

    def __check_init__(self):
        positive(**{name: getattr(self.parameters, name) for name in self._positive})

    __repr__ = shapes_only

    @property
    def method(self) -> str:
        """The method "plug-in", which treats the statistic as exact."""
        return "plug-in"

    @abc.abstractmethod
    def marginals(self) -> dict[str, Law]:
        """Return the marginal distributions of all parameters, by parameter name.

        If there is only one parameter, its name is "". For a "covariance" matrix, the
        distributions are those of its diagonal, named "variance".
        """

    def quantile(self, q: float) -> HostArray | dict[str, HostArray]:
        """Return the q-quantile of every distribution that `marginals` returns.

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """
        probability(q=q)
        values = {name: law.ppf(q) for name, law in self.marginals().items()}
        return values.get("", values)

    @abc.abstractmethod
    def distribution(self) -> "dist.Distribution | dict[str, dist.Distribution]":
        """Return a NumPyro distribution of the posterior, or marginals by name."""

    def target_law(self, features: Any) -> StudentLaw:
        """Return a regression's predictive distribution of targets, before clipping.

        Raises:
            ValueError: if the family is not a regression.
        """
        raise self._no_regression()

    def update(self, records: Any, key: Key | None = None) -> "ConjugatePosterior":
        """Return the posterior given more records; `key` is not used."""
        total = self.family.statistics(records).sum(axis=0)
        parameters = self.family.update(self.parameters, total, jnp.shape(records)[0])
        return type(self)(self.family, parameters)


def host(*arrays: Any) -> list[np.ndarray]:
    """Convert arrays to NumPy arrays in double precision."""
    return [np.asarray(array, np.float64) for array in arrays]
