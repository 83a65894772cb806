"""Normal approximation of the posterior of a random field's parameters.

The exact numbers behind a release are about normal given the parameters, and so are the
noisy numbers. The posterior mode is found in rounds. Each round fixes the covariance of
the noisy numbers at the parameters of the round before, and solves a nonlinear problem
of least squares by the method of Levenberg and Marquardt. After convergence, the sums
of the features of all records, of the prior too, equal their expectations given the
release; without noise, this is the maximum of the likelihood times the prior.

Parameters of two variables have a normal prior, and so have those of three, and so on.
Each round also sets the precision of each of these priors to its most likely value.
"""

__all__ = ["FieldFit", "FieldModel", "FieldProblem", "fit_field"]

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from dpjax._products import matmul
from dpjax.posteriors.estimate.normal_update import NormalUpdate, normal_update
from dpjax.posteriors.estimate.number_law import laplace_variance
from dpjax.posteriors.random_fields.field import RandomField
from dpjax.statistics.record_moments import RecordMoments
from dpjax.tables.fourier_basis import denominators, from_coefficients

_ROUNDS = 10
_STEPS = 40  # of a round, at most
_LOOSE = 0.01  # precision of a normal prior of parameters of one variable
_USUAL = 1.0  # first precision of parameters of several variables
_BELIEF = 2.0  # number of parameters that the release would have to outweigh
_NEAR = 1e-3  # last step of a round, in posterior standard deviations


class FieldProblem(NamedTuple):
    """Released numbers of records, their noise, and a prior."""

    values: Float[Array, " m"]
    scale: Float[Array, " m"]  # of Laplace noise, or of normal noise
    weights: Float[Array, " m"] | None  # None for Laplace noise: see `NormalNumbers`
    prior: Float[Array, " k"]  # sums of the features of the records in the prior
    strength: Float[Array, ""]  # number of records in the prior
    n: Float[Array, ""]  # number of records; an initial value if it is not public
    possible: Float[Array, "k x"] | None  # of the field


class FieldFit(NamedTuple):
    """Normal approximation of a posterior.

    The coordinates are log n and the parameters. If n is public, log n has the variance
    1, but is independent of the parameters and not used.
    """

    mode: Float[Array, " k"]
    covariance: Float[Array, "k k"]
    precision: Float[Array, "m m"]  # inverse of the covariance of the noisy numbers
    prior: Float[Array, " k"]  # precisions of the parameters' normal prior
    step: Float[Array, ""]  # size of the last step, in posterior standard deviations


