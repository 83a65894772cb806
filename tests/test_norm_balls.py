"""Integer points of balls: their numbers, and uniform draws, by full enumeration."""

import itertools
from fractions import Fraction

import pytest

from dpjax.noise.compositions import below_from, differences, gaps, pick, points
from dpjax.noise.norm_balls import Cells, Classes, Rows, Simplex
from tests.helpers.cases import mostly_thorough


def spread(differences):
    """Twice the norm of a row of counts that are known up to their total."""
    cells = [*differences, 0]
    return min(sum(abs(cell - c) for cell in cells) for c in cells)


def of_rows(*rows):
    return lambda z: sum(spread([z[i] for i in row]) for row in rows)


BALLS = {
    "simplex of 1": (Simplex((0,)), lambda z: abs(z[0])),
    "simplex of 3": (
        Simplex((0, 1, 2)),
        lambda z: max(sum(max(v, 0) for v in z), sum(max(-v, 0) for v in z)),
    ),
    "cells": (Cells((0, 1)), lambda z: sum(map(abs, z))),
    "row of 2": (Rows(((0,),)), of_rows((0,))),
    "row of 3": (Rows(((0, 1),)), of_rows((0, 1))),
    "row of 4": (Rows(((0, 1, 2),)), of_rows((0, 1, 2))),
    "two rows": (Rows(((0, 1), (2,))), of_rows((0, 1), (2,))),
    "two tables in a class": (
        Classes(((Rows(((0,),)), Rows(((1,),))),)),
        lambda z: max(spread(z[:1]), spread(z[1:])),
    ),
    "a table with two rows in a class": (
        Classes(((Rows(((0,),)), Rows(((1,), (2,)))),)),
        lambda z: max(of_rows((0,))(z), of_rows((1,), (2,))(z)),
    ),
    "two classes": (
        Classes(((Rows(((0,),)), Rows(((1,),))), (Rows(((2,),)),))),
        lambda z: max(spread(z[:1]), spread(z[1:2])) + spread(z[2:]),
    ),
}

SMALL = ["two tables in a class", *(name for name in BALLS if "class" not in name)]


def inside(ball, norm, radius):
    reach = range(-radius, radius + 1)
    return [
        z for z in itertools.product(reach, repeat=ball.dimension) if norm(z) <= radius
    ]


def outcomes(draw):
    """Yield each outcome of a function of `below`, with its exact probability."""
    todo = [()]
    while todo:
        script, bounds = todo.pop(), []

        def below(bound, script=script, bounds=bounds):
            bounds.append(bound)
            return script[len(bounds) - 1] if len(bounds) <= len(script) else 0

        result = draw(below)
        for depth in range(len(script), len(bounds)):
            head = (*script, *[0] * (depth - len(script)))
            todo += [(*head, x) for x in range(1, bounds[depth])]
        chance = Fraction(1)
        for bound in bounds:
            chance /= bound
        yield result, chance


def law(draw, dimension):
    """The probability of each point, by all outcomes of all choices."""
    found = {}
    for placed, chance in outcomes(lambda below: tuple(draw(below))):
        z = [0] * dimension
        for place, value in placed:
            z[place] = value
        found[tuple(z)] = found.get(tuple(z), 0) + chance
    return found


@pytest.mark.parametrize("name", BALLS)
def test_numbers_of_points_are_those_of_an_enumeration(name):
    ball, norm = BALLS[name]
    for radius in range(4):
        assert points(ball.newton, radius) == len(inside(ball, norm, radius))


@pytest.mark.parametrize("name", BALLS)
def test_the_norm_is_that_of_its_definition(name):
    ball, norm = BALLS[name]
    for z in itertools.product(range(-2, 3), repeat=ball.dimension):
        assert ball.norm(z) == norm(z)


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_thorough(BALLS, len(BALLS) - 2))
def test_each_point_of_a_ball_is_drawn_with_the_same_probability(name):
    ball, norm = BALLS[name]
    radius = 2 if ball.dimension < 3 and name in SMALL else 1
    wanted = inside(ball, norm, radius)
    found = law(lambda below: ball.draw(radius, below), ball.dimension)
    assert found == dict.fromkeys(wanted, Fraction(1, len(wanted)))


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_thorough(list(BALLS)[2:], len(BALLS) - 4))
def test_each_point_of_a_sphere_is_drawn_with_the_same_probability(name):
    ball, norm = BALLS[name]
    radius = 2 if ball.dimension < 3 and name in SMALL else 1
    wanted = [z for z in inside(ball, norm, radius) if norm(z) == radius]
    found = law(lambda below: ball.draw_at(radius, below), ball.dimension)
    assert found == dict.fromkeys(wanted, Fraction(1, len(wanted)))


def test_coefficients_are_differences_and_give_the_numbers_back():
    values = [1, 5, 17, 43]
    assert differences(values) == (1, 4, 8, 6)
    assert [points((1, 4, 8, 6), radius) for radius in range(4)] == values


@pytest.mark.parametrize(("most", "number"), [(0, 0), (4, 0), (4, 2), (5, 3), (3, 3)])
def test_compositions_are_uniform(most, number):
    reach = range(1, most + 1)
    wanted = [x for x in itertools.product(reach, repeat=number) if sum(x) <= most]
    found = {}
    for parts, chance in outcomes(lambda below: tuple(gaps(most, number, below))):
        found[parts] = found.get(parts, 0) + chance
    assert found == dict.fromkeys(wanted, Fraction(1, len(wanted)))


def test_an_index_has_the_probability_of_its_weight():
    found = dict.fromkeys(range(3), Fraction(0))
    for index, chance in outcomes(lambda below: pick([2, 0, 3], below)):
        found[index] += chance
    assert found == {0: Fraction(2, 5), 1: 0, 2: Fraction(3, 5)}


def test_integers_below_a_bound_are_uniform():
    for bound in (1, 2, 3, 5, 8):
        width = (bound - 1).bit_length()
        seen = [below_from(lambda k, x=x: x)(bound) for x in range(bound)]
        assert seen == list(range(bound))
        refused = iter([*range((1 << width) - 1, bound - 1, -1), 0])
        assert below_from(lambda k, stream=refused: next(stream))(bound) == 0
