import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import linalg, optimize

from dpjax import BayesNet
from dpjax._platforms import ACCELERATOR, CPU
from dpjax.tables.layout import TableLayout, maximal_groups
from dpjax.tables.projection import _Sums, project
from tests.helpers.networks import random_network

ROUNDING = float(100 * np.finfo(jnp.zeros(0).dtype).eps)
# A table twice, its axes in another order, and one inside another.
ODD = TableLayout((3, 2, 4), ((1, 0), (2,), (0, 1), (1, 2)))
ASIA = {
    "asia": [],
    "tub": ["asia"],
    "smoke": [],
    "lung": ["smoke"],
    "bronc": ["smoke"],
    "either": ["lung", "tub"],
    "xray": ["either"],
    "dysp": ["bronc", "either"],
}


def binary(parents):
    return BayesNet.from_parents({name: [0, 1] for name in parents}, parents)


def preceding(variables, most):
    """Each variable has those before it as parents, up to `most` of them."""
    names = [f"v{i}" for i in range(variables)]
    return binary({x: names[max(0, i - most) : i] for i, x in enumerate(names)})


def naive_bayes(attributes):
    return binary({"t": [], **{f"x{i}": ["t"] for i in range(attributes)}})


def maximal(net):
    return TableLayout(net.sizes, maximal_groups(net.families))


def random_layout(rng, variables=5):
    net = random_network(rng, variables, most_parents=2)
    return net.layout if rng.random() < 0.5 else maximal(net)


def exact_counts(layout, records):
    return np.concatenate(
        [
            np.bincount(
                np.ravel_multi_index(records[:, list(group)].T, layout.shape(group)),
                minlength=np.prod(layout.shape(group)),
            )
            for group in layout.groups
        ]
    ).astype(float)


def noisy_counts(rng, layout, n=40, scale=8.0):
    records = rng.integers(0, np.array(layout.sizes), (n, len(layout.sizes)))
    return exact_counts(layout, records) + rng.laplace(scale=scale, size=layout.length)


def constraints(layout):
    """One row for each equality of two marginals; the last says what the total is."""
    identity, bounds = np.eye(layout.length), itertools.pairwise(layout.offsets)
    tables = [
        (group, identity[:, start:stop].reshape(-1, *layout.shape(group)))
        for group, (start, stop) in zip(layout.groups, bounds, strict=True)
    ]
    rows = []
    for (a, x), (b, y) in itertools.combinations(tables, 2):
        shared = sorted({*a} & {*b})
        difference = marginal(x, a, shared) - marginal(y, b, shared)
        rows.append(difference.reshape(layout.length, -1).T)
    return np.vstack([*rows, identity[: layout.offsets[1]].sum(axis=0)])


def marginal(tables, group, onto):
    """Tables over `group`, on the axes after the first, summed onto `onto` in order."""
    letters = "abcdefghijklmnop"
    before, after = ("".join(letters[i] for i in axes) for axes in (group, onto))
    return np.einsum(f"z{before}->z{after}", tables)


def dense(layout, vector, total=None, precision=None):
    """Weighted least squares with explicit equality constraints, by multipliers."""
    if precision is None:
        precision = np.ones(len(layout.groups))
    variance = 1 / np.repeat(precision, np.diff(layout.offsets))
    matrix = constraints(layout)
    values = np.zeros(len(matrix))
    if total is None:
        matrix, values = matrix[:-1], values[:-1]
    else:
        values[-1] = total
    off = matrix @ vector - values
    multipliers = np.linalg.lstsq((matrix * variance) @ matrix.T, off, rcond=1e-9)[0]
    return vector - variance * (matrix.T @ multipliers)


def dense_nonnegative(layout, vector, total, precision):
    """The exact solution, as a least-distance problem (Lawson & Hanson, chapter 23)."""
    root = np.sqrt(np.repeat(precision, np.diff(layout.offsets)))
    nearest = root * dense(layout, vector, total, precision)
    free = linalg.orth(root[:, None] * linalg.null_space(constraints(layout)))
    scale = np.abs(nearest).max()  # for its accuracy: it divides by the last residual
    system = np.vstack([free.T, -nearest / scale])
    target = np.zeros(len(system))
    target[-1] = 1
    solution = optimize.nnls(system, target, maxiter=10_000)[0]
    residual = system @ solution - target
    return (nearest - free @ residual[:-1] / residual[-1] * scale) / root


