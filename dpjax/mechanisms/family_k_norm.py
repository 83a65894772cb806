"""K-norm noise on the sums of an exponential family: all numbers have one radius."""

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from dpjax.mechanisms import base
from dpjax.mechanisms.continuous_family_k_norm import (
    ContinuousFamilyKNorm,
    family_of,
    steps_and_parts,
)
from dpjax.mechanisms.norm_groups import MOST
from dpjax.mechanisms.norm_mechanism import NormMechanism, digest
from dpjax.noise.norm_balls import Cells
from dpjax.noise.norm_law import NormLaw
from dpjax.privacy import Guarantee, PureDP
from dpjax.statistics import FamilyStatistic, Statistic
from dpjax.statistics.family_statistic import Changes


@base.MECHANISMS.add
class FamilyKNorm(NormMechanism):
    r"""Release $T(D) + Z$ with $P(Z = z) \propto x^{\lceil q \|z\| \rceil}$.

    T has the sums of an exponential family. The norm is $\max_p \|z_p\|_1 / b_p$ over
    disjoint parts p of the numbers: most numbers are a part of their own, so that the
    unit ball is nearly a box. One record changes T by norm at most 1, and therefore the
    exponent by at most q. The ratio x is the least multiple of $2^{-64}$ that is proved
    to be at least $e^{-\epsilon / q}$. Parts, b and q follow from the statistic and ε
    alone: b is the bound of `FamilyStatistic.changes`, rounded up to a multiple of q.
    If the L1 norm of all numbers has noise of less variance, all of them are one part.

    Args:
        statistic: the statistic, with its adjacency.
        epsilon: the privacy loss.

    Privacy:
        Exactly ε-DP for the adjacency of the statistic, if the bits are random
        (`docs/proofs.md`, section 20). There is no δ, and draws use no floating point.
        Side channels in time and memory are not covered.

    Raises:
        ValueError: if the statistic has more than 1024 numbers, or `epsilon` is below
            2^-20 or too large for the units of the statistic.

    Reference:
        Hardt & Talwar (STOC 2010), the K-norm mechanism for real numbers.
    """

    kind: ClassVar[str] = "family-k-norm"
    statistic: FamilyStatistic = eqx.field(static=True)
    epsilon: Fraction = eqx.field(static=True)

    def __check_init__(self):
        if self.statistic.length > MOST:
            raise ValueError(
                f"`statistic` must have at most {MOST} numbers for K-norm noise, got "
                f"{self.statistic.length}: use the mechanism 'laplace'."
            )
        self.law.certify()

    @classmethod
    def of(cls, statistic: Statistic, budget: Guarantee) -> "FamilyKNorm":
        """Make the mechanism of cost `budget` for the statistic of a family."""
        cost, family = PureDP.of(budget, "budget"), family_of(statistic)
        family.sensitivity(cost.adjacency)  # raises for another adjacency
        return cls(family, cost.epsilon)

    @cached_property
    def _steps_and_parts(self) -> tuple[int, Changes]:
        return steps_and_parts(self.statistic, self.epsilon)

    @property
    def steps(self) -> int:
        """The number q of steps of the radius for one record."""
        return self._steps_and_parts[0]

    @property
    def parts(self) -> Changes:
        """The places of the numbers of each part, and its b."""
        return self._steps_and_parts[1]

    @cached_property
    def law(self) -> NormLaw:
        """The distribution of the noise."""
        balls = tuple(Cells(places) for places, _ in self.parts)
        widths = tuple(size // self.steps for _, size in self.parts)
        return NormLaw(balls, widths, self.epsilon / self.steps)

    @cached_property
    def laws(self) -> tuple[NormLaw, ...]:
        """The distribution of the noise, which is that of one group."""
        return (self.law,)

    def for_studies(self) -> ContinuousFamilyKNorm:
        """Return the mechanism in real arithmetic, whose budget is an array."""
        places, sizes = zip(*self.parts, strict=True)
        kind = jnp.result_type(float)
        budget = np.asarray(float(self.epsilon), kind)
        return ContinuousFamilyKNorm(
            self.statistic, places, np.array(sizes, kind), budget
        )

    def describe(self) -> dict[str, Any]:
        """Return kind, steps, parts with their b, and a hash of numbers of points."""
        parts = [{"numbers": [*places], "change": b} for places, b in self.parts]
        return {
            "kind": self.kind,
            "steps": self.steps,
            "parts": parts,
            "points": digest(self.law),
        }

    def summary(self) -> dict[str, Any]:
        """Return the numbers with one radius, and what the certificate proves."""
        return {
            "numbers": f"{self.law.dimension} with one radius",
            "steps": f"{self.steps} of the radius for one record",
            "certificate": "every ratio of neighbouring probabilities ≤ exp(epsilon)",
        }

    def guarantee(self) -> PureDP:
        """Return the exact ε-DP guarantee."""
        return PureDP(self.epsilon, self.adjacency)
