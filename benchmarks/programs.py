"""The hot programs of dpjax, with the budgets that their compiled forms must meet.

`python -m benchmarks.compiled` compiles them for devices that are not there, and
`python -m benchmarks.accelerator` runs them on a device that is. A new program is one
entry of `PROGRAMS`.
"""

from fractions import Fraction
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax

import dpjax as dp
from benchmarks import bench_counting, bench_hmm, private_fits
from benchmarks.program import Call, Drawn, Program
from dpjax._platforms import ACCELERATOR
from dpjax.data import probabilities
from dpjax.event_logs import CellCounts, sampler
from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise import discrete_gaussian, discrete_laplace, gaussian_tables, tables
from dpjax.noise.keys import study_key
from dpjax.noise.keys.chacha import CHACHA20
from dpjax.posteriors import exact_posterior, point_estimate
from dpjax.posteriors.exact.windows import Windows
from dpjax.posteriors.gibbs.latent_records import gibbs_start, gibbs_step
from dpjax.statistics import NetworkCounts
from dpjax.study.sweeps.grid import Grid
from dpjax.study.sweeps.program import Inputs, block_program
from dpjax.study.sweeps.sweep import _stacked, default_block
from dpjax.tables.counts import PackedRecords, count
from dpjax.tables.layout import TableLayout
from dpjax.tables.walsh import walsh_hadamard


def key_of(kind: str) -> jax.Array:
    if kind == "threefry":
        return study_key(0)
    return jr.wrap_key_data(jnp.arange(8, dtype=jnp.uint32), impl=CHACHA20)


def naive_bayes(features: int = 16) -> dp.BayesNet:
    levels = {f"x{i}": [0, 1] for i in range(features + 1)}
    return dp.BayesNet.naive_bayes(levels, "x0")


def network(variables: int = 37) -> dp.BayesNet:
    """About as large as alarm: 2 to 4 levels; parents among the last four variables."""
    rng = np.random.default_rng(1)
    levels = {f"v{i}": list(range(rng.integers(2, 5))) for i in range(variables)}
    parents = {
        f"v{i}": [f"v{j}" for j in sorted({max(0, i - a), max(0, i - b)} - {i})]
        for i, (a, b) in enumerate(rng.integers(1, 5, (variables, 2)))
    }
    return dp.BayesNet.from_parents(levels, parents)


def groups(variables: int, levels: int) -> TableLayout:
    """As many tables of four variables as there are variables."""
    rng = np.random.default_rng(0)
    drawn = [rng.choice(variables, 4, replace=False) for _ in range(variables)]
    return TableLayout((levels,) * variables, tuple(tuple(map(int, x)) for x in drawn))


def counts(layout: TableLayout, n: int) -> Call:
    records = Drawn((n, len(layout.sizes)), below=max(layout.sizes))
    return lambda records: count(records, layout), (records,)


def packed_counts(n: int) -> Call:
    """Of as many records as `pack` does not pad."""
    layout, words = bench_counting.NAIVE_BAYES, n // 2**15 * 2**10
    planes = Drawn((len(layout.sizes), words), "uint32", 2**31)
    return (
        lambda planes, n: count(PackedRecords(planes, n), layout),
        (planes, np.int32(32 * words)),
    )


def words(kind: str, n: int) -> Call:
    return lambda key: jr.bits(key, (n,), jnp.uint32), (key_of(kind),)


def noise(kind: str, rate: str, n: int) -> Call:
    table = tables.build(Fraction(rate))
    return discrete_laplace.add, (key_of(kind), table, Drawn((n,), "int32", 1000))


def gaussian_noise(rate: str, n: int) -> Call:
    table = gaussian_tables.build(Fraction(rate))
    key = key_of("threefry")
    return discrete_gaussian.add, (key, table, Drawn((n,), "int32", 1000))


def transform(dtype: str, n: int) -> Call:
    return walsh_hadamard, (Drawn((n,), dtype),)


