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
        remark: conditions, slack, or what does hold.

    Raises:
        ValueError: if the paper or verdict is unknown, or nothing shows a verdict.
    """

    paper: str
    label: str
    says: str
    verdict: str
    shown_by: tuple[str, ...]
    remark: str = ""

    def __post_init__(self):
        one_of((ZHANG, FOULDS), paper=self.paper)
        one_of((HOLDS, CORRECTED, VACUOUS, NOT_CHECKABLE), verdict=self.verdict)
        if not self.shown_by and self.verdict != NOT_CHECKABLE:
            raise ValueError(f"`shown_by` must show {self.label}, got nothing.")
