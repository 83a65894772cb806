r"""Truncated gamma variables, exponentially tilted so that they sum to about 1.

Independent variables with densities $x^{a_i - 1} e^{-\lambda x}$ above a bound, given
that they sum to 1, are a Dirichlet vector with entries above the bound, for any tilt
$\lambda$.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Complex, Float

from dpjax.distributions.quadrature import negligible, nodes, reach
from dpjax.distributions.special import as_complex, expm1_minus, log1p_minus

Reals = Float[Array, "*shape"]
Scalar = Float[Array, ""]

_STEPS = 8  # the bracket shrinks quadratically


class TiltedGamma(NamedTuple):
    """Distribution of h = log(x / mode) for a gamma variable x truncated to x >= least.

    The density of x is proportional to x^(shape-1) e^(-rate x). The log-density of h is
    concave, with maximum 0 at h = 0.
    """

    shape: Reals
    rate: Reals
    least: Reals
    mode: Reals
    curvature: Reals  # rate * mode
    start: Reals  # slope at the mode; negative if the mode is the bound

    @property
    def low(self) -> Reals:
        """The value of h at x = least; it is at most 0."""
        return -jnp.log1p((self.mode - self.least) / self.least)

    @property
    def high(self) -> Reals:
        """A value of h beyond which the density is negligible."""
        drop = negligible() + 10
        endless = 2 * jnp.log1p(drop / self.curvature) + 1
        falls = self.start < 0
        slope = jnp.where(falls, -self.start, 1)
        return jnp.where(falls, jnp.minimum(drop / slope, endless), endless)

    @property
    def width(self) -> Reals:
        """Value of |h| at which the log-density has fallen by about 1."""
        return 2 / (jnp.sqrt(self.start**2 + 2 * self.curvature) - self.start)

    def log_density(self, h: Reals) -> Reals:
        """Return the unnormalised log-density of h."""
        return self.start * h - self.curvature * expm1_minus(h)

    def slope(self, h: Reals) -> Reals:
        """Return the derivative of `log_density`."""
        return self.start - self.curvature * jnp.expm1(h)

    def excess(self, h: Reals) -> Reals:
        """Return x - least for h = log(x / mode)."""
        return (self.mode - self.least) + self.mode * jnp.expm1(h)

    def distance(self, excess: Reals) -> Reals:
        """Return h for a given value of x - least: the inverse of `excess`."""
        return jnp.log1p((excess - (self.mode - self.least)) / self.mode)

    def log_weighted(self, excess: Reals) -> Reals:
        """Return the logarithm of (x - least) times the density of x."""
        density = self.log_density(self.distance(excess))
        return density + jnp.log(excess) - jnp.log(excess + self.least)

    def largest_weighted(self) -> Reals:
        """Return the value y of x - least at which `log_weighted` is largest.

        It solves 1 / y + (shape - 1) / (least + y) = rate, without cancellation.
        """
        bound = self.rate * self.least
        root = jnp.sqrt((self.shape - bound) ** 2 + 4 * bound)
        falling = 2 * self.least / (bound - self.shape + root)
        rising = (self.shape - bound + root) / (2 * self.rate)
        return jnp.where(self.shape > bound, rising, falling)


def tilted_gamma(shape: Reals, rate: Reals, least: Reals) -> TiltedGamma:
    """Construct the truncated gamma; rate and mode are fixed under differentiation."""
    fixed_shape, rate, fixed_least = lax.stop_gradient((shape, rate, least))
    inside = fixed_shape > rate * fixed_least
    mode = jnp.where(inside, fixed_shape / rate, fixed_least)
    curvature = jnp.where(inside, fixed_shape, rate * fixed_least)
    start = jnp.where(inside, 0, fixed_shape - curvature) + (shape - fixed_shape)
    return TiltedGamma(shape, rate, least, mode, curvature, start)


class Grid(NamedTuple):
    """Quadrature nodes of a truncated gamma variable x, on both sides of its peak."""

    log_mass: Scalar  # of the density of h
    excess: Float[Array, " n"]
    probability: Float[Array, " n"]
    is_left: Bool[Array, " n"]
    peak: Scalar  # where the density of x is largest
    rise: Scalar  # distance from the bound to the peak; 1 if they are equal
    reaches_bound: Bool[Array, ""]  # whether the left nodes extend to the bound
    mean: Scalar  # of the excess
    variance: Scalar


def grid(law: TiltedGamma) -> Grid:
    """Place quadrature nodes for the distribution of one truncated gamma variable."""
    fixed = lax.stop_gradient(law)
    peak = jnp.maximum(fixed.least, (fixed.shape - 1) / fixed.rate)
    middle = fixed.distance(peak - fixed.least)
    level = fixed.log_density(middle)
    down = reach(lambda h: fixed.log_density(middle - h) - level, middle - fixed.low)
    up = reach(fixed.log_density, fixed.high) - middle
    reaches_bound = down >= middle - fixed.low
    down = jnp.where(reaches_bound, middle - law.low, down)
    h, weights = nodes(down, up)
    h = middle + h
    masses = weights * jnp.exp(law.log_density(h))
    mass, excess = masses.sum(), law.excess(h)
    probability = masses / mass
    mean = (probability * excess).sum()
    variance = (probability * (excess - mean) ** 2).sum()
    return Grid(
        log_mass=jnp.log(mass),
        excess=excess,
        probability=probability,
        is_left=h < middle,
        peak=peak,
        rise=jnp.where(peak > fixed.least, peak - law.least, 1),
        reaches_bound=reaches_bound,
        mean=mean,
        variance=variance,
    )


def solve_tilt(
    shapes: Float[Array, " k"],
    least: Scalar,
    enough: float = 0.0,
    present: Bool[Array, " k"] | None = None,
) -> Scalar:
    """Find the rate at which truncated gamma variables have expected sum 1.

    Newton steps on the reciprocals of the expected sum and of the expected sum minus
    the bounds give an upper and a lower bound of the rate, as one reciprocal is convex
    and the other concave. The result is not differentiable.

    Args:
        shapes: shape parameter of each variable.
        least: lower bound of the variables.
        enough: tolerance of the expected sum, in standard deviations of the sum.
        present: variables that are part of the sum; None means all.
    """
    shapes, least = lax.stop_gradient((shapes, least))
    total = partial(jnp.sum, where=present)
    bounds = total(jnp.ones_like(shapes)) * least
    spare = 1 - bounds
    leasts = jnp.broadcast_to(least, shapes.shape)

    def is_wide(state):
        step, low, high, spread = state
        return (step < _STEPS) & ((high - low) * spread > enough)

    def narrow(state):
        step, low, high, _ = state
        rate = jnp.sqrt(low * high)
        rates = jnp.broadcast_to(rate, shapes.shape)
        found = jax.vmap(grid)(tilted_gamma(shapes, rates, leasts))
        excess, variance = total(found.mean), total(found.variance)
        above = excess > spare
        low, high = jnp.where(above, rate, low), jnp.where(above, high, rate)
        gap = excess - spare
        most = rate + gap / variance * (excess / spare)
        fewest = rate + gap / variance * (excess + bounds)
        low = jnp.maximum(low, fewest)
        high = jnp.maximum(low, jnp.minimum(high, most))
        return step + 1, low, high, jnp.sqrt(variance)

    high = total(jnp.maximum(shapes, 1)) / spare
    start = jnp.asarray(0, jnp.int32), total(shapes), high, jnp.full_like(high, jnp.inf)
    _, low, high, _ = lax.while_loop(is_wide, narrow, start)
    return lax.stop_gradient(jnp.sqrt(low * high))


def log_transform(
    law: TiltedGamma, grid: Grid, shift: Complex[Array, ""]
) -> Complex[Array, ""]:
    r"""Return log E exp(-shift (y - E y)) for a complex number `shift`.

    Here y = x - least, and x has the truncated gamma distribution `law`. The integral
    follows a complex path of y from 0 on which the integrand does not oscillate. If the
    density of x decreases from `least`, with log-slope $-\sigma(y)$, the path is
    $y \sigma / (\sigma + shift)$. If the density has a maximum above `least`, the path
    is a straight line to the shifted maximum and then x times rate / (rate + shift),
    which has a closed form.
    """
    inside = grid.peak > lax.stop_gradient(law.least)
    law, grid = as_complex((law, grid))
    # Safe parameters for the path that is not selected prevent overflow.
    falling = law._replace(shape=jnp.where(inside, 1, law.shape))
    transform = _falling_path(falling, grid, shift)
    rising = jnp.where(inside, shift, 0)
    transform = jnp.where(inside, _rising_path(law, grid, rising), transform)
    return jnp.log(transform)


def _falling_path(law: TiltedGamma, grid: Grid, shift: Complex[Array, ""]) -> Array:
    """E exp(-shift (excess - mean)) if the density of x decreases from the bound."""
    x = law.least + grid.excess
    pull = (law.shape - 1) / x
    slope = law.rate - pull
    turn = slope / (slope + shift)
    bend = grid.excess * pull / x * shift / (slope + shift) ** 2
    moved = -(grid.excess / x) * shift / (slope + shift)
    exponent = (law.shape - 1) * log1p_minus(moved) + shift * grid.mean
    return (grid.probability * (turn + bend) * jnp.exp(exponent)).sum()


def _rising_path(law: TiltedGamma, grid: Grid, shift: Complex[Array, ""]) -> Array:
    """The same expectation if the density has a maximum above the bound.

    The part left of the maximum is omitted if it is negligible at the bound.
    """
    straight = grid.is_left & grid.reaches_bound
    left = jnp.where(straight, grid.probability, 0)
    part = jnp.where(straight, grid.excess, 0) / grid.rise
    turn = grid.peak * shift / (law.rate + shift)
    moved = -part * turn / (law.least + grid.excess)
    exponent = (law.shape - 1) * jnp.log1p(moved) + shift * (
        part * law.least + grid.mean
    )
    steep = (1 - turn / grid.rise) * (left * jnp.exp(exponent)).sum()
    # All terms that are linear in the shift are combined before they can cancel.
    linear = law.least + grid.mean - law.shape / law.rate
    ray = shift * linear - law.shape * log1p_minus(shift / law.rate)
    return steep + (1 - left.sum()) * jnp.exp(ray)