def assert_valid(layout, tables, total=None):
    """Non-negative, with one total, and with one marginal over shared variables."""
    tables = np.asarray(tables)
    assert tables.dtype == jnp.zeros(0).dtype
    assert (tables >= 0).all()
    matrix = constraints(layout)
    sums = matrix[-1] @ tables
    np.testing.assert_allclose(matrix[:-1] @ tables, 0, atol=ROUNDING * (1 + sums))
    if total is not None:
        np.testing.assert_allclose(sums, total, rtol=ROUNDING, atol=0)


@pytest.mark.parametrize("total", [None, 40])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", [0, 1, "odd"])
def test_without_signs_it_is_constrained_least_squares(rng, total, weighted, case):
    layout = ODD if case == "odd" else random_layout(rng)
    vector = noisy_counts(rng, layout)
    precision = rng.uniform(0.1, 5, len(layout.groups)) if weighted else None
    ours = project(
        layout,
        jnp.asarray(vector, float),
        total,
        precision=None if precision is None else jnp.asarray(precision, float),
        nonnegative=False,
    )
    expected = dense(layout, vector, total, precision)
    np.testing.assert_allclose(ours, expected, atol=100 * ROUNDING)


@pytest.fixture(scope="module")
def net(module_rng):
    return random_network(module_rng, variables=4, most_parents=2)


@pytest.mark.parametrize("total", [None, 40])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measured", ["maximal", "all"])
def test_with_signs_it_is_the_quadratic_programme(rng, net, total, weighted, measured):
    layout = maximal(net) if measured == "maximal" else net.layout
    vector = noisy_counts(rng, layout)
    vector[:2] += (-100, 100)  # so that the constraint binds
    groups = len(layout.groups)
    precision = rng.uniform(0.1, 5, groups) if weighted else np.ones(groups)
    assumed = total
    if total is None:
        assumed = max(
            constraints(layout)[-1] @ dense(layout, vector, None, precision), 0
        )
    expected = dense_nonnegative(layout, vector, assumed, precision)
    assert (expected > -1e-7).all()
    assert (expected < 1e-7).any()
    for tolerance, close in (1e-6, 1e-2), (1e-11, 1e-2 if ROUNDING > 1e-6 else 1e-6):
        ours = project(
            layout,
            jnp.asarray(vector, float),
            total,
            precision=jnp.asarray(precision, float),
            tolerance=tolerance,
        )
        np.testing.assert_allclose(ours, expected, atol=close)


@pytest.mark.slow
def test_results_are_valid_whatever_the_noise(rng):
    layout = maximal(random_network(rng, 12, most_parents=3))
    for total, scale in itertools.product([None, 0, 1, 500], [1.0, 100.0, 10_000.0]):
        vector = jnp.asarray(noisy_counts(rng, layout, 500, scale), float)
        assert_valid(layout, project(layout, vector, total), total)
        assert_valid(layout, project(layout, vector, total, tolerance=0.5), total)


def test_a_negative_estimate_of_the_total_counts_as_none(rng):
    vector = jnp.asarray(noisy_counts(rng, ODD) - 100, float)
    np.testing.assert_array_equal(project(ODD, vector), 0)
    np.testing.assert_array_equal(project(ODD, jnp.zeros(ODD.length)), 0)


@pytest.mark.slow
@pytest.mark.parametrize("total", [None, 7])
def test_tables_that_agree_stay_as_they_are(rng, total):
    counts = exact_counts(ODD, rng.integers(0, np.array(ODD.sizes), (7, 3)))
    assert (counts == 0).any()
    exact = project(ODD, jnp.asarray(counts, int), total)
    np.testing.assert_allclose(exact, counts, atol=50 * ROUNDING)
    once = project(ODD, jnp.asarray(noisy_counts(rng, ODD), float), total)
    np.testing.assert_allclose(project(ODD, once, total), once, atol=50 * ROUNDING)


