"""A NumPyro model of a release with a normal approximation of the hidden statistic.

The model suits large data sets: unlike a Gibbs sweep, a step has a cost that does not
depend on the number of records.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from dpjax._checks import typed_key, whole
from dpjax._later import dist, infer, numpyro
from dpjax._products import matmul
from dpjax._types import Key
from dpjax.posteriors.gibbs.chain_posterior import ChainPosterior, ChainSampler
from dpjax.posteriors.gibbs.latent_records import highest_total, law_scale
from dpjax.posteriors.laws import law_of
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.privacy import ADD_REMOVE
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic
from dpjax.tables.layout import TableLayout

_MOST_STATES = 4096


def normal_model(released: Released, prior: Prior = 1.0) -> Callable[[], None]:
    r"""Make a NumPyro model of a network's tables and of the noisy release.

    A joint state is a combination of levels of all variables. The joint states of n
    records have multinomial counts with probabilities p, which a matrix S maps to the
    released statistic. The statistic is approximated as normal, with its exact mean
    $n S p$ and covariance $n S (\mathrm{diag}(p) - p p^T) S^T$. The approximation is
    accurate if the expected counts in each released number are large; in the model,
    small counts may be negative. Laplace noise of scale b is normal given a variance
    that is $2 b^2$ times an exponential variable. Hence the release is normal given the
    tables and variances, and the statistic is integrated out.

    Args:
        released: noisy counts or Fourier coefficients of a network of few joint states.
        prior: Dirichlet parameter of all cells, > 0; or a dictionary from variable name
            to a table of parameters. Under add-remove, n has a flat prior on n ≥ 0.

    Returns:
        A function without arguments, which is a NumPyro model. Its site "theta" has all
        probabilities in the order of `net.layout`, "n" is the number of records, and
        "logits" has the free coordinates of the tables.

    Privacy:
        Post-processing of a release has no privacy cost.

    Raises:
        ValueError: if the network has more than 4096 joint states, the prior has the
            wrong shape, the distribution of the noise is not known, or the release is
            not for a network.
    """
    check_normal(released)
    net = released.net
    states = np.array(list(itertools.product(*map(range, net.sizes))), np.int32)
    parts = _contributions(released.counted, states)
    concentration = jnp.broadcast_to(flat_prior(net, prior), (net.layout.length,))

    def model() -> None:
        log_theta = _log_tables(concentration, net.layout)
        numpyro.deterministic("theta", jnp.exp(log_theta))
        p = jnp.exp(log_theta[net.layout.cells(states)].sum(axis=1))
        mean, covariance = _moments(
            jnp.asarray(parts, p.dtype), p, _number_of_records(released)
        )
        noise = dist.Exponential(1.0).expand([len(mean)]).to_event(1)
        variances = 2 * law_scale(released) ** 2 * numpyro.sample("noise", noise)
        residual = released.values.astype(float) - mean
        law = _log_normal(residual, covariance + jnp.diag(variances))
        numpyro.factor("release", law)

    return model


def check_normal(released: Released) -> None:
    """Raise `ValueError` unless `normal_posterior` accepts the release."""
    law_of(released)
    released.counted  # noqa: B018  (raises)
    number = math.prod(released.net.sizes)
    if number > _MOST_STATES:
        raise ValueError(
            f"`released` must be for a network of at most {_MOST_STATES} joint states, "
            f"got {number}: use `gibbs_posterior`, which does not list them."
        )


def normal_posterior(
    key: Key,
    released: Released,
    prior: Prior = 1.0,
    *,
    chains: int = 4,
    warmup: int = 1000,
    samples: int = 1000,
) -> ChainPosterior:
    """Draw from the posterior distribution of `normal_model` with the NUTS sampler.

    The method suits many records and few joint states (combinations of levels of all
    variables). A gradient costs of the order of k m² operations for k joint states and
    m released numbers. Longer chains do not reduce the error of the model's normal
    approximation. The result's `diagnostics` and `reports["divergences"]` show whether
    the chains converged.

    Args:
        key: typed JAX key.
        released: noisy counts or Fourier coefficients of a network. Releases stacked
            along leading axes need `vmap`.
        prior: Dirichlet parameter of all cells, > 0; or a dictionary from variable name
            to a table of parameters.
        chains: number of chains, run in parallel, from dispersed starts.
        warmup: number of discarded first draws of each chain, for adaptation.
        samples: number of draws kept of each chain.

    Privacy:
        Post-processing has no privacy cost, and may be repeated with other priors.

    Raises:
        ValueError: if an argument is out of range, or the release or the prior is not
            valid for `normal_model`.

    Reference:
        Hoffman & Gelman (JMLR 2014), for NUTS.
    """
    typed_key(key=key)
    whole(1, chains=chains, warmup=warmup, samples=samples)
    check_normal(released)
    flat = flat_prior(released.net, prior)
    flat = jnp.broadcast_to(flat, (released.net.layout.length,))
    sizes = {"chains": chains, "warmup": warmup, "samples": samples}
    reports, theta, n = _run(key, released, flat, **sizes)
    sampler = ChainSampler("normal", normal_posterior, tuple(sizes.items()))
    return ChainPosterior(released, flat, theta, None, n, reports, sampler)


@partial(jax.jit, static_argnames=("chains", "warmup", "samples"))
def _run(
    key: Key,
    released: Released,
    prior: Array,
    *,
    chains: int,
    warmup: int,
    samples: int,
) -> tuple[dict[str, Array], Array, Array]:
    tables = zip(released.net.names, released.net.layout.split(prior), strict=True)
    model = normal_model(released, dict(tables))

    def one_chain(key):
        chain = infer.MCMC(
            infer.NUTS(model),
            num_warmup=warmup,
            num_samples=samples,
            progress_bar=False,
        )
        with jax.default_matmul_precision("highest"):
            chain.run(key)
        return chain.get_samples(), chain.get_extra_fields()["diverging"]

    draws, diverging = jax.vmap(one_chain)(jr.split(key, chains))
    return {"divergences": diverging.sum(axis=1)}, draws["theta"], draws["n"]


def _contributions(statistic: TableStatistic, states: np.ndarray) -> np.ndarray:
    with jax.ensure_compile_time_eval():
        measure = jax.jit(lambda record: statistic.measure(record[None]))
        return np.asarray(jax.vmap(measure)(states), np.float32)


def _moments(parts: Array, p: Array, n: Array) -> tuple[Array, Array]:
    """Mean and covariance of the statistic of n records with state probabilities p."""
    mean = matmul(p, parts)
    offsets = parts - mean[None]
    spread = matmul(offsets.T * p[None], offsets)
    # Rounding errors may make the covariance indefinite by about `least`.
    least = 8 * jnp.finfo(p.dtype).eps * jnp.trace(spread)
    return n * mean, n * (spread + least * jnp.eye(len(mean), dtype=p.dtype))


def _log_tables(concentration: Array, layout: TableLayout) -> Array:
    r"""Draw the logs of Dirichlet rows, as log-ratios to the last cell of each row.

    The density of the log-ratios is proportional to $\prod_k \theta_k^{\alpha_k}$,
    since the Jacobian adds 1 to each of the powers $\alpha_k - 1$.
    """
    free = np.flatnonzero(np.diff(layout.rows, append=-1) == 0)
    real = dist.ImproperUniform(dist.constraints.real_vector, (), (len(free),))
    ratios = jnp.asarray(numpyro.sample("logits", real))
    logits = jnp.zeros(layout.length, ratios.dtype).at[free].set(ratios)
    highest = layout.row_maxima(logits)
    sums = layout.row_sums(jnp.exp(logits - highest))
    log_theta = logits - highest - jnp.log(sums)
    numpyro.factor("prior", matmul(concentration, log_theta))
    return log_theta


def _number_of_records(released: Released) -> Array:
    """Return the public n, or draw n with a flat prior as a multiple of an estimate."""
    if released.adjacency != ADD_REMOVE:
        n = jnp.asarray(released.n, float)
        numpyro.deterministic("n", n)
        return n
    guess = highest_total(released, 1)
    real = dist.ImproperUniform(dist.constraints.real, (), ())
    log_multiple = jnp.asarray(numpyro.sample("log_multiple", real))
    numpyro.factor("flat", log_multiple)
    n = guess * jnp.exp(log_multiple)
    numpyro.deterministic("n", n)
    return n


@jax.custom_jvp
def _log_normal(
    residual: Float[Array, " m"], covariance: Float[Array, "m m"]
) -> Float[Array, ""]:
    """Log-density of a centred normal vector with a well-conditioned covariance.

    The gradient needs only the inverse. The default gradient uses batched triangular
    solves, which on a CPU take tens of times as long as the loop of `_invert`.
    """
    inverse, log_determinant = _invert(covariance)
    return _log_density(residual, matmul(inverse, residual), log_determinant)


@_log_normal.defjvp
def _tangent(primals, tangents):
    (residual, covariance), (moved, spread) = primals, tangents
    inverse, log_determinant = _invert(covariance)
    weights = matmul(inverse, residual)
    gradient = (jnp.outer(weights, weights) - inverse) / 2
    change = jnp.sum(gradient * spread) - matmul(weights, moved)
    return _log_density(residual, weights, log_determinant), change


def _log_density(residual: Array, weights: Array, log_determinant: Array) -> Array:
    constant = len(residual) * math.log(2 * math.pi)
    return -(matmul(residual, weights) + log_determinant + constant) / 2


def _invert(matrix: Array) -> tuple[Array, Array]:
    """Inverse and log-determinant, by the sweep operator on each row in turn."""

    def sweep(k, carry):
        matrix, log_determinant = carry
        row = matrix[k]
        pivot = row[k]
        scaled = row / pivot
        matrix = matrix - jnp.outer(row, scaled)
        matrix = matrix.at[k].set(scaled).at[:, k].set(scaled)
        matrix = matrix.at[k, k].set(-1 / pivot)
        return matrix, log_determinant + jnp.log(pivot)

    none = jnp.zeros((), matrix.dtype)
    swept, log_determinant = lax.fori_loop(0, len(matrix), sweep, (matrix, none))
    return -swept, log_determinant
