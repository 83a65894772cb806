"""Expected errors of mechanisms, as `plan` returns them."""

__all__ = ["NON_PRIVATE", "Outlook", "Plan"]

import math
from dataclasses import dataclass

from dpjax.privacy import Adjacency

NON_PRIVATE = "non-private"


@dataclass(frozen=True)
class Outlook:
    """Expected errors of one mechanism's tables, and standard errors over repeats.

    The total variation and KL(true ‖ learned), in nats, are averaged over the rows of
    all tables. The divergence is KL(true ‖ learned) of the distribution of a record:
    the sum of the KL of all rows, each weighted by the probability of its parents'
    levels. All are averaged over tables, records and noise. For an exponential family,
    only the divergence is defined, and the other errors are NaN.
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

    @classmethod
    def of(
        cls,
        name: str,
        mean: list[float],
        se: list[float],
        choices: dict,
        sampled: bool = False,
    ) -> "Outlook":
        """Make the outlook from means and standard errors, in this class's order."""
        (variation, kl, divergence), (variation_se, kl_se, divergence_se) = mean, se
        rows = variation, variation_se, kl, kl_se
        return cls(name, *rows, divergence, divergence_se, choices, sampled)

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
