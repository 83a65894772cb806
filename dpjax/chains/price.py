r"""The cost of an update that is an exponential mechanism, and charges to a ledger.

Let the log-likelihood $u_i$ of a record be in a range of width Δ. An update draws a
value v with probability $\propto \pi(v) \exp(\sum_i u_i(v) / T)$. An added or removed
record changes the log-probability of v by at most Δ/T, and a replaced record by at most
2Δ/T (Foulds et al., section 4.1; `docs/proofs.md`, section 15). So at T = 1 an update
costs c = Δ (add-remove) or 2Δ (replace-one); at $T = \max(1, c/\epsilon)$, at most ε.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from dpjax._checks import brief, of_type, one_of, positive
from dpjax._types import Scalar
from dpjax.chains.blocks import State
from dpjax.privacy import (
    ADD_REMOVE,
    ADJACENCIES,
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Guarantee,
    Ledger,
    budget_of,
    exact_epsilon,
    logarithm_above,
    rounded_up,
    rows_of,
)

Bounds = tuple[Epsilon, Epsilon]
LEAST = Fraction(1, 10**7)  # smallest probability in a table, so that draws end


class Price(NamedTuple):
    """The privacy cost of one update, and the temperature ≥ 1 of its likelihood."""

    cost: Guarantee
    temperature: float


def price_of(
    width: Fraction,
    epsilon: Epsilon,
    adjacency: Adjacency,
    latents: Sequence[str] = (),
    contributions: int = 1,
) -> Price:
    """Return the cost of an update, at most ε, and its temperature.

    The cost is below ε only if an update at temperature 1 costs less than ε.

    Args:
        width: width of the range of a record's log-likelihood, in nats.
        epsilon: largest ε of one update.
        adjacency: "replace-one" or "add-remove".
        latents: names of entries of the state with one latent per record; their length
            would reveal the number of records under add-remove.
        contributions: the most records k of a person, whose loss `epsilon` is. The
            temperature is that of ε / k for one record.

    Raises:
        ValueError: if an argument is out of range, or latents are given for add-remove.
    """
    one_of(ADJACENCIES, adjacency=adjacency)
    if latents and adjacency == ADD_REMOVE:
        raise ValueError(
            f"`latents` must be left out under {ADD_REMOVE!r}, where one a record "
            f"would show the number of records, got {latents[0]!r}."
        )
    rows = rows_of(contributions)
    budget = exact_epsilon(epsilon) / rows
    full = full_loss(width, adjacency)
    temperature = float_above(max(Fraction(1), full / budget))
    each = budget_of(min(budget, full), adjacency)
    return Price(each.of_group(rows), temperature)


def charge(ledger: Ledger, cost: Guarantee, purpose: str, arguments: Any) -> None:
    """Charge a ledger for one run; `ValueError` if `arguments` are traced by JAX."""
    of_type(Ledger, "open it with `dpjax.Ledger(path=…)`", ledger=ledger)
    refuse_traced(arguments)
    ledger.charge(cost, purpose)


def refuse_traced(*trees: Any) -> None:
    """Raise `ValueError` if arrays are traced: one charge would be for many draws."""
    for leaf in jax.tree.leaves(trees):
        if not isinstance(leaf, jax.Array):
            continue
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jr.key_data(leaf)
        try:
            np.asarray(leaf.ravel()[:0])
        except jax.errors.TracerArrayConversionError:
            raise ValueError(
                "`ledger` must be left out inside `jit` and `vmap`, which would draw "
                "many times for one charge: charge it outside, for all."
            ) from None


def full_loss(width: Fraction, adjacency: Adjacency) -> Fraction:
    """Return the loss at T = 1: `width` (add-remove) or 2 `width` (replace-one)."""
    return width * (2 if adjacency == REPLACE_ONE else 1)


def refuse_prior(**priors: Scalar) -> None:
    """Raise `ValueError` for Dirichlet parameters outside the range [1e-6, 1e6]."""
    for name, prior in priors.items():
        shaped(prior, (), name)
        positive(**{name: prior})
        if isinstance(prior, int | float) and not 1e-6 <= prior <= 1e6:
            raise ValueError(f"`{name}` must be from 1e-6 to 1e6, got {prior}.")


def float_above(exact: Fraction) -> float:
    """Return the smallest single-precision number that is at least `exact`."""
    near = np.float32(float(exact))
    below = Fraction(float(near)) < exact
    return float(np.nextafter(near, np.float32(np.inf)) if below else near)


def float_below(exact: Fraction) -> float:
    """Return the largest single-precision number that is at most `exact`."""
    return -float_above(-exact)


def table_width(size: int, least: Epsilon) -> Fraction:
    r"""Return the range of the log-probability of one observation of k levels.

    It is $\ln((1 - (k - 1) a_0) / a_0)$, rounded up, where k is `size`, and $a_0$ is
    `least`, the smallest probability of a level.

    Raises:
        ValueError: if `least` is below 1e-7, or not below 1 / k.
    """
    bound = exact_epsilon(least, "least")
    if bound * size >= 1 or bound < LEAST:
        raise ValueError(
            "`least` must be at least 1e-7, so that draws end whatever the counts, "
            f"and below 1 / {size}, one over the number of levels, got {least}."
        )
    return rounded_up(logarithm_above((1 - (size - 1) * bound) / bound))


class Clip(NamedTuple):
    """A function that clips numbers to [low, high], and replaces NaN by `low`."""

    low: Fraction
    high: Fraction

    @property
    def width(self) -> Fraction:
        """The width of the range, high - low."""
        return self.high - self.low

    def __call__(self, log_likelihood: Array) -> Array:
        """Return numbers clipped to the range."""
        low, high = float_above(self.low), float_below(self.high)
        known = jnp.where(jnp.isnan(log_likelihood), low, log_likelihood)
        return jnp.clip(known, low, high)


def clip_to(bounds: Bounds) -> Clip:
    """Make the `Clip` to two bounds, lower bound first, as exact fractions."""
    try:
        low, high = (_signed(str(bound).strip()) for bound in bounds)
        if low < high:
            return Clip(low, high)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        "`bounds` must be two finite numbers, the lower first, such as (-3, 0), got "
        f"{brief(bounds)}."
    )


def of_each(
    function: Callable[[State, Any, State], Any], latents: Sequence[str] = ()
) -> Callable[[State, Any], Any]:
    """Map a function of state, one record and the record's latents over all records."""

    def every(state: State, records: Any) -> Any:
        own = {name: state[name] for name in latents}
        return jax.vmap(function, (None, 0, 0))(state, records, own)

    return every


def shaped(array: Any, shape: tuple[int, ...], name: str) -> Array:
    """Return `array`; `ValueError` unless it has `shape`. Errors use `name`."""
    if jnp.shape(array) != shape:
        raise ValueError(f"`{name}` must have shape {shape}, got {jnp.shape(array)}.")
    return jnp.asarray(array)


def _signed(text: str) -> Fraction:
    magnitude = text.removeprefix("-")
    if magnitude and not magnitude.strip("0."):
        return Fraction(0)
    return exact_epsilon(magnitude, "bounds") * (-1 if text != magnitude else 1)
