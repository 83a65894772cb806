"""Faults of draws with no rounding in their law: bounds, bits, rows of a grid."""

from tests.mutants.mutant import Mutant

_EXACT_CHOICE = "noise/exact_choice.py"
_SIMPLEX_GRID = "noise/simplex_grid.py"
_IN_EXACT_CHOICE = "tests/test_exact_choice.py::"

MUTANTS = (
    Mutant(
        "weak randomness",
        "exact draws: bits of a Mersenne twister",
        _EXACT_CHOICE,
        "return secrets.randbits(k)",
        'return __import__("random").Random().getrandbits(k)',
        (
            _IN_EXACT_CHOICE
            + "test_a_draw_is_a_function_of_the_systems_bits_alone[rows]",
        ),
    ),
    Mutant(
        "weak randomness",
        "exact draws: fresh bits after doubt",
        _EXACT_CHOICE,
        "(random << (wanted - drawn)) | bits(wanted - drawn), wanted",
        "bits(wanted), wanted",
        (_IN_EXACT_CHOICE + "test_after_doubt_bits_are_added_to_those_there_are[0]",),
    ),
    Mutant(
        "weak randomness",
        "exact draws: eight of the bits are zeros",
        _EXACT_CHOICE,
        "precision, random, drawn = _FIRST_PRECISION, 0, 0",
        "precision, random, drawn = _FIRST_PRECISION, 0, 8",
        (
            _IN_EXACT_CHOICE
            + "test_a_draw_is_a_function_of_the_systems_bits_alone[rows]",
        ),
    ),
    Mutant(
        "branch left out",
        "exact draws: doubt",
        _EXACT_CHOICE,
        "        if index is not None:\n            return index\n",
        "        return index or 0\n",
        (_IN_EXACT_CHOICE + "test_after_doubt_bits_are_added_to_those_there_are[0]",),
    ),
    Mutant(
        "law changed",
        "exact draws: bits are taken for a point",
        _EXACT_CHOICE,
        "below, above = random, random + 1",
        "below, above = random, random",
        (_IN_EXACT_CHOICE + "test_after_doubt_bits_are_added_to_those_there_are[0]",),
    ),
    Mutant(
        "branch left out",
        "exact draws: no weights are known",
        _EXACT_CHOICE,
        "    if lower[-1] == 0:\n        return None\n",
        "    if lower[-1] == 0:\n        return 0\n",
        (
            _IN_EXACT_CHOICE
            + "test_an_index_is_given_if_all_weights_within_their_bounds_agree",
        ),
    ),
    Mutant(
        "bound loosened",
        "exact draws: the lower edge from lower bounds",
        _EXACT_CHOICE,
        "edge, rest = upper[index - 1], lower[-1] - lower[index - 1]",
        "edge, rest = lower[index - 1], lower[-1] - lower[index - 1]",
        (
            _IN_EXACT_CHOICE
            + "test_an_index_is_given_if_all_weights_within_their_bounds_agree",
        ),
    ),
    Mutant(
        "branch left out",
        "exact draws: doubt at the lower edge",
        _EXACT_CHOICE,
        "        if below * (edge + rest) < edge << drawn:\n            return None\n",
        "",
        (
            _IN_EXACT_CHOICE
            + "test_an_index_is_given_if_all_weights_within_their_bounds_agree",
        ),
    ),
    Mutant(
        "branch left out",
        "exact draws: doubt at the upper edge",
        _EXACT_CHOICE,
        "return None if above * (edge + rest) > edge << drawn else index",
        "return index",
        (_IN_EXACT_CHOICE + "test_after_doubt_bits_are_added_to_those_there_are[0]",),
    ),
    Mutant(
        "bound loosened",
        "exact draws: upper bounds of weights without slack",
        _EXACT_CHOICE,
        "upper = [known.get(score, 0) + 2 for",
        "upper = [known.get(score, 0) for",
        (
            _IN_EXACT_CHOICE
            + "test_weights_are_within_their_bounds_even_beside_whole_numbers",
        ),
    ),
    Mutant(
        "bound loosened",
        "exact draws: half of the slack above weights",
        _EXACT_CHOICE,
        "known.get(score, 0) + 2 for score",
        "known.get(score, 0) + 1 for score",
        (
            _IN_EXACT_CHOICE
            + "test_weights_are_within_their_bounds_even_beside_whole_numbers",
        ),
    ),
    Mutant(
        "bound loosened",
        "exact draws: lower bounds of weights without slack",
        _EXACT_CHOICE,
        "lower = [max(known.get(score, 0) - 1, 0) for",
        "lower = [known.get(score, 0) for",
        (
            _IN_EXACT_CHOICE
            + "test_weights_are_within_their_bounds_even_beside_whole_numbers",
        ),
    ),
    Mutant(
        "bound loosened",
        "exact draws: weights of many units are none",
        _EXACT_CHOICE,
        "negligible = -math.ceil((precision + 1) / unit)",
        "negligible = -math.ceil(precision / 2 / unit)",
        (
            _IN_EXACT_CHOICE
            + "test_weights_of_any_size_are_within_their_bounds[unit1-96]",
        ),
    ),
    Mutant(
        "branch left out",
        "exact draws: the weight of the last score",
        _EXACT_CHOICE,
        "for score in {*scores}:",
        "for score in {*scores[:-1]}:",
        (
            _IN_EXACT_CHOICE
            + "test_weights_are_within_their_bounds_even_beside_whole_numbers",
        ),
    ),
    Mutant(
        "law changed",
        "exact draws: only half of the difference of scores",
        _EXACT_CHOICE,
        "exact = context.multiply(decimal.Decimal(score - largest), numerator)",
        "exact = context.multiply(decimal.Decimal((score - largest) // 2), numerator)",
        (
            _IN_EXACT_CHOICE
            + "test_weights_of_any_size_are_within_their_bounds[unit0-96]",
        ),
    ),
    Mutant(
        "branch left out",
        "exact draws: the base measure",
        _EXACT_CHOICE,
        "[1] * len(scores) if base is None else base",
        "[1] * len(scores)",
        (_IN_EXACT_CHOICE + "test_factors_multiply_both_bounds",),
    ),
    Mutant(
        "bound loosened",
        "exact draws: the base multiplies lower bounds alone",
        _EXACT_CHOICE,
        "Bounds(lower * factors, upper * factors)",
        "Bounds(lower * factors, upper)",
        (_IN_EXACT_CHOICE + "test_factors_multiply_both_bounds",),
    ),
    Mutant(
        "bound loosened",
        "exact draws: lower bounds are taken for upper ones",
        _EXACT_CHOICE,
        "        return kept[precision]\n",
        "        return Bounds(kept[precision].lower, kept[precision].lower)\n",
        (_IN_EXACT_CHOICE + "test_factors_multiply_both_bounds",),
    ),
    Mutant(
        "key reused",
        "exact draws: many are one",
        _EXACT_CHOICE,
        "return [choose(bounds_at, bits) for _ in range(draws)]",
        "return [choose(bounds_at, bits)] * draws",
        (_IN_EXACT_CHOICE + "test_every_draw_has_bits_of_its_own",),
    ),
    Mutant(
        "sensitivity halved",
        "rows of a grid: their largest entry",
        _SIMPLEX_GRID,
        "return self.units - (self.levels - 1) * self.least",
        "return self.units - self.levels * self.least",
        (_IN_EXACT_CHOICE + "test_the_range_of_a_grid_is_that_of_its_rows[2-9-2]",),
    ),
    Mutant(
        "sensitivity halved",
        "rows of a grid: the range of logarithms",
        _SIMPLEX_GRID,
        "Fraction(table[self.most] - table[self.least], 1 << LOG_BITS)",
        "Fraction(table[self.most] - table[self.least], 2 << LOG_BITS)",
        (_IN_EXACT_CHOICE + "test_the_range_of_a_grid_is_that_of_its_rows[2-9-2]",),
    ),
    Mutant(
        "law changed",
        "rows of a grid: a unit is lost",
        _SIMPLEX_GRID,
        "row, left = [], self.grid.units",
        "row, left = [], self.grid.units - 1",
        (_IN_EXACT_CHOICE + "test_a_row_is_drawn_entry_by_entry_and_sums_to_one[2]",),
    ),
    Mutant(
        "law changed",
        "rows of a grid: what is left is given out in reverse",
        _SIMPLEX_GRID,
        "here.lower[: spare + 1] * rest.lower[spare::-1]",
        "here.lower[: spare + 1] * rest.lower[: spare + 1]",
        (
            _IN_EXACT_CHOICE
            + "test_a_draw_is_a_function_of_the_systems_bits_alone[rows]",
        ),
    ),
    Mutant(
        "law changed",
        "rows of a grid: the last level's weights twice",
        _SIMPLEX_GRID,
        "for here in weights[-2:0:-1]:",
        "for here in weights[-1:1:-1]:",
        (
            _IN_EXACT_CHOICE
            + "test_the_bounds_of_every_entry_hold_its_conditional_law[3]",
        ),
    ),
    Mutant(
        "law changed",
        "rows of a grid: the last level is the first",
        _SIMPLEX_GRID,
        "sums = [weights[-1]]",
        "sums = [weights[0]]",
        (
            _IN_EXACT_CHOICE
            + "test_the_bounds_of_every_entry_hold_its_conditional_law[2]",
        ),
    ),
    Mutant(
        "bound loosened",
        "rows of a grid: sums of bounds rounded down",
        _SIMPLEX_GRID,
        "return Bounds(down, (upper >> precision) + 1)",
        "return Bounds(down, upper >> precision)",
        (_IN_EXACT_CHOICE + "test_sums_of_bounds_are_rounded_outwards",),
    ),
    Mutant(
        "bound loosened",
        "rows of a grid: sums of bounds rounded up",
        _SIMPLEX_GRID,
        "down = (lower >> precision).astype(object)",
        "down = ((lower >> precision) + 1).astype(object)",
        (_IN_EXACT_CHOICE + "test_sums_of_bounds_are_rounded_outwards",),
    ),
    Mutant(
        "law changed",
        "rows of a grid: sums run over",
        _SIMPLEX_GRID,
        "width = largest.bit_length() // 8 + 1",
        "width = largest.bit_length() // 8 or 1",
        (_IN_EXACT_CHOICE + "test_products_of_polynomials_do_not_run_over[15-2]",),
    ),
)
