"""Every hot program is lowered for GPUs and TPUs, and its operations are looked at.

Lowering needs no accelerator. What is refused is slow or wrong there, not on a CPU.
"""

import ast
import pathlib
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax import export

import dpjax as dp
from dpjax.data import probabilities
from dpjax.event_logs import fitting
from dpjax.families import conjugate_posterior
from dpjax.noise import discrete_laplace, tables
from dpjax.noise.keys.chacha import CHACHA20
from dpjax.noise.keys.rows import LEAST_WORDS
from dpjax.noise.keys.threefry import UNROLLED_THREEFRY
from dpjax.posteriors.estimate import curvature, point_estimate
from dpjax.posteriors.exact import star_predictions
from dpjax.posteriors.exact.exact_posterior import sums_of
from dpjax.posteriors.exact.windows import Windows
from dpjax.posteriors.gibbs import gibbs
from dpjax.posteriors.plug_in import draw_tables
from dpjax.statistics import FourierCoefficients, NetworkCounts
from dpjax.study.experiments import NaiveBayesExperiment
from dpjax.tables.counts import count
from dpjax.tables.projection import project
from dpjax.tables.walsh import walsh_hadamard
from tests.helpers.families import FAMILIES
from tests.helpers.lowered import PLATFORMS, faults, wide

FLOAT = jnp.zeros(()).dtype
RELEASES = pathlib.Path(__file__).parent / "recorded" / "format_1"
SOURCES = sorted(pathlib.Path(dp.__file__).parent.rglob("*.py"))
NET = dp.BayesNet.naive_bayes({"t": [0, 1], **{f"x{i}": [0, 1] for i in range(4)}}, "t")
MIXED = dp.BayesNet.from_parents(
    {"a": [0, 1], "b": [0, 1, 2], "c": list("wxyz")}, {"b": ["a"], "c": ["a", "b"]}
)
RECORDS = np.zeros((256, 5), np.uint8)
THETA = np.full(NET.layout.length, 0.5, FLOAT)
WORDS = np.zeros(2, np.uint32)


def study(words):
    return jr.wrap_key_data(words, impl=UNROLLED_THREEFRY)


def secret(words):
    return jr.wrap_key_data(jnp.tile(words, 4), impl=CHACHA20)


def with_key(function, key=study):
    """A program of the words of a key, which are what is exported of it."""
    return lambda words, *arguments: function(key(words), *arguments)


def on(net, mechanism=dp.mechanisms.DiscreteLaplace, statistic=NetworkCounts, n=100):
    """A function from values to a release of them."""
    counted = statistic(net)
    noise = mechanism.calibrate("1", counted.sensitivity("replace-one"))
    return lambda values: dp.Released(values, counted, noise, n)


def fourier(net):
    return FourierCoefficients.of_network(net, "replace-one")


def estimated(statistic):
    values = np.ones(statistic.length, FLOAT)
    prior = np.ones(statistic.network.layout.length, FLOAT)

    def fit(values, prior):
        n = jnp.asarray(100.0, FLOAT)
        moments = statistic.record_moments()
        given = values, values, None, values, n, prior
        return point_estimate._fit_all(statistic, moments, given, 20, False)

    return fit, values, prior


def curved(scale, theta):
    moments, n = NetworkCounts(NET).record_moments(), jnp.asarray([100.0])
    every = np.ones((1, scale.size), FLOAT)
    found = curvature.covariance(
        moments, NET, theta, theta, scale, None, every, n, True
    )
    return curvature.StickBreaking(NET, theta, found).sd()


def swept():
    """One repeat of a sweep."""
    experiment = NaiveBayesExperiment(NET, "t", 200, "replace-one")
    names = ("laplace", "fourier", "posterior-sample")
    stacked = experiment.mechanisms(names, ("1",))
    made = jax.tree.map(lambda x: x[0] if np.ndim(x) else x, [*stacked.values()])

    def repeat(words, records):
        key_data, *keys = jr.split(study(words), 4)
        data = experiment.prepare(key_data, records)
        return [experiment(key, x, data) for key, x in zip(keys, made, strict=True)]

    return repeat, WORDS, RECORDS


def hidden_paths(collapsed):
    every = jnp.ones((3, 4), bool)
    counts, one = jnp.ones((3, 4, 5)), jnp.ones(())

    def sweeps(words):
        cells = dp.event_logs.CellCounts(
            counts, every, every, (2, 3), 3, one, one, None, collapsed
        )
        return fitting._advance(cells, *fitting._start(study(words), cells, 2, 2), None)

    return sweeps, WORDS


def exact(values):
    return sums_of(on(NET)(values), jnp.ones(NET.layout.length), Windows(101, 64, 48))


def predicted(values, records):
    return star_predictions.predict(exact(values).infer(), records, 0)


def chains(words, values):
    prior = jnp.ones(NET.layout.length)
    options = {"chains": 2, "warmup": 2, "sweeps": 4, "thin": 1, "proposals": 50}
    return gibbs._run(study(words), on(NET)(values), prior, 100, **options)


def drawn(name):
    """Draws of a family's posterior."""
    family = FAMILIES[name]
    records = np.asarray(family.bounds, FLOAT).T
    total = np.asarray(family.statistics(records), FLOAT).sum(axis=0)
    return (
        with_key(lambda key, x: _posterior(family, x).sample(key, (64,))),
        WORDS,
        total,
    )


def _posterior(family, total):
    return conjugate_posterior(family, total, jnp.asarray(10.0, FLOAT))


