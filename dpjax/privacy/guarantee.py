"""Privacy guarantees of a release, in exact numbers.

A kind of guarantee, such as pure DP, is a frozen dataclass derived from `Guarantee`.
`GUARANTEES` is the registry of all kinds by name; users may add kinds.
"""

import abc
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from jaxtyping import Float64

from dpjax._checks import brief, one_of, whole
from dpjax._registry import Registry
from dpjax.privacy.bounded_range import BoundedRange
from dpjax.privacy.rounding import exact_epsilon
from dpjax.privacy.sensitivity import ADJACENCIES, Adjacency
from dpjax.privacy.unit import rows_of

Kind = TypeVar("Kind", bound="Guarantee")
Law = Sequence[Sequence[Fraction]]
"""Exact probabilities of all values of each independent part of an output."""

Probabilities = Float64[np.ndarray, "*shape"]

_NO_NUMBERS = ("adjacency", "contributions")
_GREEK = {"alpha": "α", "delta": "δ", "epsilon": "ε", "mu": "μ", "rho": "ρ"}


class Guarantee(BoundedRange, abc.ABC):
    """A bound on how well any output distinguishes two neighbouring data sets.

    Each subclass is a kind of guarantee: a frozen dataclass whose fields are exact
    numbers, Fractions of at least 0, and then the `adjacency`. Composition adds up the
    numbers, which must be valid even if a release depends on the earlier releases.

    Two data sets are neighbours if they differ by all rows of one person, who has at
    most `contributions` rows: these are replaced, or added or removed.

    Args:
        contributions: the most rows of a person, given by keyword. 1 (the default)
            protects each row on its own.

    Attributes:
        kind: name of the subclass in files and in `GUARANTEES`.
        adjacency: "replace-one" or "add-remove".

    Raises:
        ValueError: at construction, if a number is not exact or is negative, the
            adjacency is unknown, or `contributions` is not from 1 to 2^29.
    """

    kind: ClassVar[str]
    adjacency: Adjacency

    format_version: ClassVar[int] = 1
    """First version of the format of release files that knows the kind."""

    def __post_init__(self) -> None:
        one_of(ADJACENCIES, adjacency=self.adjacency)
        object.__setattr__(self, "contributions", rows_of(self.contributions))
        for name, number in self.numbers.items():
            if not isinstance(number, Fraction) or number < 0:
                raise ValueError(
                    f"`{name}` must be a Fraction of at least 0, got {brief(number)}."
                )

    @property
    @abc.abstractmethod
    def bound(self) -> Fraction:
        """The largest `divergence` under two neighbours that the guarantee allows."""

    @abc.abstractmethod
    def divergence(self, one: Law, other: Law) -> float | Fraction:
        """Return the divergence of a release's distributions under two neighbours.

        Args:
            one: exact probabilities of all values of each independent part of the
                release under one data set.
            other: probabilities of the same values under the other data set.

        Returns:
            The quantity that `bound` limits, symmetric in `one` and `other`. It is
            infinite if an output that only one law allows violates every bound.
        """

    def divergence_of_events(self, p: Probabilities, q: Probabilities) -> Probabilities:
        """Return a lower bound of `divergence` from the probabilities of each event.

        Args:
            p: lower bound of the probability of each event under one data set.
            q: upper bound of the probability of the event under the other data set.
        """

        def least(p: float, q: float) -> float:
            laws = [[Fraction(x), 1 - Fraction(x)] for x in (p, min(p, q))]
            return float(self.divergence(*([law] for law in laws)))

        return np.asarray(np.vectorize(least, otypes=[float])(p, q))

    @classmethod
    def of(cls: type[Kind], guarantee: object, name: str = "guarantee") -> Kind:
        """Convert a guarantee to this class; `ValueError` if it cannot be converted."""
        if isinstance(guarantee, cls):
            return guarantee
        same = cls.implied_by(guarantee)
        if same is None:
            raise ValueError(
                f"`{name}` must be a guarantee of kind {cls.kind} or one that implies "
                f"it, got {getattr(guarantee, 'kind', type(guarantee).__name__)}."
            )
        # The implication is about the same neighbours, whatever they differ by.
        return replace(same, contributions=cast(Any, guarantee).contributions)

    @classmethod
    def implied_by(cls: type[Kind], other: object) -> Kind | None:
        """Return the guarantee of this class that `other` implies, or None.

        The result is for the neighbours of `other`: `of` copies its `contributions`.
        """
        return None

    @property
    def numbers(self) -> dict[str, Fraction]:
        """All numbers of the guarantee, such as ε and δ, by field name."""
        return {name: getattr(self, name) for name in _numbers_of(type(self))}

    def composed(self, *others: "Guarantee") -> "Guarantee":
        """Return the guarantee of this release together with others from one table.

        Returns:
            The sum, in the first class to which all guarantees can be converted.

        Raises:
            ValueError: if adjacencies or contributions differ, the guarantees do not
                convert to one class, or the sum guarantees nothing.
        """
        costs = (self, *others)
        one_adjacency(costs)
        for kind in dict.fromkeys(map(type, costs)):
            with contextlib.suppress(ValueError):
                same = [kind.of(cost) for cost in costs]
                break
        else:
            kinds = " and ".join(sorted({cost.kind for cost in costs}))
            raise ValueError(f"`costs` must be of kinds that compose, got {kinds}.")
        columns = zip(*(cost.numbers.values() for cost in same), strict=True)
        return kind(
            *(sum(x, Fraction(0)) for x in columns),
            self.adjacency,
            contributions=self.contributions,
        )

    def repeated(self: Kind, times: int) -> Kind:
        """Return the guarantee of `times` ≥ 1 releases, each with this guarantee."""
        whole(1, times=times)
        return replace(self, **{x: y * int(times) for x, y in self.numbers.items()})

    def nothing(self: Kind) -> Kind:
        """Return the cost of no release: this class and adjacency, all numbers 0."""
        return replace(self, **dict.fromkeys(self.numbers, Fraction(0)))

    def largest(self: Kind, *others: Kind) -> Kind:
        """Return the guarantee with the largest of each number: of disjoint parts."""
        numbers = [x.numbers for x in (self, *others)]
        return replace(self, **{x: max(y[x] for y in numbers) for x in self.numbers})

    def remaining(self, spent: "Guarantee") -> dict[str, Fraction]:
        """Return each number minus the number of `spent`, < 0 if overspent, by name."""
        return {x: y - spent.numbers[x] for x, y in self.numbers.items()}

    def share(self: Kind, part: Fraction) -> Kind:
        """Return this class with `part` ≥ 0 of each number."""
        return replace(self, **{x: y * part for x, y in self.numbers.items()})

    def minus(self: Kind, spent: "Guarantee") -> Kind:
        """Return what is left after `spent`; `ValueError` if that is more than this."""
        return replace(self, **self.remaining(type(self).of(spent)))

    @property
    def pure_epsilon(self) -> Fraction | None:
        """An ε such that ε-DP implies this guarantee, the largest known, or None."""
        return None

    def fits(self, budget: "Guarantee") -> bool:
        """Return whether this guarantee is at least as strong as `budget`."""
        if self.adjacency != budget.adjacency:
            return False
        if self.contributions != budget.contributions:
            return False
        try:
            own = type(budget).of(self)
        except ValueError:
            return False
        return min(budget.remaining(own).values()) >= 0

    def describe(self) -> dict[str, Any]:
        """Return kind, numbers as exact text, and adjacency, for files.

        The entry "contributions" is there only if it is above 1.
        """
        exact = {name: str(number) for name, number in self.numbers.items()}
        k = self.contributions
        rows = {} if k == 1 else {"contributions": k}
        return {"kind": self.kind, **exact, "adjacency": self.adjacency, **rows}

    @classmethod
    def from_description(cls: type[Kind], described: Mapping[str, Any]) -> Kind:
        """Make the guarantee from the result of `describe`; one number must be > 0."""
        one_of(ADJACENCIES, adjacency=described.get("adjacency"))
        names = _numbers_of(cls)
        exact = {name: _described(described.get(name), name) for name in names}
        if not any(exact.values()):
            exact_epsilon(0, names[0])
        k = described.get("contributions", 1)
        made = cast(Any, cls)(*exact.values(), described["adjacency"], contributions=k)
        if made.describe() != dict(described):
            raise ValueError(
                f"`guarantee` must be described by {', '.join(made.describe())}, and "
                "by nothing else, got other entries."
            )
        return made

    def __str__(self) -> str:
        return in_words(self.numbers)


