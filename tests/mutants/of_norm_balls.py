"""Faults of integer points in balls: of their numbers, norms and uniform draws."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import fault

_IN = "tests/test_norm_balls.py::"
_POINTS = _IN + "test_numbers_of_points_are_those_of_an_enumeration"
_NORMS = _IN + "test_the_norm_is_that_of_its_definition"
_BALL = _IN + "test_each_point_of_a_ball_is_drawn_with_the_same_probability"
_SPHERE = _IN + "test_each_point_of_a_sphere_is_drawn_with_the_same_probability"


_FAULTS = (
    (
        "a simplex has fewer points than it has",
        "choose(k, j) * choose(k + j, j) for j",
        "choose(k, j) ** 2 for j",
        _POINTS,
    ),
    (
        "a simplex forgets its first number",
        "values = [vector[i] for i in self.places]\n        return max(",
        "values = [vector[i] for i in self.places[1:]]\n        return max(",
        _NORMS,
    ),
    (
        "the norm of a simplex has no positive parts",
        "sum(v for v in values if v > 0)",
        "sum(v for v in values if v > 9)",
        _NORMS,
    ),
    (
        "numbers of points of a simplex by positive parts",
        "choose(radius + k - j, k - j)",
        "choose(radius + k - j, k)",
        _BALL,
    ),
    (
        "what is not positive in a simplex is below 0",
        "yield from ((i, 1 - g) for i, g",
        "yield from ((i, -g) for i, g",
        _BALL,
    ),
    (
        "numbers of nonzero parts without their weights",
        "(m * math.comb(radius, j) for j, m in enumerate(self.newton)), below)",
        "(math.comb(radius, j) for j, m in enumerate(self.newton)), below)",
        _BALL,
    ),
    (
        "a sphere has points within",
        "return self.place([*gaps, radius - sum(gaps)], below)",
        "return self.place([*gaps, 1], below)",
        _SPHERE,
    ),
    (
        "a sphere of radius 1 is its centre",
        "if radius == 0:\n            return ()",
        "if radius <= 1:\n            return ()",
        _SPHERE,
    ),
    (
        "cells have one sign in common",
        "return tuple(math.comb(k, j) << j for j in range(k + 1))",
        "return tuple(math.comb(k, j) << min(j, 1) for j in range(k + 1))",
        _POINTS,
    ),
    (
        "the largest cell where the sum is meant",
        "return sum(abs(vector[i]) for i in self.places)",
        "return max(abs(vector[i]) for i in self.places)",
        _NORMS,
    ),
    (
        "nonzero cells are the first ones",
        "order = compositions.shuffled(self.places, below)\n        signed",
        "order = self.places\n        signed",
        _BALL,
    ),
    (
        "no cell is below 0",
        "signed = [part if below(2) else -part for part in parts]",
        "signed = [part if below(2) else part for part in parts]",
        _BALL,
    ),
    (
        "the last coefficient of a row is 1",
        "return compositions.product(tuple(_of_row(len(row) + 1) for row in",
        "return compositions.product(tuple((*_of_row(len(row) + 1)[:-1], 1) for row in",
        _POINTS,
    ),
    (
        "the largest row where the sum is meant",
        "return sum(_distance([vector[i] for i in row]) for row in self.places)",
        "return max(_distance([vector[i] for i in row]) for row in self.places)",
        _NORMS,
    ),
    (
        "all parts of rows are 1",
        "left = iter(parts)\n        each",
        "left = iter([1] * len(parts))\n        each",
        _BALL,
    ),
    (
        "parts are placed in other rows",
        "self.places, compositions.split(each, len(parts), below), strict=True",
        "self.places, compositions.split(each, len(parts), below)[::-1], strict=True",
        _BALL,
    ),
    (
        "a single part is not placed",
        "            if j:\n",
        "            if j > 1:\n",
        _BALL,
    ),
    (
        "distances from another cell than the median",
        "half = len(cells) // 2\n",
        "half = (len(cells) - 1) // 2\n",
        _NORMS,
    ),
    (
        "no cell is below the median",
        "negative = pick(_by_negative(size, len(parts)), below)",
        "negative = 0",
        _BALL,
    ),
    (
        "values below the last cell are left out",
        "yield from ((i, value) for i, value in values if value)",
        "yield from ((i, value) for i, value in values if value > 0)",
        _BALL,
    ),
    (
        "half of the cells may be below the median",
        "above, beneath = size // 2, (size - 1) // 2",
        "above, beneath = size // 2, size // 2",
        _POINTS,
    ),
    (
        "any number of cells above the median",
        "(b <= beneath and nonzero - b <= above for b",
        "(b <= beneath for b",
        _POINTS,
    ),
    (
        "all classes are like the first",
        "return compositions.product(self._each)",
        "return compositions.product(self._each[:1] * len(self._each))",
        _POINTS,
    ),
    (
        "points of the sum of norms where the largest is meant",
        "compositions.largest(tuple(x.newton for x in one)) for one",
        "compositions.product(tuple(x.newton for x in one)) for one",
        _POINTS,
    ),
    (
        "the largest norm of a class is its number of parts",
        "radius = sum(itertools.islice(left, j))",
        "radius = j",
        _SPHERE,
    ),
    (
        "any table may be the first to reach the largest norm",
        "math.prod(inner[:i]) * (outer[i] - inner[i]) * math.prod(outer[i + 1 :])",
        "math.prod(inner[:i]) * outer[i] * math.prod(outer[i + 1 :])",
        _BALL,
    ),
    (
        "classes of radius 1 have no points but 0",
        "if radius == 0:\n        return\n",
        "if radius <= 1:\n        return\n",
        _BALL,
    ),
    (
        "tables after the one with the largest norm are 0",
        "for i, table in enumerate(tables):\n        if i == first:",
        "for i, table in enumerate(tables[: first + 1]):\n        if i == first:",
        _BALL,
    ),
    (
        "the table of the largest norm may have a smaller one",
        "yield from table.draw_at(radius, below)",
        "yield from table.draw(radius, below)",
        _BALL,
    ),
)

MUTANTS = tuple(
    fault("law changed", f"K-norm: {what}", "noise/norm_balls.py", *edit)
    for what, *edit in _FAULTS
)
