"""Privacy guarantees of a release, in exact numbers.

A kind of guarantee, such as pure DP, is a frozen dataclass derived from `Guarantee`.
`GUARANTEES` is the registry of all kinds by name; users may add kinds.
"""

__all__ = [
    "GUARANTEES",
    "Guarantee",
    "Law",
    "guarantee_of",
    "in_words",
    "one_adjacency",
]

import abc
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from jaxtyping import Float64

from dpjax._checks import brief, one_of, whole
from dpjax._registry import Registry
from dpjax.privacy.rounding import exact_epsilon
from dpjax.privacy.sensitivity import ADJACENCIES, Adjacency

Kind = TypeVar("Kind", bound="Guarantee")
Law = Sequence[Sequence[Fraction]]
"""Exact probabilities of all values of each independent part of an output."""

Probabilities = Float64[np.ndarray, "*shape"]

_GREEK = {"alpha": "α", "delta": "δ", "epsilon": "ε", "mu": "μ", "rho": "ρ"}


class Guarantee(abc.ABC):
    """A bound on how well any output distinguishes two neighbouring data sets.

    Each subclass is a kind of guarantee: a frozen dataclass whose fields are exact
    numbers, Fractions of at least 0, and then the `adjacency`. Composition adds up the
    numbers, which must be valid even if a release depends on the earlier releases.

    Attributes:
        kind: name of the subclass in files and in `GUARANTEES`.
        adjacency: "replace-one" or "add-remove".

    Raises:
        ValueError: at construction, if a number is not exact or is negative, or the
            adjacency is unknown.
    """

    kind: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    adjacency: Adjacency

    def __post_init__(self) -> None:
        one_of(ADJACENCIES, adjacency=self.adjacency)
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
        same = guarantee if isinstance(guarantee, cls) else cls.implied_by(guarantee)
        if same is None:
            raise ValueError(
                f"`{name}` must be a guarantee of kind {cls.kind} or one that implies "
                f"it, got {getattr(guarantee, 'kind', type(guarantee).__name__)}."
            )
        return same

    @classmethod
    def implied_by(cls: type[Kind], other: object) -> Kind | None:
        """Return the guarantee of this class that `other` implies, or None."""
        return None

    @property
    def numbers(self) -> dict[str, Fraction]:
        """All numbers of the guarantee, such as ε and δ, by field name."""
        names = [x.name for x in fields(self) if x.name != "adjacency"]
        return {name: getattr(self, name) for name in names}

    def composed(self, *others: "Guarantee") -> "Guarantee":
        """Return the guarantee of this release together with others from one table.

        Returns:
            The sum, in the first class to which all guarantees can be converted.

        Raises:
            ValueError: if adjacencies differ, the guarantees do not convert to one
                class, or the sum guarantees nothing.
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
        return kind(*(sum(x, Fraction(0)) for x in columns), self.adjacency)

    def repeated(self: Kind, times: int) -> Kind:
        """Return the guarantee of `times` ≥ 1 releases, each with this guarantee."""
        whole(1, times=times)
        return replace(self, **{x: y * int(times) for x, y in self.numbers.items()})

    def nothing(self: Kind) -> Kind:
        """Return the cost of no release: this class and adjacency, all numbers 0."""
        return replace(self, **dict.fromkeys(self.numbers, Fraction(0)))

    def remaining(self, spent: "Guarantee") -> dict[str, Fraction]:
        """Return each number minus the number of `spent`, < 0 if overspent, by name."""
        return {x: y - spent.numbers[x] for x, y in self.numbers.items()}

    def fits(self, budget: "Guarantee") -> bool:
        """Return whether this guarantee is at least as strong as `budget`."""
        if self.adjacency != budget.adjacency:
            return False
        try:
            own = type(budget).of(self)
        except ValueError:
            return False
        return min(budget.remaining(own).values()) >= 0

    def describe(self) -> dict[str, str]:
        """Return kind, numbers as exact text, and adjacency, for files."""
        exact = {name: str(number) for name, number in self.numbers.items()}
        return {"kind": self.kind, **exact, "adjacency": self.adjacency}

    @classmethod
    def from_description(cls: type[Kind], described: Mapping[str, Any]) -> Kind:
        """Make the guarantee from the result of `describe`; one number must be > 0."""
        one_of(ADJACENCIES, adjacency=described.get("adjacency"))
        names = [x.name for x in fields(cls) if x.name != "adjacency"]
        exact = {name: _described(described.get(name), name) for name in names}
        if not any(exact.values()):
            exact_epsilon(0, names[0])
        made = cast(Any, cls)(*exact.values(), described["adjacency"])
        if made.describe() != dict(described):
            raise ValueError(
                f"`guarantee` must be described by {', '.join(made.describe())}, and "
                "by nothing else, got other entries."
            )
        return made

    def __str__(self) -> str:
        return in_words(self.numbers)


GUARANTEES: Registry[Guarantee] = Registry("guarantee")
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
    """Return the adjacency that all `costs` share; `ValueError` if there is none."""
    found: list[Adjacency] = sorted({cost.adjacency for cost in costs})
    if len(found) != 1:
        raise ValueError(
            "`costs` must be one or more, all for one adjacency, got "
            f"{' and '.join(found) or 'none'}."
        )
    return found[0]


def _described(text: object, name: str) -> Fraction:
    return Fraction(0) if text == "0" else exact_epsilon(str(text), name)
