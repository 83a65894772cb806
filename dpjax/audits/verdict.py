"""What an audit found, in numbers and in words."""

__all__ = ["Verdict"]

import math
from dataclasses import asdict, dataclass

_ROUNDING = 1e-9  # of exact losses, which are shown as floats


@dataclass(frozen=True)
class Verdict:
    """Whether what was seen is consistent with a claim, and what was seen.

    Args:
        epsilon: the claimed loss.
        loss: found: over all outputs if `confidence` is None, to 1e-9; else a lower
            bound at that confidence, at least 0.
        event: the set of outputs that shows it, in words.
        confidence: of a lower bound: how surely the loss is at least that.
        draws: of each data set, of a lower bound.
        delta: of the claim.
        seconds: that the audit took.

    Privacy:
        An audit reads the two data sets that it is given and shows what they lead to:
        give it invented ones.
    """

    epsilon: float
    loss: float
    event: str
    confidence: float | None = None
    draws: int | None = None
    delta: float = 0.0
    seconds: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether the loss is that of all outputs, not a bound from draws."""
        return self.confidence is None

    @property
    def consistent(self) -> bool:
        """Whether the claim may be true."""
        return self.loss <= self.epsilon * (1 + (_ROUNDING if self.exact else 0))

    @property
    def reached(self) -> float:
        """The loss found over the loss claimed: far below 1, noise may be wasted."""
        return self.loss / self.epsilon

    def __str__(self) -> str:
        """One sentence."""
        claim = f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" * (self.delta > 0))
        found = "is" if self.exact else "is at least"
        how = "exact" if self.exact else f"{self.draws} draws, {self._confidence()}"
        verb = "consistent with" if self.consistent else "violates"
        return f"{verb} {claim}: the loss {found} {self.loss:.4g} ({how}: {self.event})"

    def _confidence(self) -> str:
        doubt = 1 - (self.confidence or 0.0)
        return f"confidence 1 - {doubt:.2g}"

    def to_dict(self) -> dict[str, object]:
        """Plain data, as JSON has it: an infinite loss is null."""
        facts: dict[str, object] = asdict(self)
        if math.isinf(self.loss):
            facts["loss"] = None
        return {"consistent": self.consistent, "exact": self.exact, **facts}