@pytest.mark.slow
def test_it_works_under_jit_and_vmap(rng):
    vectors = jnp.asarray([noisy_counts(rng, ODD) for _ in range(3)], float)
    totals = jnp.asarray([0, 40, 60])
    batched = jax.jit(jax.vmap(lambda v, t: project(ODD, v, t)))(vectors, totals)
    for vector, total, tables in zip(vectors, totals.tolist(), batched, strict=True):
        alone = project(ODD, vector, total)
        np.testing.assert_allclose(tables, alone, atol=60 * ROUNDING)
        assert_valid(ODD, tables, total)


@pytest.mark.parametrize(
    "labels", [[], [7], [2, 0, 2, 2, 9, 0], [*range(20)] * 3 + [5]]
)
def test_sums_by_label_are_those_of_a_scatter(labels, rng):
    """Exact, since the floats are small integers."""
    labels = np.array(labels, np.int64)
    values = jnp.asarray(rng.integers(-9, 9, labels.size), float)
    known = [np.asarray(values)[labels == label].sum() for label in labels]
    sums = _Sums.of(labels)
    for sizes in (CPU, ACCELERATOR):
        np.testing.assert_array_equal(sums.within(sizes, values), known)


@pytest.mark.slow
def test_programs_do_not_grow_with_the_number_of_tables():
    def operations(variables):
        layout = maximal(preceding(variables, 3))
        vector = jnp.zeros(layout.length)
        return str(jax.make_jaxpr(lambda v: project(layout, v))(vector)).count(" = ")

    assert operations(200) == operations(8)


@pytest.mark.parametrize(
    ("net", "variance"),
    [
        (naive_bayes(16), 1056),
        (naive_bayes(8), 272),
        (binary(ASIA), 180),
        (preceding(5, 4), 7.75),  # one maximal family: only the total is imposed
        (preceding(8, 1), 210),
        (preceding(10, 3), 220.5),
    ],
    ids=["naive Bayes 16", "naive Bayes 8", "asia", "clique", "chain", "ten nodes"],
)
def test_variance_with_laplace_noise_and_a_public_total(net, variance):
    """Mean over the cells of the maximal families, replace-one, at epsilon = 1."""
    layout = maximal(net)
    matrix = jax.vmap(lambda v: project(layout, v, 0, nonnegative=False))(
        jnp.eye(layout.length)
    )
    noise = 2 * (2 * len(layout.groups)) ** 2
    by_cell = noise * np.square(np.asarray(matrix)).sum(axis=0)
    np.testing.assert_allclose(by_cell.mean(), variance, rtol=1e-4)
    groups = {*itertools.chain.from_iterable(map(subsets, layout.groups))}
    parameters = len(groups) - 1  # binary: one coefficient a set; the total is known
    np.testing.assert_allclose(by_cell.mean(), noise * parameters / layout.length, 1e-4)


def subsets(group):
    sizes = range(len(group) + 1)
    return (frozenset(s) for k in sizes for s in itertools.combinations(group, k))


@pytest.mark.thorough
def test_the_sign_constraint_and_estimated_totals_bring_tables_nearer(rng):
    """Errors of about 288 > 181 > 82 > 69; the last two are 5 deviations apart."""
    layout = maximal(binary(ASIA))
    records = (rng.random((100, 8)) < 0.1).astype(np.uint8)
    exact = exact_counts(layout, records)
    noise = rng.laplace(scale=12, size=(100, layout.length))
    vectors = jnp.asarray(exact + noise, float)

    def error(function):
        return np.square(np.asarray(jax.vmap(function)(vectors)) - exact).mean()

    raw = error(lambda v: v)
    linear = error(lambda v: project(layout, v, 100, nonnegative=False))
    known = error(lambda v: project(layout, v, 100))
    estimated = error(lambda v: project(layout, v))
    assert known < estimated < linear < raw


def test_wrong_arguments_are_refused():
    zeros = jnp.zeros(ODD.length)
    with pytest.raises(ValueError, match="`total` must not be negative"):
        project(ODD, zeros, -1)
    with pytest.raises(ValueError, match=r"`vector` must be of shape \(24,\)"):
        project(ODD, zeros[1:])
    with pytest.raises(ValueError, match=r"`precision` must be of shape \(4,\)"):
        project(ODD, zeros, precision=jnp.ones(3))
    with pytest.raises(ValueError, match="`precision` must be positive"):
        project(ODD, zeros, precision=jnp.zeros(4))
