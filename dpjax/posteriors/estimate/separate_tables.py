r"""Estimates of a large network's tables, from one measured table at a time.

A measured table is a contingency table over few variables, with unknown probabilities
q. Two kinds of released numbers are used to estimate q: the noisy cells of the table,
and for each of its variables, the noisy numbers of records with each level in the other
tables, averaged with weights inverse to the variances of the noise.
"""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from dpjax._checks import whole
from dpjax.noise.keys import study_key
from dpjax.posteriors.estimate.descent import descend
from dpjax.posteriors.estimate.number_law import number_log_prob
from dpjax.posteriors.estimate.table_levels import TableLevels
from dpjax.posteriors.laws import laplace_scale
from dpjax.posteriors.plug_in import PlugInPosterior
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic
from dpjax.tables.gathers import add, take

_FAR = 24.0  # limit of logits: probabilities in a table are at least about e^-24
_PAIRS = 2  # of opposite draws in each step
_BLOCKS, _IN_BLOCK = 128, 8  # of draws, for the moments of rows


class SeparateTables(PlugInPosterior):
    r"""Independent Dirichlet rows, whose concentration accounts for noise.

    The function `separate_tables` makes this object. Arguments and methods are those of
    `PlugInPosterior`.

    Privacy:
        Post-processing of a release has no privacy cost.
    """

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "separate-tables"


def separate_tables(
    released: Released, prior: Prior = 1.0, *, steps: int = 200
) -> SeparateTables:
    r"""Estimate a network's tables, each from its own noisy cells and few others.

    Let q be the probabilities of the cells of a measured table. The number of records
    in a cell is modelled as in `point_estimate`, given q, and so are the numbers of
    records with each level of each variable of the table, whose noisy values are
    averages over the other tables. Independent normal distributions of the logits of q
    are fitted to the prior times the likelihoods of these numbers. The rows of the
    network's tables then have the mean and the sum of the variances that follow from
    the normal distributions, and are described by Dirichlet distributions.

    In contrast to `point_estimate`, the cost is linear in the number of cells, whatever
    the structure of the network, and what a table says about joint distributions in
    other tables is not used. The spread of the normal distributions ignores the noisy
    values from other tables, which would make them too narrow. Where little but the
    prior is known, standard deviations are too small, the more so the smaller the prior
    is.

    Args:
        released: noisy counts of a network by `DiscreteLaplace`, `SplitLaplace` or
            `Laplace`. Releases stacked along leading axes need `vmap`. If the number
            of records is private, the released totals of the tables estimate it.
        prior: Dirichlet parameter of all cells, > 0; or a dictionary from variable name
            to a table of parameters. That of a measured table holds for its cells.
        steps: number of gradient steps, at least 1.

    Privacy:
        Post-processing has no privacy cost, and may be repeated with other priors.

    Raises:
        ValueError: if the release is not of a network's counts, its noise is not
            Laplace, the prior is not positive or has the wrong shape, or `steps` is not
            a positive integer.
    """
    whole(1, steps=steps)
    check_separate_tables(released)
    values = jnp.asarray(released.values, float)
    scale = jnp.broadcast_to(laplace_scale(released), values.shape)
    n = None if released.n is None else jnp.asarray(released.n, float)
    prior = flat_prior(released.net, prior)
    found = _estimate(released.counted, values, scale, n, prior, steps)
    return SeparateTables(released.net, found)


def check_separate_tables(released: Released) -> None:
    """Raise `ValueError` unless `separate_tables` accepts the release."""
    laplace_scale(released)
    statistic = released.counted
    if statistic.network is None or statistic.measured is None:
        raise ValueError(
            "`released` must be of counts of a network, got "
            f"{statistic.describe()['kind']}: use `point_estimate`."
        )


@partial(jax.jit, static_argnames=("statistic", "steps"))
def _estimate(
    statistic: TableStatistic,
    values: Array,
    scale: Array,
    n: Array | None,
    prior: Array,
    steps: int,
) -> Float[Array, " c"]:
    problem = _Problem.of(statistic, values, scale, n, prior)
    return problem.concentration(steps)


