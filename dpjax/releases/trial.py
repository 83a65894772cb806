"""Trial of a release before records are read, for classes of other packages."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.mechanisms import ExactMechanism
from dpjax.mechanisms.recipes import Recipe
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.privacy import Guarantee
from dpjax.releases.released import Released
from dpjax.statistics import Statistic
from dpjax.statistics.trial import family_of, invented_records, is_foreign


def draw(mechanism: ExactMechanism, statistic: Statistic, exact: Any) -> Any:
    """Draw the numbers to publish of an exact statistic."""
    given = jnp.asarray(exact, jnp.int32) if mechanism.largest == LARGEST else exact
    values = mechanism.draw(given)
    if statistic.zeros is not None:
        values = np.where(statistic.zeros, 0, np.asarray(values))
    return values


def refuse_cost(mechanism: object, recipe: Recipe, cost: Guarantee) -> None:
    """Raise `ValueError` unless a recipe made an exact mechanism within its budget."""
    if not isinstance(mechanism, ExactMechanism):
        raise ValueError(
            f"`mechanism` {str(recipe)!r} must make an `ExactMechanism`, got "
            f"{type(mechanism).__name__}."
        )
    found = mechanism.guarantee()
    fits = isinstance(found, Guarantee) and found.fits(cost)
    if not fits or mechanism.adjacency != cost.adjacency:
        raise ValueError(
            f"`mechanism` {str(recipe)!r} must make a mechanism that costs at most "
            f"{cost} under {cost.adjacency}, got {found} under {mechanism.adjacency}."
        )


def try_out(
    statistic: Statistic,
    recipe: Recipe,
    mechanism: Any,
    cost: Guarantee,
    n: int | None,
) -> None:
    """Raise `ValueError` if a release could not be published, before it is charged.

    If a class is of another package, a release of an invented record is drawn, written
    and read back, once for the same statistic, recipe, cost and n.

    Args:
        statistic: the statistic.
        recipe: the recipe that made the mechanism.
        mechanism: the mechanism for n records.
        cost: the most that a release may cost a row.
        n: a number of records, or None if it is private.
    """
    refuse_cost(mechanism, recipe, cost)
    if not is_foreign(statistic, family_of(statistic), recipe, mechanism):
        return
    if not mechanism.accepts(statistic):
        raise ValueError(
            f"`mechanism` {str(recipe)!r} must accept the statistic {statistic.kind}."
        )
    with jax.ensure_compile_time_eval():  # `release` refuses later to be compiled
        try:
            _publish(statistic, recipe, cost, n)
        except TypeError:  # options that have no hash, or an error of the trial itself
            _publish.__wrapped__(statistic, recipe, cost, n)


@functools.lru_cache(maxsize=64)
def _publish(
    statistic: Statistic, recipe: Recipe, cost: Guarantee, n: int | None
) -> None:
    """Draw a release of an invented record, write it, and compare what is read back."""
    what = f"`mechanism` {str(recipe)!r} for {statistic.kind}"
    exact = statistic.measure(invented_records(statistic)[:1])
    try:
        mechanism = recipe.mechanism(statistic, cost, n)
        values = draw(mechanism, statistic, np.asarray(exact, np.int64))
        if not jnp.issubdtype(np.asarray(values).dtype, np.integer):
            raise ValueError(f"`draw` returns {np.asarray(values).dtype}, no integers.")
        found = Released.from_text(Released(values, statistic, mechanism, n).to_text())
    except Exception as error:  # of another package's methods
        raise ValueError(
            f"{what} must make releases whose files are read back, but one of an "
            f"invented record is not: {type(error).__name__}: {error}"
        ) from error
    made = statistic, type(mechanism)
    if (found.statistic, type(found.mechanism)) != made:
        raise ValueError(
            f"{what} must make files that are read back as an equal statistic and a "
            "mechanism of the same class: give each class a `kind` of its own, and "
            "make that of a statistic a frozen dataclass."
        )
