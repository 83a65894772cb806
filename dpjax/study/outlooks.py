"""Expected errors of mechanisms, as `plan` returns them."""

__all__ = ["NON_PRIVATE", "Outlook", "Plan"]

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import ArrayLike

from dpjax.privacy import Adjacency

NON_PRIVATE = "non-private"


@dataclass(frozen=True)
class Outlook:
    """Expected errors of one mechanism's tables, and standard errors over repeats.

    The total variation and KL(true ‖ learned), in nats, are averaged over the rows of
    all tables. The divergence is KL(true ‖ learned) of the distribution of a record:
    the sum of the KL of all rows, each weighted by the probability of its parents'
    levels. `parts` has this sum for each variable. All are averaged over tables,
    records and noise. For an exponential family, only the divergence is defined, and
    the other errors are NaN.
    """

    name: str  # the mechanism's name in `release`, or a method compared with it
    total_variation: float
    total_variation_se: float
    kl: float
    kl_se: float
    divergence: float
    divergence_se: float
    choices: dict[str, float | list[float]]  # noise scale, budgets, ω, temperature
    sampled: bool = False  # whether parameters are drawn, and no noise is added
    parts: dict[str, float] = field(default_factory=dict)  # of divergence, by variable

    @classmethod
    def of(
        cls,
        name: str,
        errors: ArrayLike,
        variables: Sequence[str],
        choices: dict,
        sampled: bool = False,
    ) -> "Outlook":
        """Make the outlook from the errors of repeats, as `row_errors` returns them."""
        errors = np.asarray(errors, float)
        both = np.column_stack([errors[:, :2], errors[:, 2:].sum(axis=1)])
        mean, se = both.mean(axis=0), both.std(axis=0, ddof=1) / len(both) ** 0.5
        (variation, kl, divergence), (a, b, c) = mean.tolist(), se.tolist()
        each = errors[:, 2:].mean(axis=0).tolist()
        parts = dict(zip(variables, each, strict=True))
        rows = variation, a, kl, b, divergence, c
        return cls(name, *rows, choices, sampled, parts)

    @classmethod
    def of_divergence(
        cls, name: str, divergence: float, se: float, choices: dict, sampled: bool
    ) -> "Outlook":
        """Make the outlook of a family from its only error."""
        rows = math.nan, math.nan, math.nan, math.nan
        return cls(name, *rows, divergence, se, choices, sampled)


@dataclass(frozen=True)
class Plan:
    """Expected errors of mechanisms, best first, and any non-private method last."""

    epsilon: str
    adjacency: Adjacency
    n: int
    repeats: int
    outlooks: tuple[Outlook, ...]
    contributions: int = 1  # the most rows of a person, whose loss ε is

    @property
    def preferred(self) -> str:
        """The mechanism with the smallest expected divergence."""
        return self.outlooks[0].name

    @property
    def not_worth(self) -> dict[str, float]:
        """Samplers that are not worth their ε, and how many times the error they have.

        The ratio is to the mechanism that adds noise and has the smallest expected
        divergence. A sampler is named if the difference exceeds two standard errors.
        """
        noise = (x for x in self.outlooks if not x.sampled and x.name != NON_PRIVATE)
        noisy = next(noise, None)
        if noisy is None:
            return {}
        return {
            x.name: x.divergence / noisy.divergence
            for x in self.outlooks
            if x.sampled
            and x.divergence - noisy.divergence
            > 2 * math.hypot(x.divergence_se, noisy.divergence_se)
        }
