"""One line of the register of statements."""

__all__ = [
    "CORRECTED",
    "FOULDS",
    "HOLDS",
    "NOT_CHECKABLE",
    "VACUOUS",
    "ZHANG",
    "Statement",
]

from dataclasses import dataclass

from dpjax._checks import one_of

HOLDS, CORRECTED = "holds", "corrected"
VACUOUS, NOT_CHECKABLE = "vacuous", "not checkable"
ZHANG, FOULDS = "Zhang et al.", "Foulds et al."


@dataclass(frozen=True)
class Statement:
    """What a paper states, and what became of it.

    Args:
        paper: "Zhang et al." or "Foulds et al.".
        label: its number or section.
        says: what it states, in words.
        verdict: "holds"; "corrected": not as printed, and what holds is known;
            "vacuous": true, and says nothing; or "not checkable".
        shown_by: reproductions that show it; none only if it is not checkable.
        remark: slack, or what does hold.
        assumes: under which conditions the paper states it, in its terms. A verdict is
            about them.

    Raises:
        ValueError: if the paper or verdict is unknown, nothing shows a verdict, or
            what is corrected does not say what it assumes ("no condition", if nothing).
    """

    paper: str
    label: str
    says: str
    verdict: str
    shown_by: tuple[str, ...]
    remark: str = ""
    assumes: str = ""

    def __post_init__(self):
        one_of((ZHANG, FOULDS), paper=self.paper)
        one_of((HOLDS, CORRECTED, VACUOUS, NOT_CHECKABLE), verdict=self.verdict)
        if not self.shown_by and self.verdict != NOT_CHECKABLE:
            raise ValueError(f"`shown_by` must show {self.label}, got nothing.")
        if not self.assumes and self.verdict == CORRECTED:
            raise ValueError(f"`assumes` must say what {self.label} assumes.")
