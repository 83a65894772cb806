"""Faults of the sums and products that sensitivities of Fourier coefficients are of."""

from tests.mutants.mutant import Mutant

_HERE = "tests/test_fourier_sensitivity.py::"
_ORDER = _HERE + "test_of_an_order_all_states_are_tried"
_ELIMINATED = _HERE + "test_elimination_finds_the_maximum"


def _fault(what: str, old: str, new: str, test: str) -> Mutant:
    file, what = "statistics/fourier_sensitivity.py", f"Fourier: {what}"
    return Mutant("sensitivity halved", what, file, old, new, (test,))


MUTANTS = (
    _fault(
        "of an order, variables of the first size alone",
        "    for size, number in kinds:\n        own",
        "    for size, number in kinds[:1]:\n        own",
        _ORDER + "[(2, 3)]",
    ),
    _fault(
        "of an order, all variables are taken for binary",
        "binary = own if size == 2 else binary",
        "binary = own",
        _ORDER + "[(5,)]",
    ),
    _fault(
        "a neighbour loses factors that are not spent",
        "            for old, (group, _) in spent.items():\n"
        "                if i in group:\n"
        "                    del holding[i][old]\n",
        "            holding[i].clear()\n",
        _ELIMINATED,
    ),
    _fault(
        "a sum of factors starts below zero",
        "total = np.zeros([sizes[i] for i in scope])",
        "total = np.zeros([sizes[i] for i in scope]) - 1",
        _ELIMINATED,
    ),
    _fault(
        "a sum without its first factor",
        "    for group, table in factors:\n        total",
        "    for group, table in [*factors][1:]:\n        total",
        _ELIMINATED,
    ),
    _fault(
        "of several variables in a state one is chosen",
        "[math.comb(k, j) * p**j for j in range(order + 1)]",
        "[(j <= k) * p**j for j in range(order + 1)]",
        _ORDER + "[(2, 2, 3)]",
    ),
    _fault(
        "of an order, a start of 1 for every degree",
        "np.eye(1, order + 1, dtype=np.int64)",
        "np.ones((1, order + 1), np.int64)",
        _ORDER + "[(2, 3)]",
    ),
    _fault(
        "a product of polynomials starts below zero",
        "product = np.zeros(np.broadcast_shapes(left.shape, right.shape), np.int64)",
        "product = -np.ones(np.broadcast_shapes(left.shape, right.shape), np.int64)",
        _ORDER + "[(2, 3)]",
    ),
    _fault(
        "a product of polynomials without its largest degree",
        "    for degree in range(left.shape[-1]):",
        "    for degree in range(left.shape[-1] - 1):",
        _ORDER + "[(2, 3)]",
    ),
)
