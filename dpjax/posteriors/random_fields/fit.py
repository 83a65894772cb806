"""Normal approximation of the posterior of a random field's parameters.

The exact numbers behind a release are about normal given the parameters, and so are the
noisy numbers. The posterior mode is found in rounds. Each round fixes the covariance of
the noisy numbers at the parameters of the round before, and solves a nonlinear problem
of least squares by the method of Levenberg and Marquardt. After convergence, the sums
of the features of all records, of the prior too, equal their expectations given the
release; without noise, this is the maximum of the likelihood times the prior.

Parameters of two variables have a normal prior, and so have those of three, and so on.
Each round also sets the precision of each of these priors to its most likely value.

A private number of records n has the normal distribution of its unbiased estimate.
With a flat prior instead, many parameters would pull it far below the estimate, since
they have less volume for a larger n. The posterior of the parameters given n is that
given the estimate, moved with its mode, to first order.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from dpjax._products import matmul
from dpjax.posteriors.estimate.normal_update import NormalUpdate, normal_update
from dpjax.posteriors.estimate.number_law import laplace_variance
from dpjax.posteriors.random_fields.field import RandomField
from dpjax.posteriors.random_fields.observed import noise_of, numbers_of_features
from dpjax.statistics.record_moments import RecordMoments

_ROUNDS = 10
_STEPS = 40  # of a round, at most
_LOOSE = 0.01  # precision of a normal prior of parameters of one variable
_USUAL = 1.0  # first precision of parameters of several variables
_BELIEF = 2.0  # number of parameters that the release would have to outweigh
_NODES = 15  # of a quadrature over a private number of records
_NEAR = 1e-3  # last step of a round, in posterior standard deviations


class FieldProblem(NamedTuple):
    """Released numbers of records, their noise, and a prior."""

    values: Float[Array, " m"]
    scale: Float[Array, " m"]  # of Laplace noise, or of normal noise
    weights: Float[Array, " m"] | None  # None for Laplace noise: see `NormalNumbers`
    prior: Float[Array, " k"]  # sums of the features of the records in the prior
    strength: Float[Array, ""]  # number of records in the prior
    n: Float[Array, ""]  # number of records, or its estimate
    deviation: Float[Array, ""]  # of the estimate; 0 if the number is public
    possible: Float[Array, "k x"] | None  # of the field


class FieldFit(NamedTuple):
    """Normal approximation of the posterior, given the number of records."""

    mode: Float[Array, " k"]
    covariance: Float[Array, "k k"]
    precision: Float[Array, "m m"]  # inverse of the covariance of the noisy numbers
    prior: Float[Array, " k"]  # precisions of the parameters' normal prior
    step: Float[Array, ""]  # size of the last step, in posterior standard deviations
    along: Float[Array, " k"]  # derivative of the mode by a private number of records


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
        observe = numbers_of_features(field, moments, problem.scale.dtype)
        return cls(field, observe, problem, public_n)

    def at(self, eta: Array) -> "_Local":
        """Compute moments at some parameters."""
        n, possible = self.problem.n, self.problem.possible
        mean = self.field.mean(eta, possible)
        covariance = self.field.covariance(eta, possible)
        whole, observe = self.whole(mean), self.observe[:, 1:]
        moved = n * matmul(observe, covariance)
        spread = matmul(moved, observe.T)
        # Rounding errors may make the information of rare cells negative.
        least = 8 * jnp.finfo(n.dtype).eps * n * jnp.eye(len(mean), dtype=n.dtype)
        information = self.problem.strength * covariance + least
        residual = self.problem.values - n * whole
        slope = self.problem.prior - self.problem.strength * mean
        return _Local(information, moved, spread, residual, slope)

    def density(self, fit: FieldFit) -> Callable[[Array], Array]:
        """Return the log-density of the parameters, as a function.

        The covariance of the noisy numbers is that at the mode. The number of records
        is public, or taken as its estimate.
        """

        def log_density(eta: Array) -> Array:
            whole = self.whole(self.field.mean(eta, self.problem.possible))
            residual = self.problem.values - self.problem.n * whole
            law = -matmul(residual, matmul(fit.precision, residual)) / 2
            return law + self.log_prior(eta, fit.prior)

        return log_density

    def marginal_density(self, fit: FieldFit) -> Callable[[Array], Array]:
        """Return the log-density of the parameters if the number is private, or not."""
        density = self.density(fit)
        if self.public_n:
            return density
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        logs = np.log(weights / weights.sum()).astype(fit.mode.dtype)
        moves = nodes.astype(fit.mode.dtype)[:, None] * self.problem.deviation
        moves = moves * fit.along[None]
        return lambda eta: logsumexp(lax.map(density, eta[None] - moves) + logs)

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
    position: Array  # the parameters
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
        return model.log_prior(position, self.prior) - off / 2

    def updated(self) -> NormalUpdate:
        """Compute the normal approximation of the posterior."""
        local = self.local
        information = local.information + jnp.diag(self.prior)
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
    local, covariance = found.local, found.updated().covariance
    along = jnp.zeros_like(found.position)
    if not public_n:
        whole = (problem.values - local.residual) / problem.n
        pull = matmul(local.moved.T, matmul(found.precision, whole))
        along = -matmul(covariance, pull)
    given = covariance, found.precision, found.prior, found.step
    return FieldFit(found.position, *given, along)


def _first(model: FieldModel) -> _State:
    problem, k = model.problem, len(model.field)
    noise, m = noise_of(problem.scale, problem.weights), problem.values.size
    none = jnp.zeros_like(noise)
    start = jnp.zeros(k, noise.dtype)
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
    prior = state.prior
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
    update = state.updated()
    if problem.weights is None:
        noise = laplace_variance(update.variance(noise), problem.scale)
    least = 8 * jnp.finfo(noise.dtype).eps * problem.n
    noise = jnp.maximum(noise, least)  # below, it is rounded away beside the spread
    precision = jnp.linalg.inv(local.spread + jnp.diag(noise))
    variances = jnp.diagonal(update.covariance)
    learned = model.likely_precisions(state.position, variances, state.prior)
    state = state._replace(
        noise=noise,
        precision=precision,
        prior=jnp.where(state.rounds == 0, state.prior, learned),
        damping=jnp.full_like(state.damping, 0.1),
        steps=jnp.zeros_like(state.steps),
        rounds=state.rounds + 1,
    )
    return state._replace(value=state.objective(model, state.position, local))