class FieldModel(NamedTuple):
    """A random field and what was released of it."""

    field: RandomField
    observe: Array  # from the number of records and the sums of features to numbers
    problem: FieldProblem
    public_n: bool

    @classmethod
    def of(
        cls,
        field: RandomField,
        moments: RecordMoments,
        problem: FieldProblem,
        public_n: bool,
    ) -> "FieldModel":
        """Make the model of numbers with the given moments."""
        observe = _numbers_of_features(field, moments, problem.scale.dtype)
        return cls(field, observe, problem, public_n)

    def number(self, position: Array) -> Array:
        """Return the number of records."""
        return self.problem.n if self.public_n else jnp.exp(position[0])

    def at(self, position: Array) -> "_Local":
        """Compute moments at log n and the parameters."""
        n = self.number(position)
        possible = self.problem.possible
        mean = self.field.mean(position[1:], possible)
        covariance = self.field.covariance(position[1:], possible)
        whole, observe = self.whole(mean), self.observe[:, 1:]
        first = jnp.where(self.public_n, 0, n * whole)
        moved = n * matmul(observe, covariance)
        spread = matmul(moved, observe.T)
        moved = jnp.concatenate([first[:, None], moved], axis=1)
        strength = self.problem.strength * covariance
        # Rounding errors may make the information of rare cells negative.
        least = 8 * jnp.finfo(n.dtype).eps * n * jnp.eye(len(mean), dtype=n.dtype)
        information = jnp.pad(strength + least, (1, 0))
        information = information.at[0, 0].add(1.0 if self.public_n else 0.0)
        residual = self.problem.values - n * whole
        slope = self.problem.prior - self.problem.strength * mean
        first = jnp.full((1,), 0.0 if self.public_n else 1.0, n.dtype)  # flat in n
        slope = jnp.concatenate([first, slope])
        return _Local(information, moved, spread, residual, slope)

    def density(self, fit: FieldFit) -> Callable[[Array], tuple[Array, Array, Array]]:
        """Return the log-density of the parameters, as a function.

        The covariance of the noisy numbers is that at the mode. A private number of
        records is summed out. The function also returns its mean and variance.
        """
        precision = fit.precision
        values, n = self.problem.values, self.problem.n

        def log_density(eta: Array) -> tuple[Array, Array, Array]:
            whole = self.whole(self.field.mean(eta, self.problem.possible))
            pull = matmul(precision, whole)
            variance, mean = 1 / matmul(whole, pull), n
            if not self.public_n:
                mean = variance * matmul(pull, values)
            residual = values - mean * whole
            law = -matmul(residual, matmul(precision, residual)) / 2
            flat = 0.0 if self.public_n else jnp.log(variance) / 2
            return law + flat + self.log_prior(eta, fit.prior), mean, variance

        return log_density

    def first_precisions(self) -> Array:
        """Precisions of a normal prior of the parameters, before any is learned."""
        several = self.field.orders > 1
        return jnp.where(several, _USUAL, jnp.asarray(_LOOSE, self.observe.dtype))

    def likely_precisions(self, eta: Array, variances: Array, prior: Array) -> Array:
        """Return precisions that make the release more likely than those of `prior`.

        One parameter is determined to the share 1 - (its variance) · (its precision).
        The new precision is the number of parameters that are determined, of as many
        variables, over the sum of their squares.

        Reference:
            MacKay (Neural Computation 1992), for estimates of a prior's precision.
        """
        for order in np.unique(self.field.orders[self.field.orders > 1]):
            alike = np.flatnonzero(self.field.orders == order)
            known = jnp.maximum(1 - prior[alike] * variances[alike], 0).sum()
            learned = (known + _BELIEF) / ((eta[alike] ** 2).sum() + _BELIEF / _USUAL)
            prior = prior.at[alike].set(learned)
        return prior

    def whole(self, mean: Array) -> Array:
        """Means of the numbers of one record, given those of the features."""
        return self.observe[:, 0] + matmul(self.observe[:, 1:], mean)

    def log_prior(self, eta: Array, precisions: Array) -> Array:
        """Log-density of the prior of the parameters, up to a constant."""
        total = self.field.log_partition(eta, self.problem.possible)
        weak = matmul(precisions, eta**2) / 2
        return matmul(eta, self.problem.prior) - self.problem.strength * total - weak


class _Local(NamedTuple):
    """Moments of the numbers at some parameters, and of the records in the prior."""

    information: Array  # of the records in the prior
    moved: Array  # derivatives of the numbers' means
    spread: Array  # covariance of the exact numbers
    residual: Array
    slope: Array  # of the log-likelihood of the records in the prior


class _State(NamedTuple):
    position: Array  # log n, then the parameters
    local: _Local
    noise: Array  # effective variance of the noise of each number
    precision: Array  # inverse of the fixed covariance of the noisy numbers
    prior: Array  # precisions of the parameters' normal prior
    value: Array  # log-posterior density
    damping: Array
    step: Array  # size of the last step of the last round, in standard deviations
    steps: Array  # in this round
    rounds: Array

    def objective(self, model: FieldModel, position: Array, local: _Local) -> Array:
        off = matmul(local.residual, matmul(self.precision, local.residual))
        flat = 0.0 if model.public_n else position[0]
        return model.log_prior(position[1:], self.prior) + flat - off / 2

    def updated(self) -> NormalUpdate:
        """Compute the normal approximation of the posterior."""
        local = self.local
        information = local.information + jnp.diag(jnp.pad(self.prior, (1, 0)))
        return normal_update(information, local.moved, local.spread, self.noise)


