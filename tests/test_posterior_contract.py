"""One contract for all posteriors, over every implementation."""

import functools
import itertools
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax import posteriors
from dpjax.data import MixedNet
from dpjax.event_logs import HiddenMarkovPosterior
from dpjax.families import Bernoulli, Categorical, Exponential, Poisson
from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise.keys import study_key
from dpjax.posteriors import METHODS, FamilyPosterior, NetworkPosterior, Posterior
from dpjax.posteriors.plug_in import PlugInPosterior, draw_tables
from dpjax.releases.released import Released
from dpjax.statistics import MarginalContrasts, NetworkCounts, Sufficient
from tests.helpers.conjugates import FAMILIES
from tests.helpers.networks import TINY, random_records
from tests.helpers.statistical import assert_binomial

pytestmark = pytest.mark.relaxed  # some are NumPyro's, or mix dtypes on the host

BINARY = dp.BayesNet.from_parents(
    {"y": [0, 1], "a": [0, 1], "b": [0, 1]}, {"a": ["y"], "b": ["a"]}
)
DRAWS = 2000
FAR = 8  # standard errors: also of heavy tails, less than 1e-6
RECORDS = {"network": [[0, 1, 0], [1, 1, 0]], "family": [[1.0], [0.0]]}


def of_network(net, n=6, epsilon="2"):
    statistic = NetworkCounts(net)
    mechanism = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity("replace-one"))
    records = random_records(np.random.default_rng(0), net, n)
    values = mechanism.sample(study_key(1), statistic.measure(records))
    return Released(values, statistic, mechanism, n)


def of_marginals():
    over, adjacency = TINY["chain"].variables, "replace-one"
    statistic = MarginalContrasts.of_order(over, 2, adjacency)
    records = random_records(np.random.default_rng(0), TINY["chain"], 40)
    options = {"epsilon": "5", "adjacency": adjacency, "mechanism": "k-norm"}
    return dp.release(statistic, records, **options)


def sampled_tables():
    net = TINY["chain"]
    return posteriors.SampledPosterior(net, drawn_tables(net, 20))


def sampled_parameters():
    statistic = Sufficient.of("gaussian", (dp.Interval("x", 0, 1),), "replace-one")
    drawn = jr.uniform(study_key(6), (20, 2))
    return posteriors.SampledParameters(("mean", "variance"), drawn, statistic)


def markov_chains():
    """A chain of twenty draws of two hidden states, of which state 1 is frequent."""
    drawn = jr.dirichlet(study_key(11), jnp.ones(2), (20, 1, 2))
    paths = jnp.zeros((20, 3, 1, 2), jnp.int8).at[:, 1:].set(1)
    tables = {"emission": drawn, "initial": drawn[:, :, 0], "transition": drawn}
    return HiddenMarkovPosterior(
        paths, declared=jnp.ones((2, 3), bool), fields=(2,), trace=None, **tables
    )


def of_leaves():
    """A release of the counts of y, and of a leaf that depends on it."""
    levels = {"y": [0, 1], "x": {"lower": -1, "upper": 1}}
    records = np.array([[0, -0.3], [0, 0.2], [1, 0.6], [1, 0.5]] * 9)
    net, options = MixedNet.naive_bayes(levels, "y"), {"epsilon": "9"}
    return dp.release(net, records, adjacency="replace-one", **options)


def of_family(family, records):
    columns = {"x": list(range(len(family.scales()) + 1))} if family.categorical else {}
    variable = (
        dp.Variable("x", tuple(range(max(2, family.dimension))))
        if columns
        else dp.Interval("x", *family.bounds[0])
    )
    statistic = Sufficient(family, (variable,), "replace-one")
    mechanism = DiscreteLaplace.calibrate("2", statistic.sensitivity("replace-one"))
    values = mechanism.sample(study_key(2), statistic.measure(np.array(records)))
    return Released(values, statistic, mechanism, len(records))


def drawn_tables(net, number):
    keys = jr.split(study_key(3), number)
    alpha = jnp.ones(net.layout.length)
    return jax.vmap(lambda key: draw_tables(key, alpha, net.layout))(keys)


def conjugate(name):
    family, parameters = FAMILIES[name]
    return family.posterior(parameters)


