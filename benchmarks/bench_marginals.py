"""How well are all marginal tables known without a network, beside mbi at equal ε?

`python -m benchmarks.bench_marginals` draws records of eight variables from a random
network, releases all tables of pairs, and learns the joint distribution from them. It
prints the mean divergence from the network's, with standard errors. mbi's Private-PGM
gets Laplace noise on the same tables, and is asked for the largest likelihood.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

import dpjax as dp
from dpjax.mechanisms.recipes import recipe_of
from dpjax.tables.counts import count

NAMES = "abcdefgh"
SIZES = (2, 2, 3, 2, 2, 3, 2, 2)
SCHEMA = dp.Schema({x: [*range(k)] for x, k in zip(NAMES, SIZES, strict=True)})
PARENTS = {"c": ["a"], "d": ["a", "b"], "e": ["c"], "f": ["d", "e"], "h": ["f"]}
NET = dp.BayesNet.from_parents(SCHEMA, PARENTS)
ADJACENCY = "add-remove"


def joint_of(rng: np.random.Generator) -> np.ndarray:
    """The joint distribution of a random network, as an array."""
    weights = jnp.asarray(rng.gamma(1, size=NET.layout.length), float)
    theta = np.asarray(weights / NET.layout.row_sums(weights), float)
    states = np.array([*np.ndindex(*SIZES)])
    cells = np.asarray(NET.layout.cells(states.astype(np.int32)))
    joint = theta[cells].prod(axis=1).reshape(SIZES)
    return joint / joint.sum()


def ours(mechanism: str, noise_aware: bool = True) -> Callable[..., np.ndarray]:
    def learn(records, epsilon: str, rng) -> np.ndarray:
        statistic = recipe_of(mechanism).marginals(SCHEMA, 2, ADJACENCY)
        made = dp.release(
            statistic, records, epsilon=epsilon, adjacency=ADJACENCY,
            mechanism=mechanism,
        )  # fmt: skip
        found: Any = dp.posterior(made, noise_aware=noise_aware)
        return np.asarray(found.query([*NAMES])[0], float)

    return learn


def private_pgm(records, epsilon: str, rng) -> np.ndarray:
    """mbi's graphical model, from Laplace noise on the same tables."""
    mbi = importlib.import_module("mbi")
    layout = recipe_of("k-norm").marginals(SCHEMA, 2, ADJACENCY).layout
    exact = np.asarray(count(records, layout), float)
    scale = len(layout.groups) / float(epsilon)
    noise = rng.laplace(scale=scale, size=exact.shape)
    noisy = np.split(exact + noise, layout.offsets[1:-1])
    measurements = [
        mbi.LinearMeasurement(part, tuple(NAMES[i] for i in group), np.sqrt(2) * scale)
        for group, part in zip(layout.groups, noisy, strict=True)
    ]
    domain = mbi.Domain([*NAMES], [*SIZES])
    model = mbi.estimation.MirrorDescent().estimate(domain, measurements, iters=2500)
    found = np.asarray(model.project(tuple(NAMES)).datavector(), float)
    return (found / found.sum()).reshape(SIZES)


LEARNERS = {
    "K-norm noise, noise-aware": ours("k-norm"),
    "K-norm noise, plug-in": ours("k-norm", False),
    "Laplace noise on coefficients, noise-aware": ours("fourier"),
    "Private-PGM (mbi), Laplace noise": private_pgm,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20, help="default: 20")
    parser.add_argument("--epsilons", nargs="+", default=["0.1", "0.3", "1", "3"])
    parser.add_argument("--n", type=int, default=1000, help="records (default: 1000)")
    options = parser.parse_args()
    print(f"{'':<44} {'ε':>4}  divergence of the joint      seconds")
    for epsilon in options.epsilons:
        for name, learn in LEARNERS.items():
            print(
                f"{name:<44} {epsilon:>4}  {measured(learn, epsilon, options)}",
                flush=True,
            )


def measured(learn: Callable, epsilon: str, options) -> str:
    """The mean divergence, its standard error, and the seconds of one repeat."""
    if learn is private_pgm and importlib.util.find_spec("mbi") is None:
        return "mbi is not installed"
    found, began = [], time.perf_counter()
    for repeat in range(options.repeats):
        rng = np.random.default_rng(repeat)
        joint = joint_of(rng)
        chosen = rng.choice(joint.size, options.n, p=joint.ravel())
        records = np.stack(np.unravel_index(chosen, SIZES), axis=1).astype(np.uint8)
        learned = np.maximum(learn(records, epsilon, rng), 1e-9)
        found.append(np.sum(joint * np.log(np.maximum(joint, 1e-30) / learned)))
    took = (time.perf_counter() - began) / options.repeats
    error = np.std(found, ddof=1) / len(found) ** 0.5
    return f"{np.mean(found):.4f} ± {error:.4f}            {took:6.2f}"


if __name__ == "__main__":
    main()