def hidden_markov(chains: int) -> Call:
    made = bench_hmm.simulated(np.random.default_rng(0))
    every, one = jnp.ones(made.shape[:2], bool), jnp.ones(())
    fields, states = bench_hmm.FIELDS, bench_hmm.STATES
    cells = CellCounts(jnp.asarray(made), every, every, fields, states, one, one)
    start = sampler.begin(study_key(0), cells, chains)
    return sampler.sweep, (study_key(1), cells, start)


def released(net: dp.BayesNet, values: Any, n: int = 1000) -> dp.Released:
    """Counts of n records at ε = 1."""
    statistic = NetworkCounts(net)
    noise = DiscreteLaplace.calibrate("1", statistic.sensitivity("replace-one"))
    return dp.Released(values, statistic, noise, n)


def noisy(net: dp.BayesNet, *stack: int) -> Any:
    """Numbers that counts of 1,000 records might be."""
    drawn = Drawn((*stack, NetworkCounts(net).length), "int32", 500).array()
    return np.asarray(drawn)


def exact(releases: int) -> Call:
    net, windows = naive_bayes(), Windows(1001, 416, 384)  # as chosen at ε = 1

    def infer(values: Any) -> Any:
        found = exact_posterior(released(net, values), windows=windows)
        return found.first, found.second

    return infer, (noisy(net, releases),)


def estimate(releases: int) -> Call:
    net = network()
    return (
        lambda values: point_estimate(released(net, values)).theta,
        (noisy(net, releases),),
    )


def deviations(variables: int) -> Call:
    """Of the estimate after one step, by a matrix of all cells."""
    net = network(variables)
    return (
        lambda values: point_estimate(released(net, values), steps=1).sd(),
        (noisy(net),),
    )


def gibbs(records: int) -> Call:
    """One sweep of four chains."""
    net, prior = naive_bayes(8), jnp.ones(())
    given = released(net, noisy(net), records)
    key, *keys = jr.split(study_key(0), 5)
    start = gibbs_start(key, given, prior, records)
    states = jax.tree.map(lambda x: jnp.stack([x] * len(keys)), start)

    def one(data: Any, state: Any, given: dp.Released) -> Any:
        key = jr.wrap_key_data(data, impl=jr.key_impl(study_key(0)))
        return gibbs_step(key, state, given, prior)

    data = jr.key_data(jnp.stack(keys))
    return jax.vmap(one, in_axes=(0, 0, None)), (data, states, given)


