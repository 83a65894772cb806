"""K-norm noise on contingency tables: all are measured at once, with one radius."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Real

from dpjax._types import Described, Scalar
from dpjax.mechanisms import base
from dpjax.mechanisms.continuous_k_norm import (
    ContinuousKNorm,
    contrasts_of,
)
from dpjax.mechanisms.norm_groups import (
    MOST,
    Groups,
    are_small,
    balls,
    choose_groups,
    groups_of_tables,
    shares,
)
from dpjax.mechanisms.norm_mechanism import NormMechanism, digest
from dpjax.noise.norm_law import NormLaw
from dpjax.privacy import Adjacency, Epsilon, Guarantee, PureDP, exact_epsilon
from dpjax.statistics import Statistic
from dpjax.statistics.block_statistic import BlockStatistic


@base.MECHANISMS.add
class KNorm(NormMechanism):
    r"""Release $T(D) + Z$ with $P(Z = z) \propto \prod_g x_g^{\lceil \|z\|_g \rceil}$.

    T has the counts of tables without known margins, of a network (`Contrasts`) or not
    (`MarginalContrasts`). One record changes T by norm at most 1 in each group g of
    tables. The ratio $x_g$ is the least multiple of $2^{-64}$ that is proved to be at
    least $e^{-\epsilon_g}$.

    Args:
        statistic: the contrasts, with their adjacency.
        groups: for each group its stars, and for each star the places of its blocks.
        epsilons: the budget of each group.

    Privacy:
        Exactly $\sum_g \epsilon_g$-DP for the adjacency of the statistic, by basic
        composition, if the bits are random (`docs/proofs.md`, section 19). There is no
        δ, and draws use no floating point. Side channels in time and memory are not
        covered.

    Raises:
        ValueError: if the stars do not have each block once, a group has more than
            1024 numbers, or a budget is not from 2^-20 to 30.

    Reference:
        Hardt & Talwar (STOC 2010), the K-norm mechanism for real numbers.
    """

    kind: ClassVar[str] = "k-norm"
    statistic: BlockStatistic = eqx.field(static=True)
    groups: Groups = eqx.field(static=True)
    epsilons: tuple[Fraction, ...] = eqx.field(static=True)

    def __check_init__(self):
        places = [i for group in self.groups for star in group for i in star]
        whole = all(self.groups) and all(type(i) is int for i in places)
        if not whole or sorted(places) != list(range(len(self.statistic.blocks))):
            raise ValueError("`groups` must have each block of the statistic once.")
        if len(self.epsilons) != len(self.groups):
            raise ValueError("`epsilons` must have one budget for each group.")
        if not are_small(self.statistic, self.groups):
            raise ValueError(
                f"`groups` must have at most {MOST} numbers each, whose points are "
                "counted: use the mechanism 'laplace' for larger tables."
            )
        for law in self.laws:
            law.certify()

    @classmethod
    def of(cls, statistic: Statistic, budget: Guarantee) -> "KNorm":
        """Make the mechanism of cost `budget`, with groups of small total variance.

        Groups and their budgets follow from the network alone.
        """
        cost = PureDP.of(budget, "budget")
        contrasts = contrasts_of(statistic)
        contrasts.sensitivity(cost.adjacency)  # raises for another adjacency
        groups, _ = choose_groups(contrasts)
        each = tuple(cost.epsilon * share for share in shares(contrasts, groups))
        return cls(contrasts, groups, each)

    @classmethod
    def of_tables(
        cls,
        split: Mapping[Any, Epsilon],
        statistic: Statistic,
        adjacency: Adjacency,
    ) -> "KNorm":
        """Make the mechanism with given groups of tables and the budget of each.

        Args:
            split: from the tables of a group to its budget: see `groups_of_tables`. A
                float means its shortest decimal.
            statistic: the contrasts.
            adjacency: that of the contrasts.

        Raises:
            ValueError: if the groups do not have each table once, or as for `KNorm`.
        """
        contrasts = contrasts_of(statistic)
        contrasts.sensitivity(adjacency)  # raises for another adjacency
        groups = groups_of_tables(contrasts, [*split])
        budgets = tuple(exact_epsilon(x, "split") for x in split.values())
        return cls(contrasts, groups, budgets)

    @cached_property
    def laws(self) -> tuple[NormLaw, ...]:
        """The distribution of the noise of each group."""
        pairs = zip(self.groups, self.epsilons, strict=True)
        return tuple(NormLaw(*balls(self.statistic, x), e) for x, e in pairs)

    def for_studies(self) -> ContinuousKNorm:
        """Return the mechanism in real arithmetic, whose budgets are an array."""
        return self._for_studies

    @cached_property
    def _for_studies(self) -> ContinuousKNorm:
        budgets = np.array([float(x) for x in self.epsilons])
        budgets = budgets.astype(jnp.result_type(float))
        return ContinuousKNorm(self.statistic, self.groups, budgets)

    def normal_numbers(
        self, values: Real[Array, "*batch m"], n: Scalar | None
    ) -> base.NormalNumbers:
        """Return the cells of all blocks without the means of rows."""
        return self.for_studies().normal_numbers(values, n)

    def describe(self) -> dict[str, Any]:
        """Return kind and, for each group, budget, stars and numbers of points."""
        groups = []
        for law, stars in zip(self.laws, self.groups, strict=True):
            groups.append(
                {
                    "epsilon": str(law.epsilon),
                    "stars": [list(star) for star in stars],
                    "dimension": law.dimension,
                    "points": digest(law),
                }
            )
        return {"kind": self.kind, "groups": groups}

    @classmethod
    def from_description(
        cls, described: Described, statistic: Statistic, cost: Guarantee, n: int | None
    ) -> "KNorm":
        """Make the mechanism again from the statistic and the described groups."""
        groups = tuple(
            tuple(tuple(star) for star in group["stars"])
            for group in described["groups"]
        )
        epsilons = tuple(exact_epsilon(x["epsilon"]) for x in described["groups"])
        return cls(contrasts_of(statistic), groups, epsilons)

    def summary(self) -> dict[str, Any]:
        """Return each group's budget and dimension, and what the certificate proves."""
        groups = (f"{law.dimension} numbers at {law.epsilon}" for law in self.laws)
        return {
            "groups": "; ".join(groups),
            "certificate": "every ratio of neighbouring probabilities ≤ exp(epsilon)",
        }

    def guarantee(self) -> PureDP:
        """Return ε-DP with ε the sum of the budgets of the groups."""
        return PureDP(sum(self.epsilons, Fraction(0)), self.adjacency)
