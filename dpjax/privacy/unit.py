"""The unit of protection: one row, or all rows of a person who has at most k.

Group privacy gives the cost for a person from the cost for one row: a data set becomes
its neighbour in k steps, each of which changes one row (`docs/proofs.md`, L4).
"""

import operator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from dpjax._checks import brief, whole

Kind = TypeVar("Kind", bound="Unit")
_MOST_ROWS = 1 << 29  # of a table


@dataclass(frozen=True, eq=False)
class Unit:
    """The rows that neighbouring data sets differ by, as part of a guarantee.

    Args:
        contributions: the most rows of a person, from 1 (each row on its own) to 2^29.
    """

    kind: ClassVar[str]
    contributions: int = field(default=1, kw_only=True)

    @property
    def unit(self) -> str:
        """What is protected, in words: "one row" or "a person with up to k rows"."""
        return unit_of(self.contributions)

    def of_group(self: Kind, contributions: int) -> Kind:
        """Return the guarantee for a person with up to k rows, from that for one row.

        Args:
            contributions: the most rows k of a person, at least 1. The result for 1 is
                this guarantee.

        Raises:
            ValueError: if this guarantee is not for one row, `contributions` is not
                from 1 to 2^29, or the kind states no cost of a group.
        """
        per_row(self)
        k = rows_of(contributions)
        if k == 1:
            return self
        return replace(self, **self.numbers_of_group(k), contributions=k)

    def per_record(self: Kind) -> Kind:
        """Return a guarantee for one row that implies this guarantee for a person.

        A mechanism that satisfies the result satisfies this guarantee, by `of_group`.

        Raises:
            ValueError: if `contributions` is above 1 and the kind states no cost of a
                group.
        """
        k = self.contributions
        if k == 1:
            return self
        return replace(self, **self.numbers_per_record(k), contributions=1)

    def numbers_of_group(self, k: int) -> dict[str, Fraction]:
        """Return the numbers for neighbours that differ by k rows, given those for one.

        A kind for which group privacy is known overrides this method and
        `numbers_per_record`; otherwise `ValueError` is raised for k > 1.
        """
        raise _refusal(self.kind, k)

    def numbers_per_record(self, k: int) -> dict[str, Fraction]:
        """Return numbers for one row whose `numbers_of_group` are at most these."""
        raise _refusal(self.kind, k)


def rows_of(contributions: Any) -> int:
    """Return the most rows of a person; `ValueError` unless it is from 1 to 2^29."""
    whole(1, contributions=contributions)
    if contributions > _MOST_ROWS:
        raise ValueError(
            f"`contributions` must be at most 2^29, the most rows of a table, got "
            f"{brief(contributions)}."
        )
    return operator.index(contributions)


def unit_of(contributions: int) -> str:
    """Return what is protected, in words: "one row" or "a person with up to k rows"."""
    if contributions == 1:
        return "one row"
    return f"a person with up to {contributions} rows"


def per_row(cost: Kind, name: str = "guarantee") -> Kind:
    """Return a guarantee for one row; `ValueError` for one of several rows."""
    if cost.contributions != 1:
        raise ValueError(
            f"`{name}` must be for one row, got one for {cost.unit}: take the cost for "
            "one row, and `of_group` of the result."
        )
    return cost


def _refusal(kind: str, k: int) -> ValueError:
    return ValueError(
        f"`contributions` must be 1 for a guarantee of kind {kind}, which states no "
        f"cost of a group of rows, got {k}."
    )