def study(fits: int) -> Call:
    """All blocks of a sweep of private naive Bayes fits."""
    made, names = private_fits.experiment(), private_fits.MECHANISMS
    epsilons, records = private_fits.EPSILONS, private_fits.survey()
    stacked = _stacked(made.mechanisms(names, epsilons), names, epsilons)
    grid = Grid.of(None, names, epsilons, fits // private_fits.FITS)
    keys, shared = grid.keys(study_key(0))
    implementation = jr.key_impl(study_key(0))
    block = default_block(grid, made.bytes_a_cell(records), ACCELERATOR)
    inputs = Inputs(keys[0], shared[0], stacked, records, implementation, names)

    def all_blocks(inputs: Inputs, firsts: Any) -> Any:
        def one(first: Any) -> Any:
            return block_program(inputs, first, made, made.prepare, block)

        return lax.map(one, firsts)

    return all_blocks, (inputs, np.arange(0, grid.repeats, block, dtype=np.int32))


def predictions(n: int) -> Call:
    net = naive_bayes()
    theta = jnp.full(net.layout.length, 0.5)
    return (
        lambda theta, records: probabilities.predict(theta, records, net, 0),
        (theta, Drawn((n, 17))),
    )


def synthetic(n: int) -> Call:
    net = network()
    sizes = [net.sizes[group[-1]] for group in net.layout.groups]
    theta = jnp.asarray(np.repeat(1 / np.array(sizes), np.diff(net.layout.offsets)))
    return (
        lambda key, theta: probabilities.sample_records(key, theta, net, n),
        (study_key(0), theta),
    )


BYTES = {"launches": 12, "passes": 1.5, "exact": True}
PACKED = {"launches": 12, "passes": 2.2, "exact": True}
WORDS = {"launches": 4, "passes": 1.5, "exact": True}
NOISE = {"launches": 60, "passes": 12, "temporaries": 3, "exact": True}
WALSH = {"launches": 12, "passes": 5, "exact": True}


def counted(name: str, layout: TableLayout, e: int, *, guarded: bool) -> Program:
    name, build = f"counts, {name}, 10^{e} bytes", partial(counts, layout)
    return Program(name, build, 10**e, 10_000, guarded=guarded, **BYTES)


PROGRAMS = (
    *(
        counted("17 binary", bench_counting.NAIVE_BAYES, e, guarded=e == 9)
        for e in (6, 8, 9)
    ),
    *(
        Program(f"counts, 17 binary, 10^{e} packed", packed_counts, 10**e, 2**16,
                guarded=e == 9, **PACKED)
        for e in (8, 9)
    ),
    counted("64 tables of 4 binary", groups(64, 2), 6, guarded=False),
    counted("16 tables of 4 with 4 levels", groups(16, 4), 6, guarded=True),
    Program("10^7 words, threefry", partial(words, "threefry"), 10**7, 10**5, **WORDS),
    Program("10^7 words, ChaCha20", partial(words, "ChaCha20"), 10**7, 10**5,
            slower=("10^7 words, threefry", 3), guarded=True, **WORDS),
    *(
        Program(f"10^{e} exact draws, rate {rate}, {kind}", partial(noise, kind, rate),
                10**e, 10**5, guarded=(e, rate, kind) == (9, "1", "ChaCha20"), **NOISE)
        for kind in ("threefry", "ChaCha20")
        for e in (7, 9)
        for rate in ("1", "1/10", "1/100")
    ),
    *(
        Program(f"10^{e} exact Gaussian draws, ρ/Δ² = {rate}",
                partial(gaussian_noise, rate), 10**e, 10**5, **NOISE)
        for e in (7, 9)
        for rate in ("1", "1/100", "1/10000")
    ),
    *(
        Program(f"Walsh–Hadamard, {dtype}, 2^{e}", partial(transform, dtype),
                2**e, 2**12, guarded=(e, dtype) == (26, "float32"), **WALSH)
        for e in (20, 26)
        for dtype in ("float32", "int32")
    ),
    Program("HMM, a sweep of 64 chains", hidden_markov, 64, 2, 120, turns=5),
    *(
        Program(f"exact posterior of {n:,} releases", exact, n, 4, 600, guarded=n > 200)
        for n in (200, 10_000)
    ),
    Program("point estimate, 37 variables, 256 releases", estimate, 256, 2, 2000,
            turns=60),
    Program("sd of a point estimate, 37 variables", deviations, 37, 5, turns=60),
    Program("Gibbs, a sweep of 4 chains, 1,000 records", gibbs, 1000, 50, 200,
            turns=5,  # as chains of a naive Bayes network of 8 features take at ε = 1
            guarded=True),
    Program("sweep of 210,000 fits", study, 210_000, 21 * 256, 400, turns=6,
            guarded=True),
    Program("predict_proba, 10^6", predictions, 10**6, 10_000, 8),
    Program("predict_proba, 8·10^6 on 8 devices", predictions, 8 * 10**6, 80_000, 8,
            devices=8, guarded=True),
    Program("sample_records, 37 variables, 10^6", synthetic, 10**6, 1000),
)  # fmt: skip

NAMED = {program.name: program for program in PROGRAMS}


def named(only: list[str]) -> list[Program]:
    """Those whose names contain one of these words."""
    words = [word.lower() for word in only]
    return [x for x in PROGRAMS if any(word in x.name.lower() for word in words)]
