"""The interface of exponential families, and their conjugate posteriors.

A family is p(x | θ) = h(x) g(θ) exp(θᵀS(x)). Records x are clipped to public bounds, so
that every supremum below is over a bounded set.
"""

__all__ = [
    "FAMILIES",
    "Bound",
    "Ends",
    "Family",
    "Natural",
    "Number",
    "Points",
    "Total",
    "Truncation",
    "conjugate_posterior",
]

import abc
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import array_of, one_of
from dpjax._registry import Registry
from dpjax._types import Flat, Scalar
from dpjax.families.conjugate_base import ConjugatePosterior
from dpjax.privacy import Adjacency

Ends = tuple[float | int, ...]
"""Lower or upper bounds, one per column."""
Truncation = Mapping[str, tuple[float | int, float | int]]
"""Least and largest value of each parameter, by name."""
Number = Float[Array, ""]
Total = Real[Array, " m"]  # sum of the statistic over all records
Points = Float[np.ndarray, "j p"]  # parameters by name, in alphabetical order
Natural = tuple[Float[np.ndarray, "j m"], Float[np.ndarray, " j"]]  # θ and log g(θ)


class Bound(NamedTuple):
    """An upper bound, and whether it is tight, that is, equal to the supremum."""

    value: float
    tight: bool = True


