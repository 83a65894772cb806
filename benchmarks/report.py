"""What a benchmark found: ratios within one run, each beside its target."""

import dataclasses
from collections.abc import Iterable, Iterator


@dataclasses.dataclass(frozen=True)
class Row:
    """One ratio.

    Args:
        id: of the target, such as "C1"; "" where there is none.
        case: what was run, such as "n = 10^6".
        ratio: the figure.
        unit: what it is a ratio to, such as "× np.bincount".
        target: None where there is none.
        at_least: whether the ratio is to be at least the target, or at most.
        seconds: of each candidate, by name.
        curve: its name, if this is one point of how `seconds` grow.
        axis: what grows, such as "records".
        size: how many of them there were.
    """

    id: str
    case: str
    ratio: float
    unit: str
    target: float | None = None
    at_least: bool = True
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    curve: str = ""
    axis: str = ""
    size: int = 0

    @property
    def missed(self) -> bool:
        """Whether the ratio is on the wrong side of its target."""
        if self.target is None:
            return False
        better = (
            self.ratio >= self.target if self.at_least else self.ratio <= self.target
        )
        return not better


def figure(number: float) -> str:
    """Three digits, and no powers of ten up to a million."""
    return f"{number:,.0f}" if 1000 <= number < 1e6 else f"{number:.3g}"


def shown(rows: Iterable[Row]) -> Iterator[str]:
    """A line a row."""
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        target = "" if row.target is None else f"({sign} {row.target:g})"
        verdict = "  MISSED" if row.missed else ""
        ratio = f"{figure(row.ratio):>9} {target:<9}"
        yield f"{row.id:<3} {row.case:<48} {ratio} {row.unit}{verdict}"
