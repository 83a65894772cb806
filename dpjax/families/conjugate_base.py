"""The contract of a posterior, and the base of conjugate posteriors."""

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
"""The parameter; several parameters by name."""


def as_arrays(parameters: Any) -> Any:
    """The same parameters, each an array of floats."""
    return type(parameters)(*(jnp.asarray(x, float) for x in parameters))


class Posterior(eqx.Module):
    """The law of a model's parameters, given data or a release.

    Every parameter is an array; several are a dictionary of arrays by name. A question
    that a method of inference cannot answer raises a `ValueError` that names another
    method or another question.
    """

    @property
    @abc.abstractmethod
    def method(self) -> str:
        """The name of the method of inference, as in `dpjax.posteriors.METHODS`."""

    @abc.abstractmethod
    def mean(self) -> Any:
        """Expected parameters."""

    @abc.abstractmethod
    def sd(self) -> Any:
        """Standard deviation of every parameter on its own."""

    @abc.abstractmethod
    def quantile(self, q: float) -> Any:
        """The q-quantile of every parameter on its own.

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """

    @abc.abstractmethod
    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Any:
        """Independent draws of the parameters, `shape` on the first axes."""

    @abc.abstractmethod
    def log_prob(self, values: Any) -> Array:
        """Joint log-density of parameters, as `mean` and `sample` return them."""

    @abc.abstractmethod
    def update(self, records: Any, key: Key | None = None) -> "Posterior":
        """The posterior after more records.

        Args:
            records: of the same variables; their counts join the prior.
            key: of a Markov chain, where one is run; None: a fixed one.

        Privacy:
            What is already here costs nothing more. The new records are not protected:
            the result is for those who may see them.
        """

    def chains(self) -> dict[str, Array] | None:
        """Draws of Markov chains by parameter, (chains, draws, …); None: no chains."""
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
        """Variance of every parameter on its own."""

    def sd(self) -> Any:
        """Standard deviation of every parameter on its own."""
        return jax.tree.map(jnp.sqrt, self.variance())

    def predict(self, features: Any) -> Array:
        """Expected targets of a regression, given its features.

        Raises:
            ValueError: if the family is another one.
        """
        raise self._no_regression()

    def interval(
        self, features: Any, level: float = 0.95
    ) -> tuple[HostArray, HostArray]:
        """Ends of the central interval of a new target; on the host.

        Raises:
            ValueError: if `level` is not between 0 and 1, or the family is no
                regression.
        """
        raise self._no_regression()

    def _no_regression(self) -> ValueError:
        name = getattr(getattr(self, "family", None), "name", self.method)
        return ValueError(
            f"`family` must be a linear-regression to predict, got {name}."
        )


class ConjugatePosterior(Unpickled, FamilyPosterior):
    """The conjugate law of a family's parameters, given data or a release.

    Arrays may be stacked along leading axes, for `vmap` over posteriors. Quantiles are
    of SciPy, on the host and in double precision; all else may be compiled. NumPyro's
    distributions need JAX's default promotion of types and ranks.

    Privacy:
        Post-processing of whatever statistics it is made from: free for a release. It
        may have been made from exact ones, and cannot be pickled.

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
        """The conjugate update, as if the statistics were exact."""
        return "plug-in"

    @abc.abstractmethod
    def marginals(self) -> dict[str, Law]:
        """The law of every parameter on its own, by name; "" if there is but one.

        Of a covariance, of each "variance". Computed on the host.
        """

    def quantile(self, q: float) -> HostArray | dict[str, HostArray]:
        """The q-quantile of every parameter on its own: see `marginals`.

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """
        probability(q=q)
        values = {name: law.ppf(q) for name, law in self.marginals().items()}
        return values.get("", values)

    @abc.abstractmethod
    def distribution(self) -> dist.Distribution | dict[str, dist.Distribution]:
        """As NumPyro's; of several parameters, the marginal law of each by name."""

    def target_law(self, features: Any) -> StudentLaw:
        """The law of every new target of a regression, as if nothing were clipped.

        Raises:
            ValueError: if the family is another one.
        """
        raise self._no_regression()

    def update(self, records: Any, key: Key | None = None) -> "ConjugatePosterior":
        """The conjugate posterior with this one as the prior; needs no key."""
        total = self.family.statistics(records).sum(axis=0)
        parameters = self.family.update(self.parameters, total, jnp.shape(records)[0])
        return type(self)(self.family, parameters)


def host(*arrays: Any) -> list[np.ndarray]:
    """Arrays in double precision."""
    return [np.asarray(array, np.float64) for array in arrays]


def probability(**values: float) -> None:
    """Raise `ValueError` unless every value is between 0 and 1."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ValueError(f"`{name}` must be between 0 and 1, got {value}.")