@partial(jax.jit, static_argnames=("field", "moments", "public_n"))
def fit_field(
    field: RandomField, moments: RecordMoments, problem: FieldProblem, public_n: bool
) -> FieldFit:
    """Find the posterior mode of a field's parameters, and their covariance there."""
    model = FieldModel.of(field, moments, problem, public_n)
    # The first step does not move, so that moments are compiled in the loop alone.
    found = lax.while_loop(
        lambda state: state.rounds <= _ROUNDS, partial(_improve, model), _first(model)
    )
    given = found.updated().covariance, found.precision, found.prior
    return FieldFit(found.position, *given, found.step)


def _first(model: FieldModel) -> _State:
    problem, k = model.problem, 1 + len(model.field)
    noise, m = problem.scale**2, problem.values.size
    noise = 2 * noise if problem.weights is None else noise / problem.weights
    none = jnp.zeros_like(noise)
    start = jnp.zeros(k, noise.dtype).at[0].set(jnp.log(problem.n))
    square, wide = jnp.zeros((m, m), noise.dtype), jnp.zeros((m, k), noise.dtype)
    slope = jnp.zeros(k, noise.dtype)
    local = _Local(jnp.zeros((k, k), noise.dtype), wide, square, none, slope)
    low, one = jnp.asarray(-jnp.inf, noise.dtype), jnp.ones((), noise.dtype)
    zero = jnp.zeros((), int)
    prior = model.first_precisions()
    return _State(start, local, noise, square, prior, low, one, one, zero, zero)


def _improve(model: FieldModel, state: _State) -> _State:
    """Make one step, and begin the next round if the last step was small."""
    local, first = state.local, state.rounds == 0
    pull = matmul(state.precision, local.moved)
    prior = jnp.pad(state.prior, (1, 0))
    slope = local.slope + matmul(pull.T, local.residual) - prior * state.position
    information = local.information + matmul(local.moved.T, pull) + jnp.diag(prior)
    more = state.damping * jnp.diagonal(information) + 1e-6
    move = jnp.linalg.solve(information + jnp.diag(more), slope)
    move = jnp.where(first, 0, move)
    there = state.position + move
    at = model.at(there)
    reached = state.objective(model, there, at)
    better = first | (reached >= state.value - 1e-6 * jnp.abs(state.value))
    size = jnp.sqrt(jnp.abs(matmul(move, slope)) / len(move))
    position, local = jax.tree.map(
        partial(jnp.where, better), (there, at), (state.position, local)
    )
    state = state._replace(
        position=position,
        local=local,
        value=jnp.where(better, reached, state.value),
        damping=state.damping * jnp.where(better, 0.2, 5.0),
        step=size,
        steps=state.steps + 1,
    )
    ended = first | (size < _NEAR) | (state.steps >= _STEPS)
    return lax.cond(ended, partial(_next_round, model), lambda x: x, state)


def _next_round(model: FieldModel, state: _State) -> _State:
    """Fix the covariance of the noisy numbers at the present parameters."""
    local, noise, problem = state.local, state.noise, model.problem
    update, eta = state.updated(), state.position[1:]
    if problem.weights is None:
        noise = laplace_variance(update.variance(noise), problem.scale)
    least = 8 * jnp.finfo(noise.dtype).eps * model.number(state.position)
    noise = jnp.maximum(noise, least)  # below, it is rounded away beside the spread
    precision = jnp.linalg.inv(local.spread + jnp.diag(noise))
    variances = jnp.diagonal(update.covariance)[1:]
    learned = model.likely_precisions(eta, variances, state.prior)
    state = state._replace(
        noise=noise,
        precision=precision,
        prior=jnp.where(state.rounds == 0, state.prior, learned),
        damping=jnp.full_like(state.damping, 0.1),
        steps=jnp.zeros_like(state.steps),
        rounds=state.rounds + 1,
    )
    return state._replace(value=state.objective(model, state.position, local))


def _numbers_of_features(field: RandomField, moments: RecordMoments, dtype) -> Array:
    """Matrix from the number of records and the sums of features to exact numbers."""
    layout, size = field.layout, len(field.closure)
    cells = jnp.asarray(denominators(layout), dtype)

    def numbers(sums):
        coefficients = sums[field.closure.places(layout)]
        return moments.mean(from_coefficients(layout, coefficients) / cells)

    return jax.vmap(numbers)(jnp.eye(size, dtype=dtype)).T
