"""How fast is a sweep of the hidden Markov model's Gibbs chains, beside NumPy?

    python -m benchmarks.bench_hmm

64 chains, 1,000 cells (10 regions × 100 months), 10 states, 5 fields of 30 levels in
all. Ratios of one run, per sweep and chain (performance.md, H1). The peers: the same
sampler in NumPy, with all chains and regions in its arrays; and a loop over sites, of
one chain, that updates one hidden state at a time.
"""

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np

from benchmarks.report import Row, shown
from benchmarks.timing import compilation_parts, first_call, medians
from dpjax.event_logs import CellCounts, sample_hidden_markov
from dpjax.noise.keys import study_key

REGIONS, TIMES, FIELDS, STATES, CHAINS = 10, 100, (9, 4, 5, 5, 7), 10, 64


def simulated(rng: np.random.Generator) -> np.ndarray:
    """Counts of about 25 events a cell, from a model with as many states."""
    paths = np.repeat(rng.integers(0, STATES, (REGIONS, TIMES // 10)), 10, axis=1)
    tables = [rng.dirichlet(np.ones(k), STATES) for k in FIELDS]
    counts = [rng.multinomial(25, table[paths]) for table in tables]
    return np.concatenate(counts, axis=-1).astype(float)


def draw_tables(rng, counts, paths):
    """NumPy: emission and transition tables given the paths, chains first."""
    member = np.eye(STATES)[paths]
    totals = np.einsum("crtk,rtl->ckl", member, counts, optimize=True)
    ends = np.cumsum(FIELDS)[:-1]
    gammas = rng.standard_gamma(1 + totals)
    fields = [x / x.sum(2, keepdims=True) for x in np.split(gammas, ends, axis=2)]
    moves = np.einsum("crtj,crtk->cjk", member[:, :, :-1], member[:, :, 1:])
    transition = rng.standard_gamma(1 + moves)
    initial = rng.standard_gamma(1 + member[:, :, 0].sum(axis=1))
    transition /= transition.sum(2, keepdims=True)
    initial /= initial.sum(1, keepdims=True)
    return np.concatenate(fields, axis=2), initial, transition


def choose(rng, weights):
    """A state each, by inversion."""
    above = weights.cumsum(axis=-1)
    return (above <= rng.random((*weights.shape[:-1], 1)) * above[..., -1:]).sum(-1)


def vectorised(rng, counts, paths, sweeps):
    """Forward filtering and backward sampling, all chains and regions at once."""
    chains = np.arange(len(paths))[:, None]
    for _ in range(sweeps):
        emission, initial, transition = draw_tables(rng, counts, paths)
        flat = counts.reshape(-1, counts.shape[2])
        logs = flat @ np.log(emission).swapaxes(1, 2)
        likelihood = np.exp(logs - logs.max(axis=-1, keepdims=True))
        likelihood = likelihood.reshape(*paths.shape, STATES)
        laws = np.empty_like(likelihood)
        law = initial[:, None] * likelihood[:, :, 0]
        laws[:, :, 0] = law / law.sum(2, keepdims=True)
        for t in range(1, TIMES):
            law = laws[:, :, t - 1] @ transition * likelihood[:, :, t]
            laws[:, :, t] = law / law.sum(2, keepdims=True)
        paths = np.empty_like(paths)
        paths[:, :, -1] = choose(rng, laws[:, :, -1])
        arrival = transition.swapaxes(1, 2)
        for t in range(TIMES - 2, -1, -1):
            weights = laws[:, :, t] * arrival[chains, paths[:, :, t + 1]]
            paths[:, :, t] = choose(rng, weights)
    return paths


def by_site(rng, counts, paths, sweeps):
    """One hidden state at a time, given its neighbours."""
    for _ in range(sweeps):
        tables = draw_tables(rng, counts, paths[None])
        emission, initial, transition = (table[0] for table in tables)
        logs = counts @ np.log(emission).T
        for r in range(REGIONS):
            for t in range(TIMES):
                before = transition[paths[r, t - 1]] if t else initial
                weights = before * np.exp(logs[r, t] - logs[r, t].max())
                if t < TIMES - 1:
                    weights = weights * transition[:, paths[r, t + 1]]
                above = weights.cumsum()
                paths[r, t] = np.searchsorted(above, rng.random() * above[-1])
    return paths


def rows(full: bool = False) -> Iterator[Row]:
    """Ratios per sweep and chain, and the seconds of compilation."""
    rng = np.random.default_rng(0)
    counts = simulated(rng)
    every = jnp.ones((REGIONS, TIMES), bool)
    one = jnp.asarray(1.0)
    cells = CellCounts(jnp.asarray(counts), every, every, FIELDS, STATES, one, one)
    sweeps = 200 if full else 50

    def ours():
        found = sample_hidden_markov(
            study_key(0), cells, chains=CHAINS, sweeps=sweeps, burn_in=sweeps // 2
        )
        return found.trace

    spent = compilation_parts()
    first = first_call(ours)
    parts = dict(spent)
    start = rng.integers(0, STATES, (CHAINS, REGIONS, TIMES))
    seconds = medians(
        {
            "dpjax": ours,
            "NumPy": lambda: vectorised(rng, counts, start, 5),
            "by site": lambda: by_site(rng, counts, start[0].copy(), 1),
        }
    )
    each = {
        "dpjax": seconds["dpjax"] / sweeps / CHAINS,
        "NumPy": seconds["NumPy"] / 5 / CHAINS,
        "by site": seconds["by site"],
    }
    case = f"{CHAINS} chains, {REGIONS * TIMES} cells, {STATES} states"
    faster, by_one = (each[name] / each["dpjax"] for name in ("NumPy", "by site"))
    yield Row("H1", case, faster, "× NumPy forward–backward", 5, seconds=each)
    yield Row("H1", case, by_one, "× a loop over sites", 25, seconds=each)
    compiling = first - seconds["dpjax"]
    yield Row("H1", case, compiling, "s to compile", 2.5, at_least=False)
    for part, spent_on_it in parts.items():
        yield Row("H1", case, spent_on_it, f"s of {part}", at_least=False)


def main() -> None:
    """Print all."""
    for line in shown(rows()):
        print(line)


if __name__ == "__main__":
    main()
