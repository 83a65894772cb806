"""What is published, and how it is protected, in sentences for all readers."""

import decimal
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from dpjax.mechanisms import Mechanism
from dpjax.privacy import REPLACE_ONE, ZCDP, Guarantee
from dpjax.releases.released import Released
from dpjax.statistics import FamilyStatistic, TableStatistic

CHANCES = (0.01, 0.1, 0.5, 0.9)
"""An attacker's chances before a release, for which reports show those after it."""

_LARGEST = 20  # ε for which e^ε is written out
_ALWAYS = (
    "This holds for every method of attack, and for all further computations from the "
    "release."
)
_DELTA = "1e-9"  # at which an ε is stated that follows from ρ
_SAMPLED = (
    "The numbers are of a secret random sample of the rows, with a share of {}; the "
    "privacy loss is that of a row of the whole table."
)
_LEARNED = (
    " The edges were chosen at random, with probabilities that depend on the rows, "
    "from an earlier release that is in the same file; the privacy loss is that of "
    "all steps together."
)
_SHORT = decimal.Context(prec=4, rounding=decimal.ROUND_CEILING)
_MECHANISMS = {
    "discrete-laplace": "Whole numbers with a discrete Laplace distribution are added "
    "to all counts and totals.",
    "split-discrete-laplace": "Whole numbers with discrete Laplace distributions are "
    "added to all counts and totals, and each table has its own part of the budget.",
    **dict.fromkeys(
        ("discrete-gaussian", "wide-gaussian"),
        "Whole numbers with a discrete Gaussian distribution are added to all counts "
        "and totals.",
    ),
    "k-norm": "Random whole numbers are added to the counts of all tables together. "
    "Larger ones are less probable, as far as it takes to hide one record (K-norm "
    "noise).",
    "family-k-norm": "Random whole numbers are added to all totals together. Larger "
    "ones are less probable, as far as it takes to hide one record (K-norm noise).",
    "posterior-on-grid": "Parameters are drawn at random from a posterior distribution "
    "that is flattened and limited so that one record has little influence.",
    "family-posterior-on-grid": "Parameters are drawn at random from a posterior "
    "distribution that is flattened and limited so that one record has little "
    "influence.",
    "cell-mass": "Parameters are drawn at random, with a probability that grows with "
    "their posterior probability.",
}


def mechanism_in_words(mechanism: Mechanism) -> str:
    """Return a sentence about a mechanism; its kind, if that is of another package."""
    kind = getattr(mechanism, "kind", type(mechanism).__name__)
    return _MECHANISMS.get(kind, f"The mechanism is {kind}.")


def what_in_words(released: Released) -> str:
    """Return sentences about the statistic that is released."""
    sampled = released.sampled
    if sampled is None:
        return _measured_in_words(released)
    return f"{_measured_in_words(released)} {_SAMPLED.format(sampled.rate)}"


def _measured_in_words(released: Released) -> str:
    statistic = released.statistic
    names = [variable.name for variable in statistic.variables]
    listed = _joined(names)
    if isinstance(statistic, FamilyStatistic):
        family = statistic.family.name
        return f"Totals for the model {family} of {listed}, with random noise."
    if released.network is not None:
        edges = sum(map(len, released.network.parents))
        chosen = "" if released.learned is None else _LEARNED
        return (
            f"Tables of a Bayesian network with {len(names)} variables and {edges} "
            f"edges ({listed}), with random noise.{chosen}"
        )
    if isinstance(statistic, TableStatistic):
        number = len(statistic.layout.groups)
        tables = f"{number} tables" if number > 1 else "One table"
        return f"{tables} of {listed}, without a network, with random noise."
    return f"Statistics ({statistic.kind}) of {listed}, with random noise."


def promises(guarantee: Guarantee) -> list[str]:
    """Return sentences about who is protected by a guarantee, and how well."""
    unit = guarantee.unit
    if guarantee.adjacency == REPLACE_ONE:
        protects = (
            f"The release limits what anybody can learn about the content of {unit}. "
            "The number of rows is public."
        )
        compared = f"one possible content of {unit} against another"
    else:
        protects = (
            f"The release limits what anybody can learn about whether {unit} was in "
            "the table. The number of rows is protected too."
        )
        compared = f"the presence of {unit} in the table against its absence"
    losses = [*_odds(guarantee, compared), *_concentrated(guarantee, compared)]
    further = (
        "Further releases from the same rows add to the privacy loss: their losses are "
        "summed up in a ledger."
    )
    return [protects, *losses, further]


def implied_by(guarantee: Guarantee) -> dict[str, str]:
    """Return an ε, as a decimal rounded up, with its δ that follow from ρ, if it has ρ.

    The result is empty for other kinds of guarantees.
    """
    if guarantee.kind != ZCDP.kind:
        return {}
    exact = ZCDP.of(guarantee).approximate(_DELTA).epsilon
    short = _SHORT.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return {"epsilon": f"{short.normalize():f}", "delta": _DELTA}


def _odds(guarantee: Guarantee, compared: str) -> list[str]:
    """Return what a privacy loss ε means."""
    numbers = guarantee.numbers
    if "epsilon" not in numbers:
        return []
    epsilon, delta = numbers["epsilon"], numbers.get("delta", 0)
    if delta:
        return [
            f"The privacy loss is ε = {epsilon}, with δ = {delta}. Compare {compared}: "
            f"{_conclusions(epsilon)}"
        ]
    return [
        f"The privacy loss is ε = {epsilon}. Whatever somebody knows already, the "
        f"release changes the odds that they give to {compared} by a factor of at "
        f"most e^ε{_power(epsilon)}. {_ALWAYS}"
    ]


def _concentrated(guarantee: Guarantee, compared: str) -> list[str]:
    """Return what a privacy loss ρ means, and which ε and δ follow from it."""
    implied = implied_by(guarantee)
    if not implied:
        return []
    epsilon, delta = implied["epsilon"], implied["delta"]
    return [
        f"The privacy loss is ρ = {guarantee.numbers['rho']}, in zero-concentrated "
        "differential privacy. How much the release changes the odds that somebody "
        f"gives to {compared} depends on chance: the smaller ρ is, the less likely is "
        f"a large change. From ρ follow ε = {epsilon} and δ = {delta}: "
        f"{_conclusions(Fraction(epsilon))}"
    ]


def _conclusions(epsilon: Fraction) -> str:
    """Return what ε and δ say of everything that can be concluded from a release."""
    return (
        "whatever somebody concludes from the release, the probability of this "
        f"conclusion in one of the two cases is at most e^ε{_power(epsilon)} times its "
        f"probability in the other case, plus δ. {_ALWAYS}"
    )


def most_after(chance: float, epsilon: Fraction) -> float:
    r"""Return $p e^\epsilon / (1 - p + p e^\epsilon)$, the largest chance after p."""
    return chance / (chance + (1 - chance) * math.exp(-epsilon))


def _power(epsilon: Fraction) -> str:
    """Return " = " and e^ε with three digits, rounded up; nothing if that is huge."""
    if epsilon > _LARGEST:
        return ""
    number = math.exp(epsilon)
    step = 10.0 ** (math.floor(math.log10(number)) - 2)
    above = math.ceil(number / step) * step
    return f" = {above:,.0f}" if above >= 100 else f" = {above:.3g}"


def few_names(names: Sequence[str]) -> str:
    """Return at most three names, or two and the number of the others."""
    if len(names) > 3:
        return _joined([*names[:2], f"{len(names) - 2} more variables"])
    return _joined(names)


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
