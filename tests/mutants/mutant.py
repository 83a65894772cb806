"""What a mutant is: one fault, where it is planted, and what must notice it."""

from collections.abc import Iterable
from dataclasses import dataclass

FAULTS = (
    "sensitivity halved",
    "ε doubled",
    "key reused",
    "noise clipped",
    "NaN let through",
    "wrong adjacency",
    "budget not charged",
    "ledger shared",
    "float noise",
    "table row shifted",
    "record read by others",
    "limit weakened",
    "weak randomness",
    "bound loosened",
    "branch left out",
    "law changed",
    "accelerator",
)


@dataclass(frozen=True)
class Mutant:
    """One edit of the package.

    Args:
        fault: one of `FAULTS`.
        what: where it is planted, in words.
        file: of the package.
        old: text that the file has exactly once.
        new: what takes its place.
        tests: for pytest, of which one must fail: the fewer the better.
        audit: arguments of `dpjax audit`, which must exit with 1.
    """

    fault: str
    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    audit: tuple[str, ...] = ()

    def planted(self, source: str) -> str:
        """The file with the fault.

        Raises:
            ValueError: if the text to be replaced is not there exactly once.
        """
        if source.count(self.old) != 1 or self.old == self.new:
            raise ValueError(
                f"`old` must be in {self.file} once, it is {source.count(self.old)} "
                f"times: {self.old!r}"
            )
        return source.replace(self.old, self.new)

    def matches(self, words: Iterable[str]) -> bool:
        """Whether one of the words is in its line of the table."""
        line = f"{self.fault} {self.what} {self.file}"
        return any(word in line for word in words)


def fault(kind: str, what: str, file: str, old: str, new: str, test: str) -> Mutant:
    """A mutant of one test."""
    return Mutant(kind, what, file, old, new, (test,))
