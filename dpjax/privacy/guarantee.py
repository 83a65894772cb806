"""Privacy guarantees of a release, in exact numbers.

A kind of guarantee is a frozen dataclass derived from `Guarantee`. `GUARANTEES` is the
registry of all kinds by name; users may add kinds.
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
"""Probabilities of all outputs, for each of the independent parts of an output."""

Probabilities = Float64[np.ndarray, "*shape"]

_GREEK = {"alpha": "α", "delta": "δ", "epsilon": "ε", "mu": "μ", "rho": "ρ"}


class Guarantee(abc.ABC):
    """A bound on how well any output distinguishes two neighbouring data sets.

    A subclass is a frozen dataclass whose fields are exact numbers, each a Fraction of
    at least 0, and last the `adjacency`. Composition adds up the numbers: this must be
    valid for the kind, even if each release is chosen after seeing the earlier ones.

    Attributes:
        kind: name of the kind in files and `GUARANTEES`.
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
        """The largest `divergence` of neighbours that the guarantee allows."""

    @abc.abstractmethod
    def divergence(self, one: Law, other: Law) -> float | Fraction:
        """The divergence of the laws of a release under two neighbours.

        Args:
            one: law under one data set.
            other: law of the same parts and outputs under the other data set.

        Returns:
            The quantity that `bound` limits, symmetric in the two laws. It is infinite
            if an output that only one law allows violates every bound.
        """

    def divergence_of_events(self, p: Probabilities, q: Probabilities) -> Probabilities:
        """A lower bound of `divergence`, from the probabilities of events.

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
        """The guarantee of this kind that `guarantee` implies, else `ValueError`."""
        same = guarantee if isinstance(guarantee, cls) else cls.implied_by(guarantee)
        if same is None:
            raise ValueError(
                f"`{name}` must be a guarantee of kind {cls.kind} or one that implies "
                f"it, got {getattr(guarantee, 'kind', type(guarantee).__name__)}."
            )
        return same

    @classmethod
    def implied_by(cls: type[Kind], other: object) -> Kind | None:
        """The guarantee of this kind that one of another kind implies, or None."""
        return None

    @property
    def numbers(self) -> dict[str, Fraction]:
        """All numbers of the guarantee, by name."""
        names = [x.name for x in fields(self) if x.name != "adjacency"]
        return {name: getattr(self, name) for name in names}

    def composed(self, *others: "Guarantee") -> "Guarantee":
        """The guarantee of this release together with others from the same table.

        Returns:
            A guarantee of the first kind that all of them are or imply.

        Raises:
            ValueError: if adjacencies differ, no kind fits all, or the sum guarantees
                nothing.
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
        """The guarantee of `times` releases of this cost, at least one."""
        whole(1, times=times)
        return replace(self, **{x: y * int(times) for x, y in self.numbers.items()})

    def nothing(self: Kind) -> Kind:
        """The cost of no release, with this kind and adjacency."""
        return replace(self, **dict.fromkeys(self.numbers, Fraction(0)))

    def remaining(self, spent: "Guarantee") -> dict[str, Fraction]:
        """Each number of this budget minus that of `spent`; negative if overspent."""
        return {x: y - spent.numbers[x] for x, y in self.numbers.items()}

    def fits(self, budget: "Guarantee") -> bool:
        """Whether this guarantee is at least as strong as `budget`."""
        if self.adjacency != budget.adjacency:
            return False
        try:
            own = type(budget).of(self)
        except ValueError:
            return False
        return min(budget.remaining(own).values()) >= 0

    def describe(self) -> dict[str, str]:
        """Kind, numbers as exact text, and adjacency, for files."""
        exact = {name: str(number) for name, number in self.numbers.items()}
        return {"kind": self.kind, **exact, "adjacency": self.adjacency}

    @classmethod
    def from_description(cls: type[Kind], described: Mapping[str, Any]) -> Kind:
        """The guarantee with exactly this description; not all numbers may be 0."""
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
"""All kinds of guarantee, by name."""


def guarantee_of(described: object) -> Guarantee:
    """The guarantee of any kind in `GUARANTEES` with this description."""
    if not isinstance(described, Mapping):
        raise ValueError("`guarantee` must be an object with a kind and its numbers.")
    return GUARANTEES[described.get("kind")].from_description(described)


def in_words(values: Mapping[str, object]) -> str:
    """Text of the numbers with their Greek letters: "ε = 1/2, δ = 1/100000"."""
    return ", ".join(f"{_GREEK.get(x, x)} = {y}" for x, y in values.items())


def one_adjacency(costs: Sequence[Guarantee]) -> Adjacency:
    """The one adjacency of all `costs`; `ValueError` if there is none or several."""
    found: list[Adjacency] = sorted({cost.adjacency for cost in costs})
    if len(found) != 1:
        raise ValueError(
            "`costs` must be one or more, all for one adjacency, got "
            f"{' and '.join(found) or 'none'}."
        )
    return found[0]


def _described(text: object, name: str) -> Fraction:
    return Fraction(0) if text == "0" else exact_epsilon(str(text), name)
