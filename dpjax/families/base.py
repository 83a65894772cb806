"""The interface of exponential families, and their conjugate posteriors.

A record x has the density p(x | θ) = h(x) g(θ) exp(θᵀS(x)) with the statistic S(x).
Records are clipped to public bounds, so that suprema over records are finite.
"""

import abc
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import array_of, one_of, rows_of
from dpjax._registry import Registry
from dpjax._types import Flat, Scalar
from dpjax.families.conjugate_base import ConjugatePosterior
from dpjax.families.grids import OnGrid, Truncation
from dpjax.privacy import Adjacency

Ends = tuple[float | int, ...]
"""Lower or upper bounds, one per column."""
Number = Float[Array, ""]
Total = Real[Array, " m"]  # sum of the statistic over all records


class Bound(NamedTuple):
    """An upper bound `value` of a supremum; `tight` if it equals the supremum."""

    value: float
    tight: bool = True


class Family(OnGrid):
    """An exponential family of records x within public bounds; an immutable value.

    The density of x is h(x) g(θ) exp(θᵀS(x)), with parameters θ and statistic S(x).

    To add a family, define a frozen dataclass with a `name`, and add it to `FAMILIES`.
    A `FamilyWithLaw` also has noise-aware posteriors, a `ClippedFamily` those of
    records before clipping, and one with `natural`, `expected` and `truncation` has
    posterior samples and plans.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 3.
    """

    categorical: ClassVar[bool] = False
    """Whether records are indices of levels."""
    predicts: ClassVar[bool] = False
    """Whether the family is a regression of the last column on the others."""
    priors: ClassVar[Mapping[type, type[ConjugatePosterior]]]
    """Posterior class by type of prior parameters; the type of `prior()` is first."""

    @classmethod
    @abc.abstractmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Family":
        """Construct the family from the bounds of every column, and from `options()`.

        Raises:
            ValueError: if the family does not support these bounds.
        """

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Least and largest value of every column."""

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of `from_bounds` other than the bounds."""
        return {}

    @property
    def columns(self) -> int:
        """Number of columns of a record."""
        return len(self.bounds)

    def features(self, values: Any) -> Float[Array, "n f"]:
        """Return rows of a regression's features as floats, without the last column.

        Raises:
            ValueError: if the rows have another length, or are those of a table, of
                which a family does not know the names.
        """
        if isinstance(values, Mapping) or hasattr(values, "columns"):
            raise ValueError(
                "`features` must be an array for this posterior, which has no names of "
                f"columns, got {type(values).__name__}: give its columns in the order "
                "of the variables, as an array."
            )
        return rows_of(self.columns - 1, features=values).astype(float)

    @property
    def dimension(self) -> int:
        """Number of components of the statistic S(x)."""
        return len(self.scales())

    @property
    def complement(self) -> int | None:
        """Index of a component c of the statistic; None if the components sum to 1.

        After division by `scales`, c is in [0, 1]. If n is private, the sum of 1 - c is
        released too, which gives n. The supremum of ‖S(x)‖₁, at c = 1, is unchanged.
        """
        return 0

    @property
    def lattice(self) -> int | None:
        """An integer k such that S(x) / `scales` are multiples of 1/k, or None."""
        return None

    @abc.abstractmethod
    def scales(self) -> tuple[float, ...]:
        """The largest absolute value of each component of the statistic S(x)."""

    @abc.abstractmethod
    def scaled_statistics(self, records: Real[Array, "n d"]) -> Float[Array, "n m"]:
        """Return each clipped record's S(x) / `scales`; NaN becomes mid-bounds."""

    def statistics(self, records: Real[ArrayLike, "n d"]) -> Float[Array, "n m"]:
        """Return S(x) of every record, not divided by `scales`.

        Privacy:
            No guarantee: the values are exact. See `dpjax.statistics.Sufficient`.
        """
        scaled = self.scaled_statistics(array_of(records, "records"))
        return scaled * jnp.asarray(self.scales())[None, :]

    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Return bounds of each component of S(x) / `scales`, the lower one first."""
        return ((-1.0, 1.0),) * self.dimension

    @abc.abstractmethod
    def diameter(self, scaled: bool = False) -> Bound:
        """Supremum of ‖S(x) - S(x')‖₁ (Foulds et al., equation 17), for replace-one.

        Args:
            scaled: whether every component of S is divided by its entry of `scales`.
        """

    @abc.abstractmethod
    def radius(self, scaled: bool = False) -> Bound:
        """Supremum of ‖S(x)‖₁, the sensitivity of the sum of S(x) under add-remove."""

    @abc.abstractmethod
    def project(self, total: Flat, n: Scalar) -> tuple[Flat, Number]:
        """Replace a noisy sum of S(x) by one that n records can have; return it and n.

        A sum that n records can have is not changed. A negative n becomes 0.
        """

    @abc.abstractmethod
    def prior(self) -> Any:
        """Return a conjugate prior that weighs as much as about one record."""

    def vague_prior(self) -> Any:
        """Return a conjugate prior weaker than `prior`, for very noisy releases.

        `prior` determines a variance up to a factor, which is too informative if a
        release is very noisy. Families without a variance return `prior`.
        """
        return self.prior()

    @abc.abstractmethod
    def update(self, prior: Any, total: Total, n: Scalar) -> Any:
        """Return the posterior's parameters, given the sum of S(x) over n records."""

    def law_of(self, prior: Any) -> type[ConjugatePosterior]:
        """Return the class of posteriors whose parameters have the type of `prior`.

        Raises:
            ValueError: if `prior` belongs to another family.
        """
        if type(prior) not in self.priors:
            expected = " or ".join(kind.__name__ for kind in self.priors)
            raise ValueError(
                f"`prior` must be of type {expected} for the {self.name} family, got "
                f"{type(prior).__name__}."
            )
        return self.priors[type(prior)]

    def posterior(self, parameters: Any) -> ConjugatePosterior:
        """Return the conjugate distribution, prior or posterior, with these parameters.

        Raises:
            ValueError: if the parameters belong to another family or are not positive.
        """
        return self.law_of(parameters)(self, parameters)

    def sampling_sensitivity(
        self, adjacency: Adjacency, truncation: Truncation | None = None
    ) -> Bound:
        r"""Return Δ, if a posterior sample at temperature T has privacy loss kΔ/T.

        Under replace-one k = 2 and $\Delta = \frac12 \sup_{x,x'} \mathrm{range}_\theta
        \theta^\top (S(x') - S(x))$. This is equation 13 for the best function h,
        since h cancels in a posterior. Under add-remove k = 1 and $\Delta = \sup_x
        \mathrm{range}_\theta \log p(x|\theta)$, where g does not cancel.

        Args:
            adjacency: "replace-one" or "add-remove".
            truncation: by parameter name, the interval to which the prior is truncated.
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

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        """Half of the largest range over θ of log p(x) - log p(x').

        Raises:
            ValueError: if the family does not define it, for it has no samples.
        """
        raise self._no_samples()

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        """The largest range over θ of log p(x), as `_likelihood_diameter`."""
        raise self._no_samples()

    def _no_samples(self) -> ValueError:
        return ValueError(
            f"`mechanism` must be one that adds noise for the {self.name} family: for "
            "samples it has to define `_likelihood_diameter` and `_likelihood_radius`."
        )

    def _limits(self, truncation: Truncation) -> Truncation:
        """Return `truncation` if it bounds every parameter within its open range."""
        of_grid = bool(truncation) and {*truncation} <= {*self.grid_parameters}
        known = self.grid_parameters if of_grid else self.parameters
        for name, (start, end) in known.items():
            least, most = truncation.get(name, (math.nan, math.nan))
            if not start < least <= most < end:
                raise ValueError(
                    f"`truncation` must bound the {name} of the {self.name} family, "
                    f"as in {{{name!r}: (least, most)}} with {start} < least <= most < "
                    f"{end}, got {truncation.get(name, 'no bounds')}: without, one "
                    "posterior sample is not private."
                )
        if unknown := set(truncation) - set(known):
            raise ValueError(
                f"`truncation` must name parameters among {sorted(known)}, "
                f"got {min(unknown)!r}."
            )
        return truncation


FAMILIES: Registry[Family] = Registry(Family, "family", "families", "name")
"""Classes of families, by the `name` that files have."""


def conjugate_posterior(
    family: Family, total: Real[Array, " m"], n: Scalar, prior: Any = None
) -> ConjugatePosterior:
    """Return the plug-in posterior, which treats a noisy statistic as exact.

    Args:
        family: exponential family of the records, with statistic S(x).
        total: exact or noisy sum of S(x) over the records, from `Sufficient.decode`.
        n: number of records, exact or noisy. `Family.project` corrects `total` and `n`.
        prior: parameters of a conjugate prior; None: `family.prior()`, which is weak.
            For a regression with known noise, use `KnownNoiseParameters`.

    Privacy:
        Post-processing: no further privacy loss, even if repeated with other priors.

    Raises:
        ValueError: if `prior` belongs to another family or is not positive.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), equations 11 and 16.
    """
    prior = family.prior() if prior is None else prior
    law = family.law_of(prior)
    total, n = family.project(total, n)
    return law(family, family.update(prior, total, n))