def law(name, *parameters):
    """Draws, densities and moments of a truncated distribution."""
    made = getattr(dp.distributions, name)

    def program(words, *parameters):
        found = made(*parameters, validate_args=False)
        draws = found.sample(study(words), (8,))
        return draws, found.log_prob(draws), found.mean, found.variance

    return program, WORDS, *(np.asarray(x, FLOAT) for x in parameters)


VALUES = np.full(NetworkCounts(NET).length, 25, np.int32)
TABLE = tables.build(Fraction(1, 2))
PROGRAMS = {
    "counts": (lambda x: count(x, NET.layout), RECORDS),
    "counts by scatter": (lambda x: count(x, MIXED.layout), RECORDS[:, :3]),
    "Fourier coefficients": (fourier(NET).measure, RECORDS),
    "Fourier tables": (lambda x: fourier(MIXED).tables(x, 9), np.ones(23, FLOAT)),
    "bits": (with_key(lambda key: jr.bits(key, (9999,)), secret), WORDS),
    "noise": (
        with_key(lambda key, x: discrete_laplace.add(key, TABLE, x), secret),
        WORDS,
        VALUES,
    ),
    "much noise": (
        with_key(lambda key, x: discrete_laplace.add(key, TABLE, x), secret),
        WORDS,
        np.zeros(LEAST_WORDS, np.int32),
    ),
    "Walsh": (walsh_hadamard, np.ones(1 << 11, FLOAT)),
    "Walsh of integers": (walsh_hadamard, np.ones(1 << 11, np.int32)),
    "projection": (lambda x: project(MIXED.layout, x, 9), np.ones(32, FLOAT)),
    "sweep": swept,
    "hidden paths": partial(hidden_paths, False),
    "collapsed hidden paths": partial(hidden_paths, True),
    "exact": (lambda x: exact(x).moments(), VALUES),
    "exact prediction": (predicted, VALUES, RECORDS),
    "point estimate": estimated(NetworkCounts(NET)),
    "point estimate of coefficients": estimated(fourier(MIXED)),
    "curvature": (curved, np.ones(VALUES.size, FLOAT), THETA),
    "Gibbs": (chains, WORDS, VALUES),
    "prediction": (lambda *x: probabilities.predict(*x, NET, 0), THETA, RECORDS),
    "log-likelihood": (
        lambda *x: probabilities.log_likelihood(*x, NET),
        THETA,
        RECORDS,
    ),
    "synthetic records": (
        with_key(lambda key, x: probabilities.sample_records(key, x, NET, 999)),
        WORDS,
        THETA,
    ),
    "tables": (with_key(lambda key, x: draw_tables(key, x, NET.layout)), WORDS, THETA),
    **{f"draws, {name}": partial(drawn, name) for name in FAMILIES},
    "truncated Beta": law("TruncatedBeta", 2, 3, 0.1, 0.6),
    "truncated Dirichlet": law("TruncatedDirichlet", [1.5, 2, 3], 0.05),
    "Gaussian in a ball": law("GaussianInBall", [1, -0.5], np.eye(2), 1.2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hot_program_suits_accelerators(name):
    made = PROGRAMS[name]
    assert not faults(*(made() if callable(made) else made))


def scattered(x):
    return jnp.zeros(2).at[np.array([0, 1, 1, 0], np.int32)].add(x)


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        (lambda x: x @ x, "rounded product"),
        (lambda x: jnp.convolve(x, x), "rounded product"),
        (scattered, "float scatter-add"),
    ],
)
def test_a_planted_fault_is_found(program, fault):
    assert faults(program, np.ones(4, FLOAT)) == {fault}


def test_an_unknown_call_is_found():
    found = faults(jnp.linalg.svdvals, np.eye(3, dtype=FLOAT))
    assert any(x.startswith("calls cusolver_") for x in found)


def test_a_callback_to_the_host_cannot_be_lowered():
    def program(x):
        return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((), x.dtype), x)

    with pytest.raises(NotImplementedError, match="callback"):
        faults(program, np.ones((), FLOAT))


def test_64_bits_are_found():
    with jax.enable_x64(True):
        words = export.export(jax.jit(lambda x: x + 1), platforms=PLATFORMS)
        text = words(np.ones(4)).mlir_module()
    assert wide(text)


def test_draws_in_a_ball_have_no_matrix_each():
    """With one, 20,000 draws in 100 dimensions take minutes to compile for a GPU."""
    program, words, *parameters = law("GaussianInBall", np.zeros(7), np.eye(7), 1.2)
    text = jax.jit(program).lower(words, *parameters).as_text()
    assert "tensor<8x7x" in text
    assert "tensor<8x7x7x" not in text


def calls(path):
    """Products and random draws of a module, in the form "jnp.dot" or "@"."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(getattr(node, "op", None), ast.MatMult) and "jax.numpy" in text:
            yield "@"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if not any(x.arg == "precision" for x in node.keywords):
                yield ast.unparse(node.func)


ROUNDED = "convolve correlate dot einsum inner kron matmul tensordot vdot".split()
SERIAL = "beta binomial chisquare dirichlet f gamma loggamma poisson t wald".split()


@pytest.mark.parametrize("path", SOURCES, ids=lambda x: x.stem)
def test_no_product_is_rounded_and_no_draw_is_serial(path):
    """JAX draws gamma numbers in turn, and no Poisson ones, with keys like ours."""
    refused = {"@", *(f"jnp.{x}" for x in ROUNDED), *(f"jr.{x}" for x in SERIAL)}
    assert not refused.intersection(calls(path))
