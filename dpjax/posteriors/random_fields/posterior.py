"""Posteriors of records' distributions, given marginal tables without a network."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float

from dpjax._checks import typed_key, whole
from dpjax._later import infer
from dpjax._platforms import each
from dpjax._products import matmul
from dpjax._types import Key
from dpjax.posteriors.estimate.point_estimate import numbers_of
from dpjax.posteriors.gibbs.chain_posterior import ChainPosterior, ChainSampler
from dpjax.posteriors.priors import Prior
from dpjax.posteriors.random_fields.field import RandomField, field_of
from dpjax.posteriors.random_fields.fit import (
    FieldFit,
    FieldModel,
    FieldProblem,
    fit_field,
)
from dpjax.posteriors.random_fields.observed import estimate_of_number, noise_of
from dpjax.releases.released import Released
from dpjax.tables.layout import TableLayout
from dpjax.tables.projection import project

_NO_NOISE = 0.5  # standard deviation of noise that is taken for none
_NUTS: dict[str, Any] = {
    "max_tree_depth": (4, 6),  # in the warm-up, and after it
    "target_accept_prob": 0.7,  # the density is nearly normal, so steps may be longer
}
_DRAWS = 250  # of a chain
_MOST_KEPT = 1 << 26  # numbers in the tables of all draws: 256 MB


class FieldPosterior(ChainPosterior):
    """Draws from the posterior of a Markov random field, given marginal tables.

    The function `field_posterior` makes this object. `net` is a
    network that can have every distribution of the field. Its arrows connect all
    variables of each clique of a junction tree, and have no other meaning; `query`
    computes probabilities of any variables.

    `log_prob` is the log-density of the parameters of `RandomField` at the tables; its
    constant is that of a normal approximation. For other methods and arguments, see
    `ChainPosterior`, where `prior` has the number of records in the prior for each
    cell of `net.layout`.

    Args:
        fit: the mode and the normal approximation there.

    Privacy:
        Post-processing of a release has no privacy cost.
    """

    fit: FieldFit

    def estimate(self) -> dict[str, Array]:
        """Return the tables of `net` at the posterior mode, by variable name.

        With a small prior, they have the largest entropy of all distributions whose
        marginal tables are the estimated ones.
        """
        return self._by_name(field_of(self.released).tables(self.fit.mode))

    @property
    def layout(self) -> TableLayout:
        """Layout of the tables that were measured."""
        return field_of(self.released).layout

    def shares(self) -> Float[Array, "d c"]:
        """Return the shares of all cells of the tables of `layout`, for each draw."""
        field = field_of(self.released)
        return _shares(field, self.samples.reshape(-1, self.samples.shape[-1]))

    def _log_density(self, theta: Array) -> Array:
        aware = self.method != "plug-in"
        field, *given = _given(self.released, self.prior, aware)
        return _log_density(field, *given, self.fit, field.parameters(theta))


def field_posterior(
    key: Key,
    released: Released,
    prior: Prior = 1.0,
    *,
    noise_aware: bool = True,
    chains: int = 4,
    warmup: int = 200,
    samples: int | None = None,
) -> FieldPosterior:
    r"""Draw from the posterior of a Markov random field, given noisy marginal tables.

    The field has no interactions beyond those of the tables (see `RandomField`). Given
    its parameters, the exact numbers are about normal, with their exact mean and the
    covariance at the posterior mode. Laplace noise is replaced by normal noise that
    leaves as much uncertainty. Standard deviations are inaccurate where a strong prior
    contradicts the release.

    The posterior mode is found first; the Markov chains of the NUTS sampler start
    there, in coordinates in which the normal approximation of the posterior has unit
    variances.

    Args:
        key: typed JAX key.
        released: counts of marginal tables with K-norm noise (`MarginalContrasts`), or
            Fourier coefficients (`FourierCoefficients`), without a network.
        prior: number of records in the prior for each level of the variable with the
            most levels, > 0. The prior is proportional to the likelihood of these
            records, whose distribution is uniform, and to a normal density of each
            parameter of several variables. With 1, all shares of that variable's levels
            are as probable, if it has no interactions. The normal densities are centred
            at 0, and their precision, one for all parameters of as many variables, is
            the most likely one given the release and these records, where a precision
            of 1 has the weight of two parameters; intervals take it as known. A
            dictionary has numbers of records for all cells of each table of `net`. A
            private number of records has the normal distribution of its unbiased
            estimate of least variance, above 0, and does not depend on the prior.
        noise_aware: if False, the noisy tables are projected onto consistent tables
            without negative cells and taken as exact; the intervals are too narrow.
        chains: number of chains, run in parallel.
        warmup: number of discarded first draws of each chain, for adaptation.
        samples: number of draws kept of each chain. By default 250, or every second,
            third … of 250 if the tables of all draws would have more than 2^26 numbers.

    Privacy:
        Post-processing has no privacy cost, and may be repeated with other priors.

    Raises:
        ValueError: if the release has a network or is not of tables, its noise is not
            known, the tables are too densely connected for a junction tree, or an
            argument is not valid.

    Reference:
        Räisä et al. (AISTATS 2023), NAPSU-MQ, for Gaussian noise; Foulds et al.
        (UAI-16), section 4.2, name fully observed Markov random fields.
    """
    typed_key(key=key)
    check_field(released)
    settings = {"noise_aware": noise_aware, "chains": chains, "warmup": warmup}
    settings["samples"], thin = samples, 1
    whole(1, chains=chains, warmup=warmup)
    if samples is None:
        numbers = chains * _DRAWS * field_of(released).net.layout.length
        thin = -(-numbers // _MOST_KEPT)
        samples = max(1, _DRAWS // thin)
    whole(1, samples=samples)
    sizes = {"chains": chains, "warmup": warmup, "samples": samples, "thin": thin}
    prior = field_of(released).prior_counts(prior)
    field, *given = _given(released, prior, noise_aware)
    fit = fit_field(field, *given)
    theta, n, diverging = _run(key, field, *given, fit, **sizes)
    method = "random-field" if noise_aware else "plug-in"
    sampler = ChainSampler(method, field_posterior, (*settings.items(),))
    reports = {"divergences": diverging}
    return FieldPosterior(released, prior, theta, None, n, reports, sampler, fit)


def check_field(released: Released) -> None:
    """Raise `ValueError` unless `field_posterior` accepts the release."""
    numbers_of(released)
    field_of(released).net  # noqa: B018  (raises)


def _given(released: Released, prior: Array, noise_aware: bool):
    """The field, and what is known of it."""
    field, counted, n = field_of(released), released.counted, released.n
    vector = jnp.asarray(released.values, float)
    tables = counted.tables(vector, n)
    if noise_aware:
        moments, values, scale, weights = numbers_of(released)
    else:
        moments = counted.record_moments()
        values = moments.mean(project(counted.layout, tables, n))
        scale, weights = jnp.full(values.shape, _NO_NOISE), 1.0
    if weights is not None:
        weights = jnp.broadcast_to(weights, values.shape)
    number, deviation = n, 0.0
    if n is None:
        noise = noise_of(scale, weights)
        number, deviation = estimate_of_number(field, moments, values, noise)
    least = 1e-3 if n is not None else 1
    sizes = jnp.maximum(jnp.asarray(number, float), least), jnp.asarray(deviation)
    strength = prior[: field.net.layout.offsets[1]].sum()
    given = _features(field, prior), strength, *sizes, field.possible()
    problem = FieldProblem(values, scale, weights, *given)
    return field, moments, problem, n is not None


_features = jax.jit(RandomField.features_of_net, static_argnums=0)
_STATIC = ("field", "moments", "public_n", "chains", "warmup", "samples", "thin")


@partial(jax.jit, static_argnames=_STATIC)
def _run(
    key: Key, field, moments, problem, public_n, fit, *, chains, warmup, samples, thin
) -> tuple[Array, Array, Array]:
    """Draw tables and numbers of records; count divergences."""
    density = FieldModel.of(field, moments, problem, public_n).density(fit)
    mode, root = fit.mode, jnp.linalg.cholesky(fit.covariance)

    def potential(z: Array) -> Array:
        return -density(mode + matmul(root, z))

    def one_chain(key):
        kernel = infer.NUTS(potential_fn=potential, **_NUTS)
        sizes = {"num_warmup": warmup, "num_samples": samples * thin}
        chain: Any = infer.MCMC(kernel, **sizes, thinning=thin, progress_bar=False)
        chain.run(key, init_params=jnp.zeros(mode.shape, mode.dtype))
        return chain.get_samples(), chain.get_extra_fields()["diverging"].sum()

    def one_draw(given):
        z, share = given
        eta, n, sd = mode + matmul(root, z), problem.n, problem.deviation
        if not public_n:  # normal, but not below 0
            off = -sd * ndtri(share * ndtr(n / sd))
            eta, n = eta + fit.along * off, n + off
        return field.tables(eta), n

    key_chains, key_n = jr.split(key)
    with jax.default_matmul_precision("highest"):
        drawn, diverging = jax.vmap(one_chain)(jr.split(key_chains, chains))
    least = jnp.finfo(mode.dtype).tiny
    shares = jr.uniform(key_n, (chains * samples,), mode.dtype, least)
    given = drawn.reshape(-1, mode.size), shares
    theta, n = each(one_draw, given, field.at_once)
    return theta.reshape(chains, samples, -1), n.reshape(chains, samples), diverging


@partial(jax.jit, static_argnums=0)
def _shares(field: RandomField, theta: Array) -> Array:
    return each(lambda x: field.marginals(field.parameters(x)), theta, field.at_once)


@partial(jax.jit, static_argnames=("field", "moments", "public_n"))
def _log_density(field, moments, problem, public_n, fit: FieldFit, eta) -> Array:
    """Log-density of a field's parameters, normalised as a normal distribution."""
    model = FieldModel.of(field, moments, problem, public_n)
    mode, root = fit.mode, jnp.linalg.cholesky(fit.covariance)
    volume = jnp.log(jnp.diagonal(root)).sum() + mode.size / 2 * np.log(2 * np.pi)
    largest = model.density(fit)(mode) + volume
    return model.marginal_density(fit)(eta) - largest
