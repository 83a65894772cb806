"""What a reproduction is: numbers, pictures, a paragraph, and claims under test."""

__all__ = ["Claim", "Draw", "Reproduced", "Reproduction", "Setting", "Table"]

import math
import pathlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import jax.random as jr
import numpy as np

from dpjax._checks import one_of
from dpjax._types import Key
from dpjax.noise.keys import study_key

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
NOT_CHECKABLE = "not checkable here"
DECISIVE = 3  # standard errors
_ROUNDING = 1e-12

Table = Mapping[str, Sequence]  # columns by name
Draw = Callable[[pathlib.Path], object]  # writes a PNG or SVG


@dataclass(frozen=True)
class Claim:
    """A statement in words, and by how much the numbers speak for it.

    Args:
        words: what is claimed.
        standard_errors: by how many it holds; negative if the numbers speak against it,
            ± infinity where there is no chance in them.
        by: who claims it: "paper" or "dpjax".
        expected: "holds", or "fails" for what is known not to hold; "undecided" where
            nothing is known, and any verdict will do; "not checkable here" for what is
            said of data that are not here: that is then the verdict too, and
            `standard_errors` are those of other data.

    Raises:
        ValueError: if it is not a number, or nobody's.
    """

    words: str
    standard_errors: int | float
    by: str = "paper"
    expected: str = HOLDS

    def __post_init__(self):
        one_of(("paper", "dpjax"), by=self.by)
        one_of((HOLDS, FAILS, UNDECIDED, NOT_CHECKABLE), expected=self.expected)
        if math.isnan(self.standard_errors):
            raise ValueError(f"`standard_errors` must be a number: {self.words}")

    @classmethod
    def certain(cls, words: str, holds: bool, **facts: str) -> "Claim":
        """A claim about numbers without chance, such as an enumeration's."""
        return cls(words, math.inf if holds else -math.inf, **facts)

    @classmethod
    def positive(
        cls, words: str, estimates: object, errors: object = 0.0, **facts: str
    ) -> "Claim":
        """The claim that quantities are all above 0: as sure as the least sure of them.

        Args:
            words: what is claimed.
            estimates: of the quantities, such as differences.
            errors: their standard errors; 0: exact.
            facts: `by` and `expected`.
        """
        numbers = np.atleast_1d(np.asarray(estimates, float))
        spread = np.broadcast_to(np.asarray(errors, float), numbers.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            surety = np.where(spread > 0, numbers / spread, np.sign(numbers) * np.inf)
        surety = np.where(numbers == 0, 0.0, surety)  # where 0 · inf is not a number
        return cls(words, float(surety.min()), **facts)

    @classmethod
    def mean_positive(cls, words: str, differences: object, **facts: str) -> "Claim":
        """`positive`, of means over repeats.

        Args:
            words: what is claimed.
            differences: one a repeat, along the last axis.
            facts: `by` and `expected`.
        """
        repeats = np.asarray(differences, float)
        means, spread = repeats.mean(axis=-1), repeats.std(axis=-1, ddof=1)
        error = spread / math.sqrt(repeats.shape[-1])
        alike = spread <= _ROUNDING * np.abs(means)  # no chance, but for rounding
        return cls.positive(words, means, np.where(alike, 0, error), **facts)

    @property
    def verdict(self) -> str:
        """Holds or fails, if by at least three standard errors; else undecided."""
        if self.expected == NOT_CHECKABLE:
            return NOT_CHECKABLE
        if abs(self.standard_errors) < DECISIVE:
            return UNDECIDED
        return HOLDS if self.standard_errors > 0 else FAILS

    @property
    def as_expected(self) -> bool:
        """Whether what was found is what is known, if anything is."""
        return self.expected in (self.verdict, UNDECIDED)


@dataclass(frozen=True)
class Reproduced:
    """What one run made.

    Args:
        paragraph: what the numbers show, in words that hold them.
        tables: columns by name, by the table's name ("" for the only one).
        figures: how each is drawn, by name ("" for the only one).
        claims: put to the test on these numbers.
    """

    paragraph: str
    tables: Mapping[str, Table]
    figures: Mapping[str, Draw]
    claims: Sequence[Claim] = ()


@dataclass(frozen=True)
class Setting:
    """How a reproduction is to run.

    Args:
        seed: of everything random in it.
        name: its own, so that one seed serves many.
        quick: whether with fewer repeats, in seconds.
        data: a table of the user's, if it takes one; None: it makes its own.
        schema: the public facts about `data`.
    """

    seed: int
    name: str = ""
    quick: bool = False
    data: pathlib.Path | None = None
    schema: pathlib.Path | None = None

    @property
    def key(self) -> Key:
        """To be used once: the same each time."""
        return jr.fold_in(study_key(self.seed), zlib.crc32(self.name.encode()))

    def rng(self) -> np.random.Generator:
        """For what is done in NumPy."""
        return np.random.default_rng(np.asarray(jr.key_data(self.key)))


@dataclass(frozen=True)
class Reproduction:
    """Something that is printed in one of the papers, and how to make it again.

    Args:
        name: on the command line.
        title: one line.
        source: paper and number.
        run: makes it.
        data: what the user's own table must be; "": it takes none.
    """

    name: str
    title: str
    source: str
    run: Callable[[Setting], Reproduced]
    data: str = ""
