"""The interface of posteriors, and the base class of conjugate posteriors."""

__all__ = [
    "ConjugatePosterior",
    "FamilyPosterior",
    "Posterior",
    "Values",
    "host",
    "probability",
]

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array

from dpjax._checks import positive
from dpjax._private import Unpickled
from dpjax._types import Key
from dpjax.families.marginal_laws import HostArray, Law, StudentLaw

Values = Array | dict[str, Array]
"""One parameter, or several parameters by name."""


def as_arrays(parameters: Any) -> Any:
    """Convert every parameter to an array of floats."""
    return type(parameters)(*(jnp.asarray(x, float) for x in parameters))


class Posterior(eqx.Module):
    """The law of a model's parameters, given data or a release.

    Every parameter is an array; several parameters are a dictionary of arrays by name.
    If a method cannot compute a result, its `ValueError` names an alternative.
    """

    @property
    @abc.abstractmethod
    def method(self) -> str:
        """The name of the method of inference, as in `dpjax.posteriors.METHODS`."""

    @abc.abstractmethod
    def mean(self) -> Any:
        """Expected value of every parameter."""

    @abc.abstractmethod
    def sd(self) -> Any:
        """Marginal standard deviation of every parameter."""

    @abc.abstractmethod
    def quantile(self, q: float) -> Any:
        """The q-quantile of the marginal law of every parameter.

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """

    @abc.abstractmethod
    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Any:
        """Independent draws of the parameters, with `shape` as the first axes."""

    @abc.abstractmethod
    def log_prob(self, values: Any) -> Array:
        """Joint log-density of parameters in the form that `sample` returns."""

    @abc.abstractmethod
    def update(self, records: Any, key: Key | None = None) -> "Posterior":
        """The posterior after more records.

        Args:
            records: of the same variables; their counts are added to the prior.
            key: key of the Markov chain, if the method runs one; None: a fixed key.

        Privacy:
            The statistics behind this posterior cost nothing more. The new records are
            not protected: show the result only to those who may see these records.
        """

    def chains(self) -> dict[str, Array] | None:
        """Draws by parameter, (chains, draws, …); None if no Markov chain is run."""
        return None

    def _undefined(self, question: str, remedy: str) -> ValueError:
        return ValueError(
            f"`{question}` must be asked of another posterior than one by the method "
            f"{self.method!r}, for which it is not defined: use {remedy}."
        )


class FamilyPosterior(Posterior):
    """The law of the parameters of an exponential family."""

    @abc.abstractmethod
    def variance(self) -> Any:
        """Marginal variance of every parameter."""

    def sd(self) -> Any:
        """Marginal standard deviation of every parameter."""
        return jax.tree.map(jnp.sqrt, self.variance())

    def predict(self, features: Any) -> Array:
        """Expected targets of a regression given the features.

        Raises:
            ValueError: if the family is not a regression.
        """
        raise self._no_regression()

    def interval(
        self, features: Any, level: float = 0.95
    ) -> tuple[HostArray, HostArray]:
        """Ends of the central prediction interval of each target; on the host.

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
    """The conjugate law of a family's parameters, given data or a release.

    Arrays may be stacked along leading axes, for `vmap` over posteriors. SciPy computes
    quantiles on the host, in double precision; all other methods may be compiled.
    NumPyro's distributions need JAX's default promotion of types and ranks.

    Privacy:
        Post-processing of its statistics: free if they are released. They may also be
        exact, and therefore the posterior cannot be pickled.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), equation 11.
    """

    family: Any = eqx.field(static=True)
    parameters: Any = eqx.field(converter=as_arrays)

    _positive: ClassVar[tuple[str, ...]] = ()  # names of parameters that must be > 0

    def __check_init__(self):
        positive(**{name: getattr(self.parameters, name) for name in self._positive})

    @property
    def method(self) -> str:
        """The name "plug-in": the statistics are treated as exact."""
        return "plug-in"

    @abc.abstractmethod
    def marginals(self) -> dict[str, Law]:
        """The marginal law of every parameter, by name; "" if there is only one.

        For a covariance, the law of each "variance". Computed on the host.
        """

    def quantile(self, q: float) -> HostArray | dict[str, HostArray]:
        """The q-quantile of the marginal law of every parameter: see `marginals`.

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """
        probability(q=q)
        values = {name: law.ppf(q) for name, law in self.marginals().items()}
        return values.get("", values)

    @abc.abstractmethod
    def distribution(self) -> dist.Distribution | dict[str, dist.Distribution]:
        """NumPyro's distribution; for several parameters, marginal ones by name."""

    def target_law(self, features: Any) -> StudentLaw:
        """The predictive law of every new target of a regression, without clipping.

        Raises:
            ValueError: if the family is not a regression.
        """
        raise self._no_regression()

    def update(self, records: Any, key: Key | None = None) -> "ConjugatePosterior":
        """The conjugate posterior with this posterior as the prior; ignores `key`."""
        total = self.family.statistics(records).sum(axis=0)
        parameters = self.family.update(self.parameters, total, jnp.shape(records)[0])
        return type(self)(self.family, parameters)


def host(*arrays: Any) -> list[np.ndarray]:
    """Convert to NumPy arrays in double precision."""
    return [np.asarray(array, np.float64) for array in arrays]


def probability(**values: float) -> None:
    """Raise `ValueError` unless every value is between 0 and 1."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ValueError(f"`{name}` must be between 0 and 1, got {value}.")
