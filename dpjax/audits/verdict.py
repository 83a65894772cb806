"""The result of an audit, in numbers and in words."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from dpjax.privacy import REPLACE_ONE, Epsilon, Guarantee, budget_of, in_words

_ROUNDING = 1e-9  # of exact losses, which are stored as floats


@dataclass(frozen=True)
class Verdict:
    """The result of an audit: whether the loss found is consistent with a claim.

    Args:
        claim: the claim in words, such as "ε = 1".
        bound: the largest loss that the claim allows: ε for ε-DP, δ for (ε, δ)-DP.
        loss: the exact loss to 1e-9 if `confidence` is None; otherwise a lower bound of
            the loss at that confidence, at least 0.
        event: the set of outputs with this loss, in words.
        confidence: probability that the lower bound is true; None for an exact loss.
        draws: number of draws under each data set; None for an exact loss.
        seconds: duration of the audit.

    Privacy:
        No guarantee: audit invented data sets, since the verdict depends on them.
    """

    claim: str
    bound: float
    loss: float
    event: str
    confidence: float | None = None
    draws: int | None = None
    seconds: float = 0.0

    @classmethod
    def of(cls, claim: Guarantee, loss: float, event: str, **facts: Any) -> "Verdict":
        """Make the verdict on a claim; `facts` are the values of further fields."""
        words = in_words({x: f"{float(y):g}" for x, y in claim.numbers.items()})
        return cls(words, float(claim.bound), loss, event, **facts)

    @property
    def exact(self) -> bool:
        """Whether `loss` is the exact loss over all outputs, not a bound from draws."""
        return self.confidence is None

    @property
    def consistent(self) -> bool:
        """Whether the loss found does not contradict the claim."""
        return self.loss <= self.bound * (1 + (_ROUNDING if self.exact else 0))

    @property
    def reached(self) -> float:
        """Ratio of the loss that the audit finds to the loss that the claim allows.

        A ratio far below 1 means more noise than needed, or a weak audit.
        """
        if not self.bound:
            return math.inf if self.loss > 0 else 0.0
        return self.loss / self.bound

    def __str__(self) -> str:
        """Return the verdict in one sentence."""
        found = "is" if self.exact else "is at least"
        doubt = 1 - (self.confidence or 0.0)
        sampled = f"{self.draws} draws, confidence 1 - {doubt:.2g}"
        how = "exact" if self.exact else sampled
        verb = "consistent with" if self.consistent else "violates"
        loss = f"the loss {found} {self.loss:.4g}"
        return f"{verb} {self.claim}: {loss} ({how}: {self.event})"

    def to_dict(self) -> dict[str, object]:
        """Return the verdict as plain data for JSON; an infinite loss is null."""
        facts: dict[str, object] = asdict(self)
        if math.isinf(self.loss):
            facts["loss"] = None
        return {"consistent": self.consistent, "exact": self.exact, **facts}


def claimed(claim: Guarantee | None, epsilon: Epsilon | None) -> Guarantee:
    """Return `claim`, or a claim of ε-DP; exactly one of the two must be given."""
    if claim is not None and epsilon is None:
        return claim
    if epsilon is not None and claim is None:
        return budget_of(epsilon, REPLACE_ONE)
    raise ValueError(
        "`claim` must be a guarantee, or `epsilon` given in its place for a pure one: "
        "exactly one of both."
    )
