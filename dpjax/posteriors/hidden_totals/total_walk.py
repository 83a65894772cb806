"""Metropolis chains over the hidden exact statistics of releases.

The parameters of the family are integrated out.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from dpjax._types import Key
from dpjax.families import Family
from dpjax.families.exact_totals import FamilyWithLaw
from dpjax.posteriors.hidden_totals.default_prior import DefaultPrior
from dpjax.posteriors.hidden_totals.hidden_total import HiddenTotal, Noisy, nearest
from dpjax.posteriors.hidden_totals.moment_walk import moment_walks
from dpjax.posteriors.laws import family_statistic, joint_law_of
from dpjax.posteriors.several import Tables, differing
from dpjax.releases.released import Released
from dpjax.statistics import FamilyStatistic

_WANTED = 0.44  # accepted share of one-dimensional steps
_Exact = Float[Array, " numbers"]
_Scalar = Float[Array, ""]


def infer(
    key: Key, tables: Tables, prior: Any, chains: int, warmup: int, draws: int
) -> tuple[Family, Any, tuple[Any, Array, Array, Array]]:
    """Run all chains; return the family, its prior as arrays, and the draws.

    The draws are `parameters`, `totals`, `n` and `accepted` of
    `NoiseAwareFamilyPosterior`.
    """
    statistic, family = check_family(tables[0][0])
    if prior is None:
        prior = DefaultPrior() if family.hyperparameters else family.vague_prior()
    if not isinstance(prior, DefaultPrior):
        prior = family.posterior(prior).parameters
    for found in tables:
        for one in found:
            if check_family(one)[0] != statistic:
                raise differing("statistic, family and `units`")
        refuse_few(found[0].n, family, "released")
    sizes = [jnp.asarray(x.n, float) for x, *_ in tables if x.n is not None]
    n = jnp.stack(sizes) if sizes else None
    releases = tuple(tuple(map(_noisy, found)) for found in tables)
    hidden = HiddenTotal(releases, n, prior, statistic, family)
    return family, prior, all_walks(key, hidden, chains, warmup, draws)


def _noisy(released: Released) -> Noisy:
    return Noisy(released.values.astype(float), joint_law_of(released))


def check_family(released: Released) -> tuple[FamilyStatistic, FamilyWithLaw]:
    """Return the statistic and family of a release that `family_posterior` accepts.

    Raises:
        ValueError: if `family_posterior` does not accept the release.
    """
    joint_law_of(released)
    statistic = family_statistic(released)
    family = statistic.family
    if not isinstance(family, FamilyWithLaw):
        raise ValueError(
            "`released` must be of a family with a law for its total, got "
            f'{family.name}: use `posterior(…, method="plug-in")`.'
        )
    return statistic, family


def refuse_few(n: Any, family: FamilyWithLaw, name: str) -> None:
    """Raise `ValueError` if the public number of records is too small for a posterior.

    Args:
        n: the number; None if it is private.
        family: the family whose total must have a density.
        name: name of the argument with the records, for the message.
    """
    try:
        known = np.inf if n is None else np.asarray(n)
    except jax.errors.TracerArrayConversionError:
        return
    if np.any(known < family.fewest):
        raise ValueError(
            f"`{name}` must be of at least {family.fewest} records, got {n}: the "
            "total of fewer records has no density."
        )


@eqx.filter_jit
def all_walks(
    key: Key, hidden: HiddenTotal, chains: int, warmup: int, draws: int
) -> tuple[Any, Array, Array, Array]:
    """Run all chains; return parameters, totals, numbers of records, and shares."""
    walks = moment_walks if hidden.family.has_coordinates else _walks
    totals, n, hyper, accepted = walks(key, hidden, chains, warmup, draws)
    totals, n = totals.sum(axis=-2), n.sum(axis=-1)

    def update(total, n, hyper):
        return hidden.family.update(hidden.conjugate(hyper, total, n), total, n)

    return jax.vmap(jax.vmap(update))(totals, n, hyper), totals, n, accepted


def _walks(
    key: Key, hidden: HiddenTotal, chains: int, warmup: int, draws: int
) -> tuple[Array, Array, Array, Array]:
    def chain(key, share):
        return _walk(key, hidden, share, warmup, draws)

    return jax.vmap(chain)(jr.split(key, chains), jnp.linspace(0.02, 0.3, chains))


class _State(NamedTuple):
    exact: _Exact
    hyper: Float[Array, " h"]
    log_density: _Scalar
    lengths: Float[Array, " kinds"]


def _walk(
    key: Key, hidden: HiddenTotal, share: _Scalar, warmup: int, draws: int
) -> tuple[Array, Float[Array, "draws t"], Array, Float[Array, " kinds"]]:
    """Run a chain; return totals, numbers of records, hyperparameters, accepted shares.

    Totals and numbers of records have an axis for the tables of records. Step lengths
    are fitted in the warm-up and then fixed. A sweep proposes one step for every number
    and every hyperparameter, in a fixed order.
    """
    start, hyper = hidden.start(share), jnp.zeros(hidden.hyperparameters)
    density = hidden.log_density(start, hyper)
    state = _State(start, hyper, density, _first_lengths(hidden))

    def sweep(carried, gain):
        key, state = carried
        key, key_now = jr.split(key)
        state, (accepted, is_walk) = _sweep(key_now, hidden, state)
        change = jnp.where(is_walk, gain * (accepted - _WANTED), 0)
        state = state._replace(lengths=state.lengths * jnp.exp(change))
        return (key, state), (*hidden.decode(state.exact), state.hyper, accepted)

    # One scan for all sweeps compiles to one program; gains are 0 after the warm-up
    index = jnp.arange(warmup + draws).astype(float)
    gains = jnp.where(index < warmup, (1 + index / 10) ** -0.6, 0)
    _, seen = jax.lax.scan(sweep, (key, state), gains)
    totals, counts, hypers, accepted = (x[warmup:] for x in seen)
    return totals, counts, hypers, accepted.mean(axis=0)


def _first_lengths(hidden: HiddenTotal) -> Float[Array, " kinds"]:
    """Return the initial step lengths, one for each kind of step.

    They are the noise scales for numbers, and the prior standard deviation 1 for
    hyperparameters.
    """
    scale = hidden.noise_scale()
    return jnp.concatenate([scale, jnp.ones(hidden.hyperparameters, scale.dtype)])


def _sweep(key: Key, hidden: HiddenTotal, state: _State) -> tuple[_State, Any]:
    # One call draws all, since each call adds compile time; the last row is for `shift`
    uniforms = jr.uniform(key, (hidden.kinds + 1, 3), minval=1e-7)
    partners = max(hidden.statistic.length - 1, 1)
    shift = 1 + jnp.floor(uniforms[-1, 0] * partners).astype(int)
    scale = hidden.noise_scale()

    def step(state, kind_and_uniforms):
        kind, uniform = kind_and_uniforms
        length = state.lengths[kind]
        exact, correction, is_walk = _propose(
            hidden, scale, state.exact, kind, length, shift, uniform
        )
        hyper = state.hyper
        if hidden.hyperparameters:
            moved = jnp.arange(hidden.kinds)[-hidden.hyperparameters :] == kind
            exact = jnp.where(moved.any(), state.exact, exact)
            correction = jnp.where(moved.any(), 0, correction)
            step_size = length * _variate(uniform[0])
            hyper = hyper + step_size * moved.astype(float)
        log_density = hidden.log_density(exact, hyper)
        gain = log_density - state.log_density + correction
        accepted = jnp.log(uniform[1]) < gain
        proposed = state._replace(exact=exact, hyper=hyper, log_density=log_density)
        state = jax.tree.map(lambda x, y: jnp.where(accepted, x, y), proposed, state)
        return state, (accepted.astype(float), is_walk)

    return jax.lax.scan(step, state, (jnp.arange(hidden.kinds), uniforms[:-1]))


def _propose(
    hidden: HiddenTotal,
    scale: _Exact,
    exact: _Exact,
    kind: Int[Array, ""],
    length: _Scalar,
    shift: Int[Array, ""],
    uniform: Float[Array, "3"],
) -> tuple[_Exact, _Scalar, Array]:
    """Propose an exact statistic, with the log of its Hastings correction.

    Unless `hidden.paired`, half of the proposals for a number are not random-walk steps
    but the released number plus new noise; for a weak prior, these are nearly draws
    from the posterior.
    """
    variate = _variate(uniform[0])
    is_number = kind < len(exact)
    place = jnp.minimum(kind, len(exact) - 1)
    spacing = jnp.asarray(hidden.spacing)[place]
    along = hidden.along(place, shift)
    stepped = exact + nearest(length * variate, spacing) * along
    if hidden.paired:
        return stepped, jnp.zeros(()), jnp.asarray(True)
    middle = nearest(hidden.noisy[place], spacing)
    fresh = middle + nearest(scale[place] * variate, spacing)
    correction = _log_fresh(exact[place] - middle, scale[place], spacing)
    correction = correction - _log_fresh(fresh - middle, scale[place], spacing)
    refreshed = exact + (fresh - exact[place]) * along
    is_walk = (uniform[2] < 0.5) | ~is_number
    proposed = jnp.where(is_walk, stepped, refreshed)
    return proposed, jnp.where(is_walk, 0, correction), is_walk


def _variate(uniform: _Scalar) -> _Scalar:
    """Convert a uniform variable to a standard Laplace variable."""
    half = uniform - 0.5
    return -jnp.sign(half) * jnp.log1p(-2 * jnp.abs(half))


def _log_fresh(noise: _Scalar, scale: _Scalar, spacing: _Scalar) -> _Scalar:
    """Log-probability of Laplace noise rounded to `spacing`, up to a constant."""
    half = spacing / (2 * scale)
    none = jnp.log(-jnp.expm1(-half))
    some = -jnp.abs(noise) / scale + half + jnp.log(-jnp.expm1(-2 * half)) - np.log(2)
    rounded = jnp.where(noise == 0, none, some)
    return jnp.where(spacing > 0, rounded, -jnp.abs(noise) / scale)
