"""Truncated laws: how fast a Beta draw is, and how many proposals a ball accepts.

Targets: a truncated Beta at least 5 times as fast as SciPy's inverse, and in at most
0.4 times the time of `jax.random.beta`; at least 4 % of a ball's proposals accepted
where a naive one is inside with a chance below 1e-30 (performance.md, T1 and T2).
"""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy import special

from benchmarks.report import Row, shown
from benchmarks.timing import medians
from dpjax.distributions import GaussianInBall, TruncatedBeta
from dpjax.distributions.ball_proposal import draw, proposal, rotate
from dpjax.noise.keys import study_key

CASES = {
    "Beta(7, 15) on [.1, .9]": (7.0, 15.0, 0.1, 0.9),
    "Beta(3, 900) on [.05, .95]": (3.0, 900.0, 0.05, 0.95),
    "Beta(1e5, 1e5) on [.05, .95]": (1e5, 1e5, 0.05, 0.95),
}
D = 100
BALLS = {
    "mean 10 everywhere": (np.full(D, 10.0), np.ones(D), 1.0),
    "ball tiny beside the covariance": (np.zeros(D), np.ones(D), 1e-3),
    "precisions 1 to 1e4, mean 1": (np.ones(D), np.logspace(0, 4, D), 1.0),
    "precisions 1e-4 to 1, mean 100": (np.full(D, 100.0), np.logspace(-4, 0, D), 1.0),
}


def betas(draws: int) -> Iterator[Row]:
    """T1: seconds of a batch of draws."""
    key = study_key(0)
    uniform = np.random.default_rng(0).random(draws)
    exact = jax.jit(lambda key, *p: TruncatedBeta(*p).sample(key))
    plain = jax.jit(lambda key, a, b, *_: jr.beta(key, a, b))
    number = jax.jit(lambda key: jr.uniform(key, (draws,)))
    for name, (a, b, low, high) in CASES.items():
        wide = [jnp.full(draws, x) for x in (a, b, low, high)]
        ends = special.betainc(a, b, low), special.betainc(a, b, high)

        def inverse(a=a, b=b, ends=ends):
            return special.betaincinv(a, b, ends[0] + uniform * (ends[1] - ends[0]))

        seconds = medians(
            {
                "dpjax": lambda wide=wide: exact(key, *wide),
                "SciPy": inverse,
                "jax.random.beta": lambda wide=wide: plain(key, *wide),
                "a uniform": lambda: number(key),
            }
        )
        faster = seconds["SciPy"] / seconds["dpjax"]
        if np.ptp(inverse()):
            yield Row("T1", name, faster, "× SciPy's inverse", 5, seconds=seconds)
        else:  # no mass inside, in doubles: its draws are all the same
            failing = "× SciPy's inverse, which fails"
            yield Row("T1", name, faster, failing, seconds=seconds)
        part = seconds["dpjax"] / seconds["jax.random.beta"]
        yield Row("T1", name, part, "of jax.random.beta's time", 0.4, at_least=False)
        numbers = seconds["dpjax"] / seconds["a uniform"]
        yield Row("T1", name, numbers, "× time of one uniform a draw", at_least=False)


def balls(lanes: int) -> Iterator[Row]:
    """T2: the share of proposals accepted."""
    for name, (mean, precision, radius) in BALLS.items():
        matrix = jnp.diag(jnp.asarray(precision, float))
        law = proposal(rotate(jnp.asarray(mean, float), matrix, jnp.asarray(radius)))
        many = jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (lanes, *leaf.shape)), law
        )
        accepted = np.asarray(jax.jit(draw)(study_key(0), many)[1]).mean()
        whole = GaussianInBall(jnp.asarray(mean, float), matrix, radius)
        density = -0.5 * (precision * mean**2).sum() + 0.5 * np.log(precision).sum()
        density -= D / 2 * np.log(2 * np.pi)
        inside = (density - float(whole.log_prob(jnp.zeros(D)))) / np.log(10)
        unit = f"of proposals accepted; naive 1e{inside:.0f}"
        yield Row("T2", f"d = {D}, {name}", float(accepted), unit, 0.04)


def rows(full: bool = False) -> Iterator[Row]:
    """Both."""
    yield from betas(2_000_000 if full else 200_000)
    yield from balls(200_000 if full else 20_000)


def main() -> None:
    """Print all."""
    for line in shown(rows()):
        print(line)


if __name__ == "__main__":
    main()
