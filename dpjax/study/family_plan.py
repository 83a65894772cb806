"""Expected errors of mechanisms for an exponential family, without any data.

Data are assumed to have the expected statistics of true parameters on a coarse grid, so
that the errors are due to privacy alone.
"""

import contextlib
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from dpjax._checks import of_type
from dpjax._types import Key
from dpjax.mechanisms import ExactMechanism, Mechanism
from dpjax.mechanisms.recipes import Recipe, recipe_of
from dpjax.mechanisms.truncation_choice import Truths, most_points
from dpjax.privacy import REPLACE_ONE, PureDP
from dpjax.statistics import FamilyStatistic
from dpjax.study.outlooks import Outlook

_LIMITED = "k-norm"
_NAMES = ("laplace", _LIMITED, "posterior-sample", "map")


def family_outlooks(
    key: Key,
    statistic: FamilyStatistic,
    n: int,
    budget: PureDP,
    repeats: int,
    mechanisms: Sequence[Recipe] = (),
) -> list[Outlook]:
    """Return the expected divergence of a record for each mechanism, best first.

    The divergence is KL(true ‖ learned), in nats, averaged over true parameters. Noisy
    sums are followed by the most likely parameters on a grid. For a sampler, the
    expectation is exact for a uniform prior.

    Raises:
        ValueError: if the family has no default limits of its parameters, or the
            statistic is for another adjacency.
    """
    remedy = "make one with `Sufficient.of`, or a network with `BayesNet.from_parents`"
    of_type(FamilyStatistic, remedy, what=statistic)
    statistic.sensitivity(budget.adjacency)  # raises if it is for another adjacency
    truths, public = Truths(statistic.family), budget.adjacency == REPLACE_ONE
    outlooks = []
    for recipe in (*map(recipe_of, _NAMES), *mechanisms):
        refused = [ValueError] if recipe.kind == _LIMITED else []
        with contextlib.suppress(*refused):  # for too large or small a budget
            made = recipe.mechanism(statistic, budget, n if public else None)
            given = str(recipe), made, truths, statistic
            outlooks.append(_outlook(jr.clone(key), *given, n, repeats))
    return sorted(outlooks, key=lambda outlook: outlook.divergence)


def _outlook(
    key: Key,
    name: str,
    made: ExactMechanism,
    truths: Truths,
    statistic: FamilyStatistic,
    n: int,
    repeats: int,
) -> Outlook:
    if not made.additive:
        sampler: Any = made  # the only kind of a family that adds no noise
        temperature, grid = float(sampler.temperature), sampler.grid
        error = truths.of_sample(grid.places, n / temperature).mean()
        choices: dict[str, Any] = {"temperature": temperature}
        choices |= {x: [*ends] for x, ends in grid.truncation.items()}
        return Outlook.of_divergence(name, float(error), 0.0, choices, True)
    errors = _with_noise(key, made.for_studies(), truths, statistic, n, repeats)
    by_repeat = errors.mean(axis=1)
    se = by_repeat.std(ddof=1) / repeats**0.5
    return Outlook.of_divergence(name, float(by_repeat.mean()), float(se), {}, False)


def _with_noise(
    key: Key,
    mechanism: Mechanism,
    truths: Truths,
    statistic: FamilyStatistic,
    n: int,
    repeats: int,
) -> np.ndarray:
    """Divergence of the most likely parameters given sums, by repeat and truth."""
    family = statistic.family
    points = family.grid(truths.usual, most_points(family, truths.usual))
    errors, (scaled, log_g) = truths.divergences(points), truths.scaled(points)
    exact = jnp.round(statistic.encode(jnp.asarray(truths.mean * n, float), n))
    exact = exact.astype(jnp.int32)
    public = n if statistic.adjacency == REPLACE_ONE else None

    @jax.jit
    def released(key: Key) -> tuple:
        values = jax.vmap(mechanism.sample)(jr.split(key, len(exact)), exact)
        return jax.vmap(family.project)(*statistic.decode(values, public))

    found = []
    for each in jr.split(key, repeats):
        total, number = (np.asarray(x, float) for x in released(each))
        sums = total / np.array(family.scales())[None, :]
        fits = np.dot(sums, scaled.T) + number[:, None] * log_g[None, :]
        likely = fits.argmax(axis=1)
        found.append(np.take_along_axis(errors, likely[:, None], axis=1)[:, 0])
    return np.array(found)
