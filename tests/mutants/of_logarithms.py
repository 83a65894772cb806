"""Faults of logarithms of sums, from which costs of samples are derived."""

from tests.mutants.mutant import Mutant

_HERE = "tests/test_exact_choice.py::test_logarithms_of_sums_are_within_their_bounds"


def _fault(what: str, old: str, new: str) -> Mutant:
    file, what = "noise/exact_choice.py", f"logarithms of sums: {what}"
    return Mutant("bound loosened", what, file, old, new, (_HERE,))


MUTANTS = (
    _fault(
        "without slack",
        "return lower + shift - _SLACK, upper + shift + _SLACK",
        "return lower + shift, lower + shift",
    ),
    _fault(
        "to 20 digits", "decimal.Context(prec=60).ln(", "decimal.Context(prec=20).ln("
    ),
    _fault(
        "half of the second term of the series",
        "weight = (1 << _POINT) - rest + (squared >> 1)",
        "weight = (1 << _POINT) - rest + (squared >> 2)",
    ),
    _fault(
        "small exponentials are left out",
        "        if halvings > _POINT:\n",
        "        if halvings > _POINT >> 3:\n",
    ),
    _fault(
        "digits of 7 bits",
        "weight = weight * known[power >> place & 255] >> _POINT",
        "weight = weight * known[power >> place & 127] >> _POINT",
    ),
)
