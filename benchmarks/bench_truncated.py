"""Truncated laws: how fast a Beta draw is, and how many proposals a ball accepts.

Targets: a truncated Beta at least 5 times as fast as SciPy's inverse, and in at most
0.4 times the time of `jax.random.beta`; at least 4 % of a ball's proposals accepted
where a naive one is inside with a chance below 1e-30.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy import special

from benchmarks.timing import medians
from dpjax.distributions import GaussianInBall, TruncatedBeta
from dpjax.distributions.ball_proposal import draw, proposal, rotate
from dpjax.random import study_key

DRAWS = 200_000
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


def betas() -> None:
    key = study_key(0)
    uniform = np.random.default_rng(0).random(DRAWS)
    for name, (a, b, low, high) in CASES.items():
        wide = [jnp.full(DRAWS, x) for x in (a, b, low, high)]
        exact = jax.jit(lambda key, *p: TruncatedBeta(*p).sample(key))
        plain = jax.jit(lambda key, a, b, *_: jr.beta(key, a, b))
        ends = special.betainc(a, b, low), special.betainc(a, b, high)

        def inverse(a=a, b=b, ends=ends):
            return special.betaincinv(a, b, ends[0] + uniform * (ends[1] - ends[0]))

        seconds = medians(
            {
                "exact": lambda exact=exact, wide=wide: exact(key, *wide),
                "scipy": inverse,
                "jax": lambda plain=plain, wide=wide: plain(key, *wide),
            }
        )
        print(
            f"{name:<30} {seconds['exact'] / DRAWS * 1e9:6.0f} ns a draw, "
            f"{seconds['scipy'] / seconds['exact']:6.1f}x SciPy's inverse (>= 5), "
            f"{seconds['exact'] / seconds['jax']:.2f} of jax.random.beta's (<= 0.4)"
        )


def balls() -> None:
    for name, (mean, precision, radius) in BALLS.items():
        matrix = jnp.diag(jnp.asarray(precision, float))
        law = proposal(rotate(jnp.asarray(mean, float), matrix, jnp.asarray(radius)))
        lanes = jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (20_000, *leaf.shape)), law
        )
        accepted = np.asarray(jax.jit(draw)(study_key(0), lanes)[1]).mean()
        whole = GaussianInBall(jnp.asarray(mean, float), matrix, radius)
        at = jnp.zeros(D)
        density = -0.5 * (precision * mean**2).sum() + 0.5 * np.log(precision).sum()
        density -= D / 2 * np.log(2 * np.pi)
        inside = (density - float(whole.log_prob(at))) / np.log(10)
        print(
            f"{name:<34} accepts {accepted:6.1%} (>= 4 %), naive draws 1e{inside:.0f}"
        )


if __name__ == "__main__":
    betas()
    balls()
