"""The contract of an exponential family, and its conjugate posterior.

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
Total = Real[Array, " m"]  # of the statistic over all records
Points = Float[np.ndarray, "j p"]  # parameters by name, in alphabetical order
Natural = tuple[Float[np.ndarray, "j m"], Float[np.ndarray, " j"]]  # θ and log g(θ)


class Bound(NamedTuple):
    """An upper bound, and whether it is tight, that is, the supremum."""

    value: float
    tight: bool = True


class Family(abc.ABC):
    """An exponential family with public bounds; static and hashable.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 3.
    """

    name: ClassVar[str]
    """The name of the family in files and on the command line."""
    categorical: ClassVar[bool] = False
    """Whether records are indices of levels."""
    predicts: ClassVar[bool] = False
    """Whether it is a regression, of the last column on the others."""
    on_grid: ClassVar[bool] = False
    """Whether it has one or two parameters, to be listed on a grid (`natural`)."""
    parameters: ClassVar[Truncation]
    """Parameters that a posterior sample must truncate, with their open ranges."""
    priors: ClassVar[Mapping[type, type[ConjugatePosterior]]]
    """Conjugate law by type of its parameters, that of `prior` first."""

    @classmethod
    @abc.abstractmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Family":
        """The family for records with these bounds, a pair per column.

        Raises:
            ValueError: if the family has no such records.
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
        """k, if scaled statistics are multiples of 1/k."""
        return None

    @abc.abstractmethod
    def scales(self) -> tuple[float, ...]:
        """The largest |S_k(x)| within the bounds, for each component."""

    @abc.abstractmethod
    def scaled_statistics(self, records: Real[Array, "n d"]) -> Float[Array, "n m"]:
        """S(x) over `scales`, within [-1, 1], after clipping; NaN is the middle."""

    def statistics(self, records: Real[ArrayLike, "n d"]) -> Float[Array, "n m"]:
        """S(x) of every record, in natural units.

        Privacy:
            None: these are exact, and not rounded. See `dpjax.statistics.Sufficient`.
        """
        scaled = self.scaled_statistics(array_of(records, "records"))
        return scaled * jnp.asarray(self.scales())[None, :]

    @abc.abstractmethod
    def diameter(self, scaled: bool = False) -> Bound:
        """Sup‖S(x) - S(x')‖₁: how far replacing a record can move the total.

        Args:
            scaled: of S over `scales`, rather than in natural units.

        Reference:
            Foulds et al. (UAI-16), equation 17.
        """

    @abc.abstractmethod
    def radius(self, scaled: bool = False) -> Bound:
        """Sup‖S(x)‖₁: how far one more record can move the total, without n."""

    @abc.abstractmethod
    def project(self, total: Flat, n: Scalar) -> tuple[Flat, Number]:
        """Project onto totals that some records have: proj of equation 16.

        A possible total is not changed. n becomes at least 0.
        """

    @abc.abstractmethod
    def prior(self) -> Any:
        """A weak conjugate prior, worth about one record, from the public bounds."""

    def vague_prior(self) -> Any:
        """A conjugate prior that is weak beside very noisy releases too.

        A prior worth one record fixes a variance up to a factor, which is too much
        for a default where the release says little. By default it is `prior`, for
        families without a variance.
        """
        return self.prior()

    @abc.abstractmethod
    def update(self, prior: Any, total: Total, n: Scalar) -> Any:
        """Parameters of the posterior, for a possible total: equation 11."""

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
        """The conjugate law with these parameters, be it a prior or a posterior.

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
        """Limits that the public bounds suggest; a smaller `share` gives wider ones.

        Args:
            share: between 0 and 1: distance from where the likelihood is infinite,
                relative to what is usual for records within the bounds.

        Raises:
            ValueError: if the bounds suggest none, so that limits must be given.
        """
        names = ", ".join(f"{name!r}: (least, most)" for name in self.parameters)
        raise ValueError(
            f"`truncation` must be given for the {self.name} family: {{{names}}}."
        )

    def sampling_sensitivity(
        self, adjacency: Adjacency, truncation: Truncation | None = None
    ) -> Bound:
        r"""Δ of one sample from the posterior at temperature T, which costs kΔ/T.

        Under replace-one k = 2 and $\Delta = \frac12 \sup_{x,x'} \mathrm{range}_\theta
        \theta^\top (S(x') - S(x))$: equation 13 with the best choice of h, which
        cancels in a posterior. Under add-remove k = 1 and $\Delta = \sup_x
        \mathrm{range}_\theta \log p(x|\theta)$, where g does not cancel.

        Args:
            adjacency: "replace-one" or "add-remove".
            truncation: for each of `parameters` the least and the most to which the
                prior is truncated (the posterior renormalised: clipping a sample from
                the whole posterior is not private).

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
    """The posterior that uses a total, projected onto possible ones, as if exact.

    Args:
        family: an exponential family.
        total: of its statistic over all records, exact or noisy, in natural units (see
            `dpjax.statistics.Sufficient.decode`).
        n: number of records, exact or noisy.
        prior: the family's conjugate parameters; None: `family.prior()`, which is weak.
            Of a regression, `KnownNoiseParameters` make the noise's precision known.

    Privacy:
        Post-processing: costs nothing more, and may be repeated with other priors.

    Raises:
        ValueError: if the prior is of another family, or not positive.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), equations 11 and 16.
    """
    prior = family.prior() if prior is None else prior
    law = family.law_of(prior)
    total, n = family.project(total, n)
    return law(family, family.update(prior, total, n))