GUARANTEES: Registry[Guarantee] = Registry(Guarantee, "guarantee")
"""All classes of guarantees, by their `kind`."""


def guarantee_of(described: object) -> Guarantee:
    """Make a guarantee of any class in `GUARANTEES` from what `describe` returned."""
    if not isinstance(described, Mapping):
        raise ValueError("`guarantee` must be an object with a kind and its numbers.")
    return GUARANTEES[described.get("kind")].from_description(described)


def in_words(values: Mapping[str, object]) -> str:
    """Return numbers as text with Greek letters, such as "ε = 1/2, δ = 1/100000"."""
    return ", ".join(f"{_GREEK.get(x, x)} = {y}" for x, y in values.items())


def one_adjacency(costs: Sequence[Guarantee]) -> Adjacency:
    """Return the adjacency that all `costs` share, and check that they share a unit.

    Raises:
        ValueError: if there is no cost, or adjacencies or contributions differ.
    """
    found: list[Adjacency] = sorted({cost.adjacency for cost in costs})
    if len(found) != 1:
        raise ValueError(
            "`costs` must be one or more, all for one adjacency, got "
            f"{' and '.join(found) or 'none'}."
        )
    units = list(dict.fromkeys(cost.unit for cost in costs))
    if len(units) > 1:
        raise ValueError(
            "`costs` must be one or more, all for one unit of protection, got "
            f"{' and '.join(units)}."
        )
    return found[0]


def _numbers_of(kind: type[Guarantee]) -> list[str]:
    """Return the names of the fields that are numbers, in order."""
    return [x.name for x in fields(kind) if x.name not in _NO_NUMBERS]


def _described(text: object, name: str) -> Fraction:
    return Fraction(0) if text == "0" else exact_epsilon(str(text), name)