class Family(abc.ABC):
    """An exponential family with public bounds; static and hashable.

    In subclasses, s is the total of S(x), ΔS its sensitivity, Δ `sampling_sensitivity`.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 3.
    """

    name: ClassVar[str]
    """The name of the family in files and on the command line."""
    categorical: ClassVar[bool] = False
    """Whether records are indices of levels."""
    predicts: ClassVar[bool] = False
    """Whether the family is a regression of the last column on the others."""
    on_grid: ClassVar[bool] = False
    """Whether a grid of its one or two parameters is possible: see `natural`."""
    parameters: ClassVar[Truncation]
    """Open range of every parameter that must be truncated for posterior sampling."""
    priors: ClassVar[Mapping[type, type[ConjugatePosterior]]]
    """Conjugate law for each type of parameters; the type of `prior()` is first."""

    @classmethod
    @abc.abstractmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Family":
        """Construct the family for records with these bounds of every column.

        Raises:
            ValueError: if the family does not have records with such bounds.
        """

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Least and largest value of every column."""

    def options(self) -> dict[str, Any]:
        """Options of `from_bounds` besides the bounds, as plain data."""
        return {}

    @property
    def columns(self) -> int:
        """Number of columns of a record."""
        return len(self.bounds)

    @property
    def dimension(self) -> int:
        """Length of S(x), without the number of records."""
        return len(self.scales())

    @property
    def complement(self) -> int | None:
        """Index of a component c of S, in [0, 1] when scaled; None if all sum to 1.

        Where n is private, the total of 1 - c is measured too: both totals sum to n. It
        does not increase sup‖S‖₁, which is attained at c = 1, where 1 - c is 0.
        """
        return 0

    @property
    def lattice(self) -> int | None:
        """The integer k if scaled statistics are multiples of 1/k, or None."""
        return None

    @abc.abstractmethod
    def scales(self) -> tuple[float, ...]:
        """The largest |S_k(x)| within the bounds, for each component."""

    @abc.abstractmethod
    def scaled_statistics(self, records: Real[Array, "n d"]) -> Float[Array, "n m"]:
        """S(x) / `scales` of clipped records, in [-1, 1]; NaN becomes the middle."""

    def statistics(self, records: Real[ArrayLike, "n d"]) -> Float[Array, "n m"]:
        """S(x) of every record, in natural units.

        Privacy:
            No guarantee: the values are exact. See `dpjax.statistics.Sufficient`.
        """
        scaled = self.scaled_statistics(array_of(records, "records"))
        return scaled * jnp.asarray(self.scales())[None, :]

    @abc.abstractmethod
    def diameter(self, scaled: bool = False) -> Bound:
        """Sup‖S(x) - S(x')‖₁, the largest change of the total if a record is replaced.

        Args:
            scaled: whether S is divided by `scales`, instead of in natural units.

        Reference:
            Foulds et al. (UAI-16), equation 17.
        """

    @abc.abstractmethod
    def radius(self, scaled: bool = False) -> Bound:
        """Sup‖S(x)‖₁, the largest change of the total, without n, by one record."""

    @abc.abstractmethod
    def project(self, total: Flat, n: Scalar) -> tuple[Flat, Number]:
        """Project onto totals that some records have (proj in equation 16).

        A possible total is not changed. A negative n becomes 0.
        """

    @abc.abstractmethod
    def prior(self) -> Any:
        """A weak conjugate prior from the public bounds, worth about one record."""

    def vague_prior(self) -> Any:
        """A conjugate prior that is weak relative to very noisy releases too.

        A prior worth one record determines a variance up to a factor, which is too
        informative for a very noisy release. Families without a variance use `prior`.
        """
        return self.prior()

    @abc.abstractmethod
    def update(self, prior: Any, total: Total, n: Scalar) -> Any:
        """Parameters of the posterior given a possible total (equation 11)."""

    def law_of(self, prior: Any) -> type[ConjugatePosterior]:
        """The class of the conjugate law with parameters of this type.

        Raises:
            ValueError: if the prior is of another family.
        """
        if type(prior) not in self.priors:
            expected = " or ".join(kind.__name__ for kind in self.priors)
            raise ValueError(
                f"`prior` must be of type {expected} for the {self.name} family, got "
                f"{type(prior).__name__}."
            )
        return self.priors[type(prior)]

    def posterior(self, parameters: Any) -> ConjugatePosterior:
        """The conjugate law with these parameters, as a prior or a posterior.

        Raises:
            ValueError: if the parameters are of another family, or not positive.
        """
        return self.law_of(parameters)(self, parameters)

    def natural(self, points: Points) -> Natural:
        """Natural parameters θ, one per component of S, and log g(θ), at many points.

        Raises:
            ValueError: if the family has more than two parameters.
        """
        raise ValueError(
            f"`family` must have one or two parameters for a grid, got {self.name}."
        )

    def truncation(self, share: float) -> Truncation:
        """Limits of parameters from the public bounds; a smaller `share` widens them.

        Args:
            share: between 0 and 1: distance of the limits from the parameters with
                infinite log-likelihood, relative to typical parameters for the bounds.

        Raises:
            ValueError: if the family derives no limits from bounds.
        """
        names = ", ".join(f"{name!r}: (least, most)" for name in self.parameters)
        raise ValueError(
            f"`truncation` must be given for the {self.name} family: {{{names}}}."
        )

    def sampling_sensitivity(
        self, adjacency: Adjacency, truncation: Truncation | None = None
    ) -> Bound:
        r"""Δ of one posterior sample, which costs kΔ/T at temperature T.

        Under replace-one k = 2 and $\Delta = \frac12 \sup_{x,x'} \mathrm{range}_\theta
        \theta^\top (S(x') - S(x))$. This is equation 13 with the best choice of h,
        which cancels in a posterior. Under add-remove k = 1 and $\Delta = \sup_x
        \mathrm{range}_\theta \log p(x|\theta)$, where g does not cancel.

        Args:
            adjacency: "replace-one" or "add-remove".
            truncation: limits of each of `parameters` to which the prior is truncated.
                The posterior must be renormalised: a clipped sample is not private.

        Raises:
            ValueError: if a parameter that makes Δ infinite is not truncated.

        Reference:
            Foulds et al. (UAI-16), Theorem 2 and equations 12-15.
        """
        one_of(("replace-one", "add-remove"), adjacency=adjacency)
        limits = self._limits(truncation or {})
        if adjacency == "replace-one":
            return self._likelihood_diameter(limits)
        return self._likelihood_radius(limits)

    @abc.abstractmethod
    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        """Half of the largest range over θ of log p(x) - log p(x')."""

    @abc.abstractmethod
    def _likelihood_radius(self, limits: Truncation) -> Bound:
        """The largest range over θ of log p(x)."""

    def _limits(self, truncation: Truncation) -> Truncation:
        """Return `truncation` if it bounds every parameter within its open range."""
        for name, (start, end) in self.parameters.items():
            least, most = truncation.get(name, (math.nan, math.nan))
            if not start < least <= most < end:
                raise ValueError(
                    f"`truncation` must bound the {name} of the {self.name} family, "
                    f"as in {{{name!r}: (least, most)}} with {start} < least <= most < "
                    f"{end}, got {truncation.get(name, 'no bounds')}: without, one "
                    "posterior sample is not private."
                )
        if unknown := set(truncation) - set(self.parameters):
            raise ValueError(
                f"`truncation` must name parameters among {sorted(self.parameters)}, "
                f"got {min(unknown)!r}."
            )
        return truncation


FAMILIES: Registry[Family] = Registry("family", "families")  # by the name in files


def conjugate_posterior(
    family: Family, total: Real[Array, " m"], n: Scalar, prior: Any = None
) -> ConjugatePosterior:
    """The plug-in posterior, which treats the projected total as exact.

    Args:
        family: an exponential family.
        total: exact or noisy sum of S(x), in natural units (see `Sufficient.decode`).
        n: number of records, exact or noisy.
        prior: the family's conjugate parameters; None: `family.prior()`, which is weak.
            For a regression with known noise, use `KnownNoiseParameters`.

    Privacy:
        Post-processing: it costs nothing more, also if repeated with other priors.

    Raises:
        ValueError: if the prior is of another family, or not positive.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), equations 11 and 16.
    """
    prior = family.prior() if prior is None else prior
    law = family.law_of(prior)
    total, n = family.project(total, n)
    return law(family, family.update(prior, total, n))