@dataclasses.dataclass(frozen=True)
class _Problem:
    """Released numbers about measured tables, and the prior; c cells, m numbers."""

    statistic: TableStatistic
    levels: TableLevels
    values: Float[Array, " m"]  # of the cells, then of the levels in other tables
    scale: Float[Array, " m"]
    n: Float[Array, ""]
    public_n: bool
    prior: Float[Array, " rows"]  # of the cells of the network's tables
    alpha: Float[Array, " c"]  # of the measured cells

    @classmethod
    def of(
        cls,
        statistic: TableStatistic,
        values: Array,
        scale: Array,
        n: Array | None,
        prior: Array,
    ) -> "_Problem":
        """Collect what is known about each measured table."""
        layout, measured = statistic.layout, statistic.measured
        assert measured is not None
        levels = TableLevels.of(measured)
        number = n
        if number is None:
            totals = levels.tables(add, values, 0)
            weights = 1 / levels.tables(add, scale**2, 0)
            number = jnp.maximum((weights * totals).sum() / weights.sum(), 1)
        starts = dict(zip(layout.groups, layout.offsets[:-1], strict=True))
        begin = np.array([starts[group] for group in measured.groups])
        moved = (begin - measured.offsets[:-1])[levels.table]
        places = (np.arange(measured.length) + moved).astype(np.uint32)
        others = levels.elsewhere(values, scale)
        return cls(
            statistic,
            levels,
            jnp.concatenate([values, others[0]]),
            jnp.concatenate([scale, others[1]]),
            number,
            n is not None,
            prior,
            take(prior, places),
        )

    def tables(self, logits: Array) -> Array:
        """Probabilities of the cells of the measured tables."""
        shifted = jnp.maximum(logits - self.levels.maxima(logits), -_FAR)
        powers = jnp.exp(shifted)
        return powers / self.levels.sums(powers)

    def rows(self, logits: Array) -> Array:
        """Probabilities of the network's tables."""
        cells = self.statistic.tables(self.tables(logits))
        return cells / self.statistic.layout.row_sums(cells)

    def gradients(self, logits: Array) -> Float[Array, "2 c"]:
        """Gradients of the log-posterior density, with all numbers and with the cells'.

        They are written out, because the derivatives of gathers are scatters.
        """
        levels, q = self.levels, self.tables(logits)
        chances = jnp.concatenate([q, levels.numbers(add, q, 0)])
        slope = jax.grad(self._log_law)(chances)
        own, others = slope[: q.size], levels.cells(add, slope[q.size :], 0)
        # Logits of a table are determined up to a constant: `loose` keeps it near 0.
        loose = levels.sums(logits) / levels.sums(jnp.ones_like(q))

        def through(slope):
            return q * (slope - levels.sums(q * slope))

        rest = self.alpha - q * levels.sums(self.alpha) - loose
        return jnp.stack([through(own + others), through(own)]) + rest[None]

    def _log_law(self, chances: Array) -> Array:
        mean = self.n * chances
        variance = mean * (1 - chances) if self.public_n else mean
        counts = np.ones(chances.shape, bool)
        return number_log_prob(self.values, mean, variance, self.scale, counts).sum()

    def concentration(self, steps: int) -> Float[Array, " rows"]:
        """Dirichlet parameters of all rows, after `steps` gradient steps."""
        center, width = self._initial()
        key = study_key(0)

        def slope(position, step):
            shift, spread = position[0], width * jnp.exp(position[1])
            half = jr.normal(jr.fold_in(key, step), (_PAIRS, center.size))
            nodes = spread[None] * jnp.concatenate([half, -half])
            middle = center + width * shift
            slopes = jax.vmap(self.gradients)(middle[None] + nodes)
            moved, wider = slopes[:, 0].mean(0), (slopes[:, 1] * nodes).mean(0)
            return -jnp.stack([width * moved, 1 + wider])

        still = jnp.zeros((2, center.size), center.dtype)
        shift, log_width = descend(slope, still, steps)[0]
        return self._matched(center + width * shift, width * jnp.exp(log_width))

    def _initial(self) -> tuple[Array, Array]:
        """Logits to start from, and their approximate standard deviations."""
        levels, cells = self.levels, self.alpha.size
        scale, found = self.scale[:cells], jnp.maximum(self.values[:cells], 0)
        found = found * self.n / jnp.maximum(levels.sums(found), 1)
        logits = jnp.log(self.alpha + 0.5 * jnp.minimum(scale, self.n) + found)
        center = logits - levels.sums(logits) / levels.sums(jnp.ones_like(logits))
        return center, 1 / jnp.sqrt(self.alpha + found**2 / (found + scale**2))

    def _matched(self, logits: Array, spread: Array) -> Array:
        """Dirichlet parameters with the moments of rows whose logits are normal."""
        layout, key = self.statistic.layout, study_key(1)
        center = self.rows(logits)

        def add_block(sums, block):
            draws = jr.normal(jr.fold_in(key, block), (_IN_BLOCK, *spread.shape))
            moved = logits[None] + spread[None] * draws
            off = jax.vmap(self.rows)(moved) - center[None]
            return (sums[0] + off.mean(0), sums[1] + (off**2).mean(0)), None

        zero = jnp.zeros_like(center)
        blocks = jnp.arange(_BLOCKS, dtype=jnp.uint32)
        first, second = lax.scan(add_block, (zero, zero), blocks)[0]
        mean, variance = center + first / _BLOCKS, second / _BLOCKS
        variance = variance - (first / _BLOCKS) ** 2
        mean = mean / layout.row_sums(mean)
        tiny = jnp.finfo(mean.dtype).tiny
        variance = jnp.maximum(layout.row_sums(variance), tiny)
        total = layout.row_sums(mean * (1 - mean)) / variance - 1
        # At most the parameters of a row that has all records.
        return mean * jnp.clip(total, 0.5, self.n + layout.row_sums(self.prior))