CHAINS = {"chains": 2, "warmup": 40}
MAKE = {
    "plug-in": lambda: posteriors.plug_in_posterior(of_network(TINY["chain"])),
    "exact": lambda: posteriors.exact_posterior(of_network(TINY["chain"])),
    "exact-tree": lambda: posteriors.tree_posterior(of_network(BINARY)),
    "point-estimate": lambda: posteriors.point_estimate(
        of_network(TINY["two roots"], 2000), steps=60
    ),
    "wide point-estimate": lambda: posteriors.point_estimate(
        of_network(TINY["two roots"]), steps=60
    ),
    "separate-tables": lambda: posteriors.separate_tables(
        of_network(TINY["collider"]), steps=60
    ),
    "gibbs": lambda: posteriors.gibbs_posterior(
        study_key(4), of_network(TINY["coin"]), **CHAINS, sweeps=400, thin=2
    ),
    "normal": lambda: posteriors.normal_posterior(
        study_key(5), of_network(TINY["coin"], 40), **CHAINS, samples=200
    ),
    "random-field": lambda: posteriors.field_posterior(
        study_key(9), of_marginals(), samples=500
    ),
    "mixed": lambda: posteriors.mixed_posterior(study_key(10), of_leaves()),
    "samples of tables": lambda: sampled_tables(),
    "weighted tables": lambda: sampled_tables().update(np.array([[1, 0], [1, 2]])),
    "samples of parameters": lambda: sampled_parameters(),
    "weighted parameters": lambda: sampled_parameters().update(
        np.array([[0.9], [0.7]])
    ),
    "bernoulli proportions": lambda: posteriors.proportions_posterior(
        of_family(Bernoulli(), [[0], [1], [1], [0], [1]])
    ),
    "categorical proportions": lambda: posteriors.proportions_posterior(
        of_family(Categorical(3), [[0], [1], [2], [0], [1]])
    ),
    "clipped": lambda: posteriors.clipped_posterior(
        of_family(Exponential(2.0), [[0.5], [2.0], [1.5]] * 5)
    ),
    "hidden Markov chains": lambda: markov_chains(),
    "hidden-totals": lambda: posteriors.family_posterior(
        study_key(7), of_family(Poisson(9), [[1.0], [3.0]] * 8), **CHAINS, draws=200
    ),
    **{f"conjugate {name}": functools.partial(conjugate, name) for name in FAMILIES},
}
QUICK = ["plug-in", "samples of tables", "samples of parameters"]
QUICK += ["hidden Markov chains", "conjugate poisson", "conjugate gaussian"]
KINDS = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.thorough)
    for name in MAKE
]
NETWORKS = ["plug-in", "exact", "exact-tree", "point-estimate", "gibbs", "normal"]
NETWORKS += ["wide point-estimate", "separate-tables", "random-field"]
NETWORKS += ["samples of tables", "weighted tables"]


@functools.cache
def made(name):
    return MAKE[name]()


@functools.cache
def draws(name):
    found = made(name)
    drawn = eqx.filter_jit(lambda key: found.sample(key, (DRAWS,)))(study_key(8))
    return jax.tree.map(np.asarray, drawn)


def by_name(values):
    """Arrays by name; those of a leaf, which has two parameters, by both names."""
    if not isinstance(values, dict):
        return {"": values}
    found = {}
    for name, x in values.items():
        inner = {f"{name} {k}": y for k, y in x.items()} if isinstance(x, dict) else {}
        found |= inner or {name: x}
    return found


