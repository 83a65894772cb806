r"""Posterior of one probability, which is a mixture of Beta distributions.

The mixture is over the hidden counts of the probability's row. Given its cell's count c
and the row's total m, a probability with Dirichlet parameter α has the distribution
Beta(a, b) with a = α + c and b = Σα - α + m - c. Distribution functions for successive
counts differ by one term, so that one incomplete beta function is enough for each m:

$$I_t(a, b) = I_t(a + 1, b - 1)
  + \frac{Γ(a + b)}{Γ(a + 1) Γ(b)} t^a (1 - t)^{b - 1}.$$
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import betainc, logsumexp, ndtri
from jaxtyping import Array, Float, Int32

from dpjax.posteriors.exact.count_weights import stirling_error
from dpjax.posteriors.exact.rows import RowLaws


class CellLaw(eqx.Module):
    """Posterior of one probability of a table, as a mixture of Beta distributions.

    The mixture is over the hidden total m of a row and the hidden count c of a cell.
    The cell has the Dirichlet parameter α, and Σα is the sum of the row's parameters.
    """

    weights: Float[Array, "totals window"]  # probability of total and count
    a: Float[Array, " window"]  # α + c for every count, in steps of 1
    whole: Float[Array, " totals"]  # Σα + m for every total, in steps of 1

    def cdf(self, t: Float[Array, ""]) -> Float[Array, ""]:
        """Return the posterior probability that the cell's probability is at most t."""
        return self._below(t)[0]

    def _below(self, t: Array) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the distribution function and the density at t."""
        totals, window = self.weights.shape
        kernel, last = _LogKernel.at(self, t), _last_count(self)

        def add(carry, count):
            below, total, density = carry
            weights, term = self.weights[:, count], jnp.exp(kernel.column(count))
            below = below + weights
            density = density + term * weights * self.a[count]
            total = total + jnp.where(count < last, term * below / (1 - t), 0)
            return (below, total, density), None

        start = (jnp.zeros(totals),) * 3
        counts = jnp.arange(window, dtype=jnp.int32)
        (below, total, density), _ = lax.scan(add, start, counts)
        a = self.a[last]
        b = self.whole - a  # not positive if all counts are above the total: weights 0
        ends = betainc(a, jnp.where(b > 0, b, 1), jnp.broadcast_to(t, a.shape))
        found = jnp.clip(total.sum() + (below * ends).sum(), 0, 1)
        return found, density.sum() / (t * (1 - t))

    def log_prob(self, t: Float[Array, ""]) -> Float[Array, ""]:
        """Return the posterior log-density of the cell's probability at t."""
        kernel = _LogKernel.at(self, t)
        counts = jnp.arange(self.a.size, dtype=jnp.int32)
        columns = jax.vmap(kernel.column)(counts).T
        possible = (self.weights > 0) & jnp.isfinite(columns)
        logs = jnp.log(jnp.where(possible, self.weights, 1)) + columns
        logs = logs + jnp.log(self.a)[None] - jnp.log(t) - jnp.log1p(-t)
        return logsumexp(jnp.where(possible, logs, -jnp.inf))

    def quantile(self, q: Float[Array, ""]) -> Float[Array, ""]:
        """Compute the posterior q-quantile by Newton's method, or halving if it fails.

        The result is NaN if the distribution function is.
        """
        mean, sd = self._moments()
        finfo = jnp.finfo(float)

        def improve(state):
            low, high, t, _, steps = state
            below, density = self._below(t)
            low, high = (jnp.where(below < q, *x) for x in ((t, low), (high, t)))
            moved = t - (below - q) / density
            inside = (moved > low) & (moved < high)
            found = jnp.where(inside, moved, (low + high) / 2)
            found = jnp.where(jnp.isnan(below), jnp.nan, found)
            return low, high, found, jnp.abs(found - t), steps + 1

        def is_far(state):
            return (state[3] > finfo.eps**0.75 * sd) & (state[4] < finfo.nmant + 8)

        start = jnp.clip(mean + ndtri(q) * sd, mean / 8, (7 + mean) / 8)
        ends = jnp.zeros_like(q), jnp.ones_like(q)
        state = *ends, start, jnp.ones_like(q), jnp.int32(0)
        return lax.while_loop(is_far, improve, state)[2]

    def _moments(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the mean and the standard deviation."""
        shares = self.a[None] / self.whole[:, None]
        weights = self.weights / self.weights.sum()
        mean = (weights * shares).sum()
        inner = shares * (1 - shares) / (self.whole[:, None] + 1)
        spread = jnp.where(weights > 0, inner + (shares - mean) ** 2, 0)
        return mean, jnp.sqrt((weights * spread).sum())


def cell_law(laws: RowLaws, cell: Array, row: Array) -> CellLaw:
    """Return the posterior of the probability at indices `cell` and `row`."""
    rows, start, ratio = laws.rows, laws.start, laws.ratio
    counts = jnp.arange(rows.window, dtype=jnp.int32)[None]
    totals = jnp.arange(len(ratio), dtype=jnp.int32)[:, None]
    places = start[row] - laws.first[row] + rows.window - 1 + totals - counts
    series = laws.others[cell, :, row]
    inside = (places >= 0) & (places < len(series))
    met = jnp.where(inside, series[jnp.clip(places, 0, len(series) - 1)], 0)
    weights = ratio[:, row][:, None] * met * rows.weights[cell, :, row][None]
    a = rows.alpha[cell, row] + (rows.lowest[cell, row] + counts[0]).astype(float)
    whole = rows.alpha[:, row].sum() + (start[row] + totals[:, 0]).astype(float)
    return CellLaw(weights, a, whole)


def _last_count(law: CellLaw) -> Int32[Array, " totals"]:
    possible = (law.whole[:, None] - law.a[None] > 0).sum(axis=1)
    return jnp.maximum(possible - 1, 0).astype(jnp.int32)


class _LogKernel(eqx.Module):
    r"""Values of $\log Γ(a + b) / (Γ(a + 1) Γ(b)) t^a (1 - t)^b$ for counts and totals.

    They are sums of a function of a, one of b and one of a + b, from Stirling's formula
    and its errors. Sizes are divided by a middle size, so that the terms do not cancel.
    """

    of_a: Float[Array, " window"]
    of_b: Float[Array, " both"]
    of_whole: Float[Array, " totals"]

    @classmethod
    def at(cls, law: CellLaw, t: Array) -> "_LogKernel":
        a, whole = law.a, law.whole
        middle = whole[whole.size // 2]
        steps = jnp.arange(whole.size + a.size - 1, dtype=jnp.int32)
        b = whole[0] - a[-1] + steps.astype(float)
        positive = jnp.where(b > 0, b, 1)
        of_b = positive * jnp.log(middle * (1 - t) / positive) + jnp.log(positive) / 2
        of_a = a * jnp.log(middle * t / a) - jnp.log(a * (2 * math.pi)) / 2
        of_whole = whole * jnp.log(whole / middle) - jnp.log(whole) / 2
        return cls(
            of_a - stirling_error(a),
            jnp.where(b > 0, of_b - stirling_error(positive), -jnp.inf),
            of_whole + stirling_error(whole),
        )

    def column(self, count: Array) -> Float[Array, " totals"]:
        """Values for one count and every total; -inf where b is not positive."""
        start = self.of_a.size - 1 - count
        of_b = lax.dynamic_slice_in_dim(self.of_b, start, self.of_whole.size)
        return self.of_whole + self.of_a[count] + of_b
