"""Faults of the K-norm law: of its coefficients, its weights and its radius."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import fault

_CHOICE = "noise/exact_choice.py"
_COUNTS = "noise/compositions.py"
_LAW = "noise/norm_law.py"
_IN = "tests/test_norm_balls.py::"
_POINTS = _IN + "test_numbers_of_points_are_those_of_an_enumeration"
_BALL = _IN + "test_each_point_of_a_ball_is_drawn_with_the_same_probability"
_PICK = _IN + "test_an_index_has_the_probability_of_its_weight"
_BELOW = _IN + "test_integers_below_a_bound_are_uniform"
_GAPS = _IN + "test_compositions_are_uniform"
_DIFFERENCES = _IN + "test_coefficients_are_differences_and_give_the_numbers_back"
_LOSS = "tests/test_k_norm.py::test_the_loss_is_epsilon_and_not_much_less"
_DRAWS = "tests/test_k_norm.py::test_draws_follow_the_law"
_ONE = "tests/test_k_norm.py::test_probabilities_have_the_sum_one"
_WORD = "tests/test_k_norm.py::test_a_word_below_the_threshold_prolongs_the_radius"
_WORDS = "tests/test_k_norm.py::test_radii_beyond_one_block_of_words_go_on"

_FAULTS = (
    (
        "integers of no random bits",
        _CHOICE,
        "width = (bound - 1).bit_length()",
        "width = 0",
        _BELOW,
    ),
    (
        "an integer may be its bound",
        _CHOICE,
        "while (drawn := bits(width) if width else 0) >= bound:",
        "while (drawn := bits(width) if width else 0) > bound:",
        _BELOW,
    ),
    (
        "an index has the probability of any other",
        _COUNTS,
        "sums = list(itertools.accumulate(weights))",
        "sums = [i + 1 for i, _ in enumerate(weights)]",
        _PICK,
    ),
    (
        "the first index has one more",
        _COUNTS,
        "if drawn < upper)",
        "if drawn <= upper)",
        _PICK,
    ),
    (
        "points without the centre",
        _COUNTS,
        "total, chosen = 0, 1",
        "total, chosen = -1, 1",
        _POINTS,
    ),
    (
        "points with fewer nonzero parts than the radius",
        _COUNTS,
        "for j, m in enumerate(newton[: radius + 1]):",
        "for j, m in enumerate(newton[: max(radius, 1)]):",
        _POINTS,
    ),
    (
        "coefficients from the second radius on",
        _COUNTS,
        "left, found = list(values), []",
        "left, found = list(values)[1:], []",
        _DIFFERENCES,
    ),
    (
        "differences of twice the values",
        _COUNTS,
        "left = [after - before for before, after in",
        "left = [after - 2 * before for before, after in",
        _DIFFERENCES,
    ),
    (
        "points in one table or another, not in all",
        _COUNTS,
        "[math.prod(points(x, radius) for x in parts) for radius in radii]",
        "[sum(points(x, radius) for x in parts) for radius in radii]",
        _POINTS,
    ),
    (
        "the last coefficient of one table alone is 1",
        _COUNTS,
        "if len(parts) == 1:\n        return parts[0]\n",
        "if len(parts) == 1:\n        return (*parts[0][:-1], 1)\n",
        _POINTS,
    ),
    (
        "a product of the first half with itself",
        _COUNTS,
        "return _times(product(parts[:half]), product(parts[half:]))",
        "return _times(product(parts[:half]), product(parts[:half]))",
        _POINTS,
    ),
    (
        "the last coefficient of one factor is 1",
        _COUNTS,
        "return parts[0] if parts else (1,)",
        "return (*parts[0][:-1], 1) if parts else (1,)",
        _POINTS,
    ),
    (
        "products of the first coefficient alone",
        _COUNTS,
        "for i, a in enumerate(one):",
        "for i, a in enumerate(one[:1]):",
        _POINTS,
    ),
    (
        "products with the first coefficient alone",
        _COUNTS,
        "for j, b in enumerate(other):",
        "for j, b in enumerate(other[:1]):",
        _POINTS,
    ),
    (
        "the last of several products is taken for their sum",
        _COUNTS,
        "result[i + j] += a * b",
        "result[i + j] = a * b",
        _POINTS,
    ),
    (
        "sums of products start at 1",
        _COUNTS,
        "result = [0] * (len(one) + len(other) - 1)",
        "result = [1] * (len(one) + len(other) - 1)",
        _POINTS,
    ),
    (
        "one nonzero part is lost where all are split",
        _COUNTS,
        "return [total] * len(parts)",
        "return [max(total - 1, 0)] * len(parts)",
        _BALL,
    ),
    (
        "compositions are drawn with repetition",
        _COUNTS,
        "drawn = 1 + below(top)",
        "drawn = 1 + below(most)",
        _GAPS,
    ),
    (
        "compositions start at 1",
        _COUNTS,
        "itertools.pairwise([0, *sorted(chosen)])",
        "itertools.pairwise([1, *sorted(chosen)])",
        _GAPS,
    ),
    (
        "orders in which no item keeps its place",
        _COUNTS,
        "j = below(i + 1)",
        "j = below(i)",
        _BALL,
    ),
    (
        "no order but the given one",
        _COUNTS,
        "order = list(items)",
        "return list(items)",
        _BALL,
    ),
    (
        "steps of radii are forgotten in the coefficients",
        _LAW,
        "return _newton(tuple(part.newton for part in self.parts), self.steps)",
        "return _newton(tuple(x.newton for x in self.parts), (1,) * len(self.steps))",
        _LOSS,
    ),
    (
        "points of a ball of the next radius",
        _LAW,
        "return _points(tuple(x.newton for x in self.parts), self.steps, radius)",
        "return _points(tuple(x.newton for x in self.parts), self.steps, radius + 1)",
        _LOSS,
    ),
    (
        "weights in the wrong order",
        _LAW,
        "zip(self.newton, powers, reversed(rest), strict=True)",
        "zip(self.newton, powers, rest, strict=True)",
        _ONE,
    ),
    (
        "weights of terms without their ratio",
        _LAW,
        "powers.append(powers[-1] * self.threshold)",
        "powers.append(powers[-1] << _BITS)",
        _ONE,
    ),
    (
        "the sum of parts' norms where the largest is meant",
        _LAW,
        "return max(Fraction(part.norm(vector), step) for part, step in pairs)",
        "return sum(Fraction(part.norm(vector), step) for part, step in pairs)",
        _LOSS,
    ),
    (
        "half a step of the radius counts for none",
        _LAW,
        "radius = math.ceil(self.norm(vector))",
        "radius = math.floor(self.norm(vector))",
        _ONE,
    ),
    (
        "a certificate of any number of points",
        _LAW,
        "right = points(self.newton, further) == self.points(further)",
        "right = True",
        "tests/test_k_norm.py::test_wrong_numbers_of_points_are_refused",
    ),
    (
        "points of a ball of half the radius",
        _LAW,
        "yield from part.draw(step * radius, below)",
        "yield from part.draw(radius, below)",
        _DRAWS,
    ),
    (
        "words of earlier blocks are forgotten",
        _LAW,
        "drawn, left = drawn + block - ends.size, left - ends.size",
        "drawn, left = drawn, left - ends.size",
        _WORDS,
    ),
    (
        "a radius begins with 1",
        _LAW,
        "drawn, left = 0, successes",
        "drawn, left = 1, successes",
        _WORD,
    ),
    (
        "words that end something prolong the radius too",
        _LAW,
        "return drawn + int(ends[left - 1]) + 1 - left",
        "return drawn + int(ends[left - 1])",
        _WORD,
    ),
    (
        "all radii are in whole steps",
        _LAW,
        "return math.prod(points(newton, step * radius) for newton, step in pairs)",
        "return math.prod(points(newton, radius) for newton, step in pairs)",
        _ONE,
    ),
    (
        "one radius too few for the coefficients",
        _LAW,
        "radii = range(sum(len(newton) - 1 for newton in parts) + 1)",
        "radii = range(sum(len(newton) - 1 for newton in parts))",
        _LOSS,
    ),
    (
        "one part alone has whole steps",
        _LAW,
        "if steps == (1,):",
        "if len(steps) == 1:",
        _ONE,
    ),
)

MUTANTS = tuple(
    fault("law changed", f"K-norm: {what}", *edit) for what, *edit in _FAULTS
)
