"""What every exponential family must be able to say about itself.

A family is p(x | θ) = h(x) g(θ) exp(θᵀS(x)), its records x within public bounds: what
is outside is clipped to them, so that every supremum below is over a bounded set.
"""

__all__ = ["FAMILIES", "Bound", "Ends", "Family", "Truncation", "conjugate_posterior"]

import abc
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import array_of, one_of
from dpjax._registry import Registry
from dpjax._types import Scalar
from dpjax.families.conjugate_base import ConjugatePosterior
from dpjax.privacy import Adjacency

Ends = tuple[float | int, ...]
"""Bounds on one side, one a column."""
Truncation = Mapping[str, tuple[float | int, float | int]]
"""By parameter: the least and the most that it may be."""


class Bound(NamedTuple):
    """A supremum: its value, and whether it is attained or only not exceeded."""

    value: float
    tight: bool = True


class Family(abc.ABC):
    """An exponential family with public bounds; static and hashable.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 3.
    """

    name: ClassVar[str]
    """By which files know the family."""

    categorical: ClassVar[bool] = False
    """Whether records are indices of levels."""

    parameters: ClassVar[Truncation]
    """What a posterior sample must truncate, with the open interval it is from."""

    priors: ClassVar[Mapping[type, type[ConjugatePosterior]]]
    """By type of its conjugate parameters, that of `prior` first: their law."""

    @classmethod
    @abc.abstractmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Family":
        """The family for records with these bounds, a pair a column.

        Raises:
            ValueError: if the family has no such records.
        """

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Least and most of every column."""

    on_grid: ClassVar[bool] = False
    """Whether it has one or two parameters, to be listed on a grid (`natural`)."""

    def options(self) -> dict[str, Any]:
        """Options of `from_bounds` besides the bounds, as plain data."""
        return {}

    @property
    def columns(self) -> int:
        """Number of columns of a record."""
        return len(self.bounds)

    @property
    def dimension(self) -> int:
        """Length of S(x), the number of records not included."""
        return len(self.scales())

    @property
    def complement(self) -> int | None:
        """A component of S that is in [0, 1] when scaled; None if all sum to 1.

        It carries the number of records: 1 minus it can be measured beside it without
        making sup‖S‖₁ any larger, since that is attained where it is 1.
        """
        return 0

    @property
    def lattice(self) -> int | None:
        """If scaled statistics are multiples of 1/k: k."""
        return None

    @abc.abstractmethod
    def scales(self) -> tuple[float, ...]:
        """The largest |S_k(x)| within the bounds, one a component."""

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
        """Sup‖S(x) - S(x')‖₁: by how much replacing a record can move the total.

        Args:
            scaled: of S over `scales`, rather than in natural units.

        Reference:
            Foulds et al. (UAI-16), equation 17.
        """

    @abc.abstractmethod
    def radius(self, scaled: bool = False) -> Bound:
        """Sup‖S(x)‖₁: by how much a record more can move the total, n apart."""

    @abc.abstractmethod
    def project(
        self, total: Real[Array, "*batch m"], n: Scalar
    ) -> tuple[Float[Array, "*batch m"], Float[Array, ""]]:
        """The total and n, made possible ones of some records: proj of equation 16.

        A possible total is returned as it is. n becomes at least 0.
        """

    @abc.abstractmethod
    def prior(self) -> Any:
        """A weak conjugate prior, worth about one record, from the public bounds."""

    def vague_prior(self) -> Any:
        """One that says next to nothing even where noise leaves little to go by.

        Where a release says little, a prior worth one record says what a variance is,
        to a factor: too much, for a default. This one is the same where there is no
        variance.
        """
        return self.prior()

    @abc.abstractmethod
    def update(self, prior: Any, total: Real[Array, " m"], n: Scalar) -> Any:
        """The posterior's parameters, for a possible total: equation 11."""

    def law_of(self, prior: Any) -> type[ConjugatePosterior]:
        """The kind of conjugate law that a prior and its posterior follow.

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

    def natural(
        self, points: Float[np.ndarray, "j p"]
    ) -> tuple[Float[np.ndarray, "j m"], Float[np.ndarray, " j"]]:
        r"""Natural parameters θ, one a component of S, and log g(θ), at many points.

        Args:
            points: a line each, a column a parameter, by name in alphabetical order.

        Raises:
            ValueError: if the family has more than two parameters.
        """
        raise ValueError(
            f"`family` must have one or two parameters for a grid, {self.name} is not "
            "such a family."
        )

    def truncation(self, share: float) -> Truncation:
        """Limits that the public bounds suggest, the wider the smaller `share` is.

        Args:
            share: between 0 and 1: how far from where the likelihood becomes infinite,
                in terms of what the bounds would call usual.

        Raises:
            ValueError: if the bounds suggest none: then limits must be given.
        """
        names = ", ".join(f"{name!r}: (least, most)" for name in self.parameters)
        raise ValueError(
            f"`truncation` must be given for the {self.name} family: {{{names}}}."
        )

    def sampling_sensitivity(
        self, adjacency: Adjacency, truncation: Truncation | None = None
    ) -> Bound:
        r"""Δ of one sample from the posterior at temperature T: it costs kΔ/T.

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
        """`truncation`, if it bounds every parameter away from where its space ends."""
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
    """The posterior that treats a total, made a possible one, as exact.

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