def every(*names):
    return [param for param in KINDS if param.values[0] in names]


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_every_posterior_says_its_method_and_answers_in_one_shape(name, key):
    found = made(name)
    assert isinstance(found, Posterior)
    kinds = NetworkPosterior, FamilyPosterior, posteriors.MixedPosterior
    kinds += (HiddenMarkovPosterior,)
    assert sum(isinstance(found, kind) for kind in kinds) == 1
    assert found.method in METHODS
    mean = by_name(found.mean())
    shapes = jax.tree.map(jnp.shape, mean)
    keys = jr.split(key)
    assert jax.tree.map(jnp.shape, by_name(found.sd())) == shapes
    assert jax.tree.map(jnp.shape, by_name(found.sample(keys[0]))) == shapes
    many = by_name(found.sample(keys[1], (2, 3)))
    assert {k: v.shape for k, v in many.items()} == {
        k: (2, 3, *shape) for k, shape in shapes.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_every_posterior_is_shown_without_its_numbers(name):
    shown = repr(made(name))
    assert "[" not in re.sub(r"[a-z0-9]+\[[0-9, ]*\](\(numpy\))?", "", shown)  # shapes
    if "conjugate" not in name:
        assert "\n" not in shown
        assert made(name).method in shown


@pytest.mark.parametrize("name", every(*(x for x in MAKE if "weighted" not in x)))
def test_quantiles_rise_and_split_the_draws_as_they_say(name):
    found, levels = made(name), (0.2, 0.5, 0.8)
    cuts = [by_name(found.quantile(q)) for q in levels]
    for parameter, drawn in by_name(draws(name)).items():
        if parameter == "covariance":  # whose quantiles are of the variances
            drawn = np.diagonal(drawn, axis1=-2, axis2=-1)
            parameter = "variance"
        low, middle, high = (np.asarray(cut[parameter]) for cut in cuts)
        assert ((low < middle) & (middle < high)).all()
        for q, cut in ((0.2, low), (0.5, middle)):
            for below in (drawn <= cut).reshape(DRAWS, -1).sum(axis=0):
                assert_binomial(below, DRAWS, q)
    for q in (0.0, 1.0, -0.5):
        with pytest.raises(ValueError, match="`q` must be between 0 and 1"):
            found.quantile(q)


@pytest.mark.parametrize("name", every(*MAKE))
def test_means_and_deviations_are_those_of_the_draws(name):
    found = made(name)
    means, deviations = by_name(found.mean()), by_name(found.sd())
    for parameter, drawn in by_name(draws(name)).items():
        mean, sd = means[parameter], np.asarray(deviations[parameter])
        error = np.abs(drawn.mean(axis=0) - mean)
        assert (error <= FAR * sd / np.sqrt(DRAWS) + 1e-6).all()
        if isinstance(found, NetworkPosterior):  # bounded: squares have a normal mean
            squares = (drawn - mean) ** 2
            off = np.abs(squares.mean(axis=0) - sd**2)
            assert (off <= FAR * squares.std(axis=0) / np.sqrt(DRAWS) + 1e-6).all()


def narrow(found, strength):
    """Dirichlet rows about the same mean, so many times as narrow."""
    layout = found.net.layout
    mean = jnp.concatenate([x.ravel() for x in found.mean().values()])
    sd = jnp.concatenate([x.ravel() for x in found.sd().values()])
    whole = mean * (1 - mean) / sd**2 - 1
    largest = layout.row_maxima(whole) if strength > 1 else -layout.row_maxima(-whole)
    return PlugInPosterior(found.net, mean * largest * strength)


def log_density(reference, values):
    """NumPyro's, not that of the library."""
    laws = reference.distributions()
    return sum(law.log_prob(values[name]).sum() for name, law in laws.items())


@pytest.mark.parametrize("name", every("plug-in", "exact", "exact-tree"))
def test_densities_of_tables_are_those_of_the_draws(name):
    """Under p, the expectation of r / p is 1 for a density r narrower than p."""
    found = made(name)
    reference = narrow(found, 2.0)

    @eqx.filter_jit
    def ratio(values):
        return jnp.exp(log_density(reference, values) - found.log_prob(values))

    check_mean_of_one(jax.lax.map(ratio, draws(name)))


@pytest.mark.parametrize(
    "name", every("point-estimate", "wide point-estimate", "gibbs")
)
def test_densities_of_tables_integrate_to_one(name, key):
    """Under a wide r, the expectation of p / r is 1."""
    found = made(name)
    wide = narrow(found, 0.4)

    @eqx.filter_jit
    def ratio(values):
        return jnp.exp(found.log_prob(values) - log_density(wide, values))

    check_mean_of_one(jax.lax.map(ratio, wide.sample(key, (DRAWS,))))


def check_mean_of_one(ratios):
    ratios = np.asarray(ratios, float)
    error = FAR * ratios.std() / np.sqrt(DRAWS)
    assert error < 0.6, "the reference is too far from the posterior to tell"
    assert abs(ratios.mean() - 1) <= error


FAMILY_RECORDS = {
    "conjugate gaussian": [[0.3], [1.0]],
    "conjugate multivariate-gaussian": [[0.3, -1.0], [1.0, 0.5]],
    "conjugate linear-regression": [[0.3, -1.0], [1.0, 0.5]],
    "conjugate known-noise": [[0.3, -1.0], [1.0, 0.5]],
    "conjugate gaussian-mean": [[0.3], [1.0]],
    "conjugate exponential": [[0.6]],
    "clipped": [[0.6], [2.0]],
}


@pytest.mark.parametrize(
    "name",
    every("clipped", *[x for x in MAKE if "conjugate" in x or "proportions" in x]),
)
def test_densities_of_parameters_are_those_of_the_draws(name):
    """As of tables: the posterior after more records is the narrower law."""
    found = made(name)
    records = jnp.asarray(FAMILY_RECORDS.get(name, [[1], [0]]))
    reference = found.update(records)
    assert type(reference) is type(found)

    def ratio(values):
        return reference.log_prob(values) - found.log_prob(values)

    ratios = eqx.filter_jit(lambda values: jax.lax.map(ratio, values))(draws(name))
    check_mean_of_one(np.exp(ratios))


@pytest.mark.parametrize("name", every(*NETWORKS))
def test_predictions_of_networks_are_probabilities(name, key):
    found = made(name)
    net = found.net
    states = np.array(list(itertools.product(*map(range, net.sizes))), np.int32)
    total = float(np.exp(np.asarray(found.log_likelihood(states), float)).sum())
    assert total == pytest.approx(1, abs=1e-4)
    target = net.names[-1]
    chances = np.asarray(found.predict_proba(states, target))
    assert chances.shape == (len(states), net.sizes[-1])
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(found.predict(states, target), chances.argmax(axis=1))
    records = found.sample_records(key, 7)
    assert records.shape == (7, len(net.sizes))
    assert (np.asarray(records) < net.sizes).all()


@pytest.mark.parametrize("name", every("plug-in", "exact", "exact-tree"))
def test_more_records_obey_the_rule_of_bayes(name):
    """The log-ratio of densities after and before is the log-likelihood less one."""
    found = made(name)
    records = random_records(np.random.default_rng(1), found.net, 4)
    after = found.update(records)
    assert type(after) is type(found)
    assert after.method == found.method
    gains = []
    for i in range(3):
        tables = {k: jnp.asarray(v[i]) for k, v in draws(name).items()}
        given = np.prod([probability(found.net, tables, record) for record in records])
        ratio = after.log_prob(tables) - found.log_prob(tables)
        gains.append(float(ratio) - np.log(given))
    np.testing.assert_allclose(gains, gains[0], atol=5e-3)


def probability(net, tables, record):
    cells = zip(net.names, net.families, strict=True)
    return np.prod([tables[x][tuple(record[list(group)])] for x, group in cells])


QUESTIONS = {
    "log_prob": lambda found: found.log_prob(found.mean()),
    "update": lambda found: found.update(np.zeros((1, len(found.net.sizes)), int)),
    "distributions": lambda found: found.distributions(),
    "predict": lambda found: found.predict(np.zeros((1, 1))),
}
UNDEFINED = {
    "normal": ["log_prob", "distributions"],
    "samples of tables": ["log_prob", "distributions"],
    "samples of parameters": ["log_prob"],
    "exact": ["distributions"],
    "exact-tree": ["distributions"],
    "point-estimate": ["distributions"],
    "gibbs": ["distributions"],
    "random-field": ["distributions"],
}


@pytest.mark.parametrize("name", every(*UNDEFINED))
def test_what_is_not_defined_names_what_is(name):
    for question in UNDEFINED[name]:
        with pytest.raises(ValueError, match=f"`{question}` must be asked of") as error:
            QUESTIONS[question](made(name))
        [line] = str(error.value).splitlines()
        remedies = re.findall(r"`([^`]+)`", line.partition(": use ")[2])
        assert remedies
        for remedy in remedies:
            method = re.search(r'method="([^"]+)"', remedy)
            known = [*posteriors.__all__, *dir(Posterior)]
            assert method[1] in METHODS if method else remedy in known


@pytest.mark.parametrize("name", every("conjugate poisson", "samples of parameters"))
def test_only_regressions_predict(name):
    with pytest.raises(ValueError, match="`family` must be a linear-regression"):
        made(name).predict(np.zeros((1, 1)))
    with pytest.raises(ValueError, match="`family` must be a linear-regression"):
        made(name).interval(np.zeros((1, 1)))


@pytest.mark.thorough
def test_every_method_has_a_posterior_here():
    assert {made(name).method for name in MAKE} == set(METHODS)
