"""Faults of noise tables and of their certificate."""

from tests.mutants.mutant import Mutant

_TABLES = "noise/tables.py"
_IN_NOISE_TABLES = "tests/test_noise_tables.py::"

MUTANTS = (
    Mutant(
        "branch left out",
        "certificate: an overflow after an overflow",
        _TABLES,
        "    ratios.append(carry * redraw[-2] / (redraw[-1] * redraw[0]))\n",
        "",
        (_IN_NOISE_TABLES + "test_each_ratio_alone_is_certified",),
    ),
    Mutant(
        "branch left out",
        "certificate: the first overflow",
        _TABLES,
        "    ratios.append(carry * top[-1] / (overflow * redraw[0]))\n",
        "",
        (
            _IN_NOISE_TABLES
            + "test_each_ratio_alone_is_certified[an overflow too rare]",
        ),
    ),
    Mutant(
        "branch left out",
        "certificate: the redrawn digit",
        _TABLES,
        "    ratios += [carry * p / q for p, q in itertools.pairwise(redraw[:-1])]\n",
        "",
        (
            _IN_NOISE_TABLES
            + "test_a_damaged_table_does_not_certify[the redraw shifted]",
        ),
    ),
    Mutant(
        "branch left out",
        "certificate: the top digit",
        _TABLES,
        "    ratios += [carry * p / q for p, q in itertools.pairwise(top)]\n",
        "",
        (
            _IN_NOISE_TABLES
            + "test_the_certificate_covers_every_pair_of_neighbouring_integers",
        ),
    ),
    Mutant(
        "branch left out",
        "certificate: the digits below the top",
        _TABLES,
        "        ratios += [carry * p / q for p, q in itertools.pairwise(law)]\n",
        "",
        (_IN_NOISE_TABLES + "test_a_damaged_table_does_not_certify",),
    ),
    Mutant(
        "branch left out",
        "certificate: zero",
        _TABLES,
        "ratios = [zero / ((1 - zero) / 2 * math.prod(law[0] for law in digits))]",
        "ratios = []",
        (_IN_NOISE_TABLES + "test_each_ratio_alone_is_certified[zero too likely]",),
    ),
    Mutant(
        "bound loosened",
        "certificate: in one direction",
        _TABLES,
        "worst = max(max(ratio, 1 / ratio) for ratio in ratios)",
        "worst = max(ratios)",
        (_IN_NOISE_TABLES + "test_each_ratio_alone_is_certified[zero too rare]",),
    ),
    Mutant(
        "branch left out",
        "certificate: what divides by zero passes",
        _TABLES,
        "        worst, positive = None, False\n",
        "        worst, positive = Fraction(1), True\n",
        (_IN_NOISE_TABLES + "test_a_damaged_table_does_not_certify[a row shifted]",),
    ),
    Mutant(
        "bound loosened",
        "certificate: an exponential from above",
        _TABLES,
        "return _exp(x) * (1 - Fraction(1, 10**75))",
        "return _exp(x) * (1 + Fraction(1, 10**75))",
        (_IN_NOISE_TABLES + "test_the_bound_of_an_exponential_is_below_it[30]",),
    ),
    Mutant(
        "branch left out",
        "certificate: thresholds that fall",
        _TABLES,
        "worst is None or not positive or worst >",
        "worst is None or worst >",
        (_IN_NOISE_TABLES + "test_thresholds_that_fall_are_no_law",),
    ),
    Mutant(
        "law changed",
        "noise table: exponentials of doubles",
        _TABLES,
        "    return Fraction(_PRECISE.exp(_PRECISE.divide(numerator, denominator)))",
        "    return Fraction(math.exp(numerator / denominator))",
        (_IN_NOISE_TABLES + "test_every_table_certifies_and_wastes_nothing[5/2]",),
    ),
    Mutant(
        "law changed",
        "noise table: a little more than the rate",
        _TABLES,
        "places = [rho * MARGIN]",
        "places = [rho / MARGIN]",
        (_IN_NOISE_TABLES + "test_every_table_certifies_and_wastes_nothing[30]",),
    ),
    Mutant(
        "law changed",
        "noise table: digits in another base",
        _TABLES,
        "places.append(places[-1] * BASE)",
        "places.append(places[-1] * (BASE - 1))",
        (_IN_NOISE_TABLES + "test_every_table_certifies_and_wastes_nothing[1/2]",),
    ),
    Mutant(
        "law changed",
        "noise table: the tail of one value more",
        _TABLES,
        "tail = _exp(-rate * values)",
        "tail = _exp(-rate * (values + 1))",
        (_IN_NOISE_TABLES + "test_every_table_certifies_and_wastes_nothing[1/2]",),
    ),
    Mutant(
        "law changed",
        "noise table: an overflow takes from no digit",
        _TABLES,
        "within = 1 if overflow else 1 - tail",
        "within = 1 - tail",
        (_IN_NOISE_TABLES + "test_every_table_certifies_and_wastes_nothing[30]",),
    ),
    Mutant(
        "law changed",
        "noise table: no overflow",
        _TABLES,
        "return [*law, tail] if overflow else law",
        "return law",
        (_IN_NOISE_TABLES + "test_every_table_certifies_and_wastes_nothing[30]",),
    ),
    Mutant(
        "law changed",
        "noise table: thresholds of 40 bits",
        _TABLES,
        "math.floor(p * (1 << bits) + Fraction(1, 2)) for p",
        "math.floor(p * (1 << 40)) << bits - 40 for p",
        (_IN_NOISE_TABLES + "test_every_table_certifies_and_wastes_nothing[30]",),
    ),
    Mutant(
        "law changed",
        "noise table: limbs in reverse",
        _TABLES,
        "places = [32 * (LIMBS - 1 - i) for i in range(LIMBS)]",
        "places = [32 * i for i in range(LIMBS)]",
        (_IN_NOISE_TABLES + "test_every_table_certifies_and_wastes_nothing[30]",),
    ),
    Mutant(
        "law changed",
        "noise table: read without its last threshold",
        _TABLES,
        "words = np.asarray(limbs)[:largest].tolist()",
        "words = np.asarray(limbs)[: largest - 1].tolist()",
        (_IN_NOISE_TABLES + "test_every_table_certifies_and_wastes_nothing[30]",),
    ),
    Mutant(
        "law changed",
        "noise table: read as if zero took nothing",
        _TABLES,
        "digits = [[p / (1 - zero) for p in low]] + [",
        "digits = [low] + [",
        (_IN_NOISE_TABLES + "test_every_table_certifies_and_wastes_nothing[30]",),
    ),
)
