"""Expected errors of mechanisms, as `plan` returns them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import ArrayLike

from dpjax.exports.packages import as_dataframe
from dpjax.privacy import Adjacency, unit_of

if TYPE_CHECKING:
    import pandas

_MOST_PARTS = 6  # variables whose error is shown
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

    def __str__(self) -> str:
        divergence = f"{self.divergence:.4f} ± {self.divergence_se:.4f}"
        kl = f"{self.kl:.4f} ± {self.kl_se:.4f}"
        variation = f"{self.total_variation:.4f} ± {self.total_variation_se:.4f}"
        if math.isnan(self.kl):
            kl = variation = ""
        choices = ", ".join(f"{name} {_show(x)}" for name, x in self.choices.items())
        numbers = f"{divergence:>18}{kl:>18}{variation:>20}"
        return f"{self.name:<22}{numbers}  {choices}".rstrip()


@dataclass(frozen=True, repr=False)
class Plan:
    """Expected errors of mechanisms, best first, and any non-private method last.

    As text it is a table; `to_dataframe` returns it as a frame of pandas.
    """

    epsilon: str
    adjacency: Adjacency
    n: int
    repeats: int
    outlooks: tuple[Outlook, ...]
    contributions: int = 1  # the most rows of a person, whose loss ε is
    tables: str = "drawn uniformly"  # where a network's true tables come from

    def __str__(self) -> str:
        of_rows = not math.isnan(self.outlooks[0].kl)
        heads = ("KL of a row", "variation of a row") if of_rows else ("", "")
        lines = [
            f"n = {self.n}, ε = {self.epsilon}, {self.adjacency}, "
            f"{self.repeats} repeats{f', tables {self.tables}' if of_rows else ''}",
            f"unit: {unit_of(self.contributions)}",
            f"{'expected':<22}{'KL of a record':>18}{heads[0]:>18}{heads[1]:>20}"
            "  choices",
            *map(str, self.outlooks),
            *(
                f"not worth its ε: {name}, with {ratio:.3g} times the error of added "
                "noise"
                for name, ratio in self.not_worth.items()
            ),
        ]
        best = self.outlooks[0]
        largest = sorted(best.parts.items(), key=lambda part: -part[1])[:_MOST_PARTS]
        parts = ", ".join(f"{name} {error:.4f}" for name, error in largest)
        of_parts = (
            [f"KL of a record by variable, {best.name}: {parts}"] if parts else []
        )
        return "\n".join([*lines, *of_parts, f"prefer: {self.preferred}"])

    __repr__ = __str__

    def to_dataframe(self) -> "pandas.DataFrame":
        """Return a row for each mechanism, with its errors and standard errors.

        Raises:
            ImportError: if pandas is not installed.
        """
        names = ["name", "divergence", "divergence_se", "kl", "kl_se"]
        names += ["total_variation", "total_variation_se", "sampled"]
        rows = {name: [getattr(x, name) for x in self.outlooks] for name in names}
        return as_dataframe(rows)

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


def _show(value: float | list[float]) -> str:
    if isinstance(value, list):
        ends = (value[0], value[-1]) if len(value) > 1 else (value[0],)
        return " to ".join(f"{x:.4g}" for x in ends)
    return f"{value:.4g}"
