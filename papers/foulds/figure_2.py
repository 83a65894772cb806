"""Figure 2 of Foulds et al.: the error of one private posterior sample against N."""

__all__ = ["FIGURE_2"]

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int32

from dpjax._types import Key
from dpjax.mechanisms import DiscreteLaplace, PosteriorSample
from dpjax.plots import Panel, Series, draw_panels
from dpjax.privacy import REPLACE_ONE
from dpjax.statistics import NetworkCounts
from dpjax.theory import bernoulli_constant
from papers.foulds.efficiency import paired_error
from papers.networks import COIN
from papers.numbers import mean_and_error, relative_error, table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

TRUTH, EPSILON, OMEGA = 0.1, "0.1", "0.05"
TEMPERATURE = 2 * float(bernoulli_constant(OMEGA)) / float(EPSILON)
FEWER = 2 / (1 + TEMPERATURE)  # Theorem 4's efficiency over Theorem 5's


def _run(setting: Setting) -> Reproduced:
    repeats = 10_000  # ten times the paper's: for the claims
    sizes = np.unique(np.geomspace(1, 1e5, 11 if setting.quick else 21).astype(int))
    key, key_fewer = jr.split(setting.key)
    rng = setting.rng()
    plain, laplace, ops = _errors(key, _counts(rng, sizes, repeats))
    fewer = np.maximum(np.round(sizes * FEWER), 1).astype(int)
    of_fewer, _, _ = _errors(key_fewer, _counts(rng, fewer, repeats))
    better = sizes[ops.mean(axis=0) < laplace.mean(axis=0)]
    curves = {
        "non-private": plain,
        "Laplace": laplace,
        "OPS": ops,
        f"non-private, {FEWER:.3f} N observations": of_fewer,
    }
    return Reproduced(
        _words(better, curves),
        {"": _table(sizes, curves)},
        {"": partial(draw_panels, [_panel(sizes, curves)])},
        _claims(sizes, plain, laplace, ops, of_fewer),
    )


def _counts(rng: np.random.Generator, sizes: np.ndarray, repeats: int) -> np.ndarray:
    """Failures and successes, a row a repeat, a column a number of observations."""
    ones = rng.binomial(sizes, TRUTH, (repeats, sizes.size))
    return np.stack([sizes - ones, ones], axis=-1).astype(np.int32)


def _errors(key: Key, counts: np.ndarray) -> list[np.ndarray]:
    """|sample - p| by posterior, repeat and number of observations."""
    change = NetworkCounts(COIN).sensitivity(REPLACE_ONE)
    noise = DiscreteLaplace.calibrate(EPSILON, change)
    ops = PosteriorSample(COIN.layout, TEMPERATURE, float(OMEGA), REPLACE_ONE)
    every = counts.reshape(-1, 2)
    draws = _draws(jr.split(key, len(every)), jnp.asarray(every), noise, ops)
    shape = (3, *counts.shape[:-1])
    return [*np.abs(np.asarray(draws).T.reshape(shape) - TRUTH)]


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, None, None))
def _draws(
    key: Key, counts: Int32[Array, " 2"], noise: DiscreteLaplace, ops: PosteriorSample
) -> Float[Array, " 3"]:
    """One draw of each posterior of the success probability, from a uniform prior."""
    key_plain, key_noise, key_noisy, key_ops = jr.split(key, 4)
    noisy = jnp.maximum(noise.sample(key_noise, counts), 0)
    plain = jr.dirichlet(key_plain, 1.0 + counts.astype(float))
    private = jr.dirichlet(key_noisy, 1.0 + noisy.astype(float))
    return jnp.stack([plain[1], private[1], ops.sample(key_ops, counts)[1]])


def _claims(sizes, plain, laplace, ops, of_fewer) -> list[Claim]:
    more, large = sizes > 10, sizes >= 10_000
    to_plain = laplace[:, large].mean(axis=0) / plain[:, large].mean(axis=0)
    to_fewer = ops[:, large].mean(axis=0) / of_fewer[:, large].mean(axis=0)
    return [
        Claim.mean_positive(
            "OPS is better than Laplace with very few observations (N = 1)",
            (laplace - ops)[:, 0],
        ),
        Claim.mean_positive(
            "and only then: Laplace is better at every N above 10",
            (ops - laplace)[:, more].T,
        ),
        Claim.positive(
            "Laplace converges to the non-private posterior: its error is within a "
            "quarter of it from N = 10,000 on, and within 10 % at N = 100,000",
            np.array([*([0.25] * (large.sum() - 1)), 0.1]) - np.abs(to_plain - 1),
            paired_error(laplace[:, large], plain[:, large]),
        ),
        Claim.positive(
            "OPS behaves as the posterior of fewer observations: from N = 10,000 on "
            f"its error is within 10 % of the non-private one of {FEWER:.3f} N",
            0.1 - np.abs(to_fewer - 1),
            relative_error(ops[:, large], of_fewer[:, large]),
        ),
    ]


def _table(sizes: np.ndarray, curves: dict[str, np.ndarray]) -> dict[str, list]:
    rows = [
        (name, int(n), *mean_and_error(x))
        for name, errors in curves.items()
        for n, x in zip(sizes, errors.T, strict=True)
    ]
    return table(("posterior", "N", "error", "standard_error"), rows)


def _panel(sizes: np.ndarray, curves: dict[str, np.ndarray]) -> Panel:
    series = [
        Series(
            name,
            sizes,
            *np.array([mean_and_error(x) for x in errors.T]).T,
            style="dashed" if "observations" in name else "line",
        )
        for name, errors in curves.items()
    ]
    return Panel(
        series,
        "number of observations N",
        "L1 error of one sample, |θ - p|",
        title=f"p = {TRUTH:g}, ε = {EPSILON} (replace-one), a₀ = {OMEGA}",
        log_x=True,
        log_y=True,
    )


def _words(better: np.ndarray, curves: dict[str, np.ndarray]) -> str:
    last = {name: errors[:, -1].mean() for name, errors in curves.items()}
    return (
        "One draw from the posterior of a success probability, against the number of "
        f"observations. OPS (T = {TEMPERATURE:.1f}) has the smaller error than Laplace "
        f"(scale 20) at N = {', '.join(map(str, better))} of the sizes shown. At N = "
        f"100,000 the errors are {last['non-private']:.5f} non-private, "
        f"{last['Laplace']:.5f} with Laplace, {last['OPS']:.5f} with OPS. The dashed "
        f"curve is the non-private posterior of {FEWER:.3f} N observations, that is "
        "2 / (1 + T) of them: what Theorems 4 and 5 say that OPS is worth."
    )


FIGURE_2 = Reproduction(
    "foulds-figure-2",
    "The error of one private posterior sample against the number of observations",
    "Foulds et al., Figure 2",
    _run,
)
