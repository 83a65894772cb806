"""Audits of every mechanism of the library, each on its worst neighbours."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from zlib import crc32

import jax.random as jr

from dpjax._checks import typed_key, whole
from dpjax._types import Key
from dpjax.audits.chain_cases import CHAIN_CASES
from dpjax.audits.exact import audit_exactly
from dpjax.audits.monte_carlo import LEAST_DRAWS, audit
from dpjax.audits.noisy_cases import NOISY_CASES, SIMULATED
from dpjax.audits.release_cases import RELEASE_CASES
from dpjax.audits.sample_cases import SAMPLE_CASES
from dpjax.audits.subjects import Case, Subject
from dpjax.audits.verdict import Verdict
from dpjax.privacy import Adjacency, Epsilon, Guarantee, budget_of, exact_epsilon

CASES = (*NOISY_CASES, *SAMPLE_CASES, *RELEASE_CASES, *CHAIN_CASES, SIMULATED)


@dataclass(frozen=True)
class Audited:
    """The result of one audit of a mechanism in `audit_suite`.

    Args:
        mechanism: name of the mechanism.
        adjacency: "replace-one" or "add-remove".
        grade: "exact" if releases can be published, "real" for a guarantee in real
            arithmetic, or "simulation" for a mechanism that violates its claim.
        method: "law" for an enumeration of all outputs, or "draws".
        verdict: whether the loss found is consistent with the claim.
    """

    mechanism: str
    adjacency: Adjacency
    grade: str
    method: str
    verdict: Verdict

    @property
    def expected(self) -> bool:
        """Whether the result is as expected: only a simulation violates its claim."""
        return self.verdict.consistent != (self.grade == "simulation")

    def to_dict(self) -> dict[str, object]:
        """Return the result as plain data for JSON."""
        facts = {key: x for key, x in vars(self).items() if key != "verdict"}
        return facts | self.verdict.to_dict() | {"expected": self.expected}


def case_names() -> list[str]:
    """Return the names of all mechanisms that `audit_suite` can audit."""
    return list(dict.fromkeys(case.name for case in CASES))


def audit_suite(
    key: Key,
    names: Sequence[str] | None = None,
    *,
    epsilon: Epsilon = 1,
    draws: int = 100_000,
    progress: Callable[[list], Iterable] = iter,
) -> Iterator[Audited]:
    """Audit the library's mechanisms, each on its worst pair of neighbours.

    Args:
        key: typed JAX key.
        names: names of mechanisms, from `case_names`. None: all mechanisms.
        epsilon: the privacy budget of each mechanism.
        draws: number of draws under each data set; slow mechanisms use fewer.
        progress: function that wraps the list of cases, such as `tqdm`.

    Yields:
        One or two results for each mechanism and adjacency, as soon as they are known.

    Privacy:
        No records are used: all data are invented.

    Raises:
        ValueError: if an argument is out of range, or a name is unknown.
    """
    typed_key(key=key)
    whole(LEAST_DRAWS, draws=draws)
    budget = exact_epsilon(epsilon)
    for name in names or ():
        if name not in case_names():
            raise ValueError(
                f"`mechanism` must be one of {', '.join(case_names())}, got {name!r}."
            )
    chosen = [case for case in CASES if names is None or case.name in names]
    return _audited(key, chosen, budget, draws, progress)


def _audited(
    key: Key,
    cases: list[Case],
    epsilon: Fraction,
    draws: int,
    progress: Callable[[list], Iterable],
) -> Iterator[Audited]:
    for case in progress(cases):
        subject = case.make(epsilon, case.adjacency)
        # Each case has a key of its own, which does not depend on the other cases.
        own = jr.fold_in(key, crc32(f"{case.name} {case.adjacency}".encode()))
        rows = subject.claim.contributions
        budget = budget_of(epsilon, case.adjacency, contributions=rows)
        asked = type(subject.claim).of(budget)
        for method, verdict in _verdicts(own, subject, asked, draws):
            yield Audited(case.name, case.adjacency, case.grade, method, verdict)


def _verdicts(
    key: Key, subject: Subject, asked: Guarantee, draws: int
) -> Iterator[tuple[str, Verdict]]:
    # A claim that exceeds the budget is a fault: then the budget is audited.
    claim = subject.claim if subject.claim.fits(asked) else asked
    if subject.law is not None:
        yield "law", audit_exactly(subject.law, subject.pairs, claim=claim)
    if subject.release is not None:
        verdict = audit(
            key,
            subject.release,
            subject.data,
            subject.neighbour,
            claim=claim,
            draws=min(draws, subject.most or draws),
            log_prob=subject.log_prob,
            scores=subject.scores,
            batched=subject.batched,
        )
        yield "draws", verdict
