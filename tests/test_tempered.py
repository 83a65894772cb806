"""Tempered posteriors of NumPyro models, by NUTS."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import dpjax as dp

pytestmark = pytest.mark.relaxed


def model(records, seen=True):
    mean = numpyro.sample("mean", dist.Normal(0, 10))
    numpyro.sample("x", dist.Normal(mean, 1), obs=records if seen else None)


@pytest.fixture(scope="module")
def drawn():
    records = jnp.asarray(np.random.default_rng(0).normal(2, 1, 100))
    temperature = 4.0
    return records, dp.distributions.tempered_posterior(
        jr.key(0), model, temperature, records, warmup=300, samples=800, chains=2
    )


@pytest.mark.thorough
def test_the_likelihood_is_worth_a_fraction_of_its_records(drawn):
    records, found = drawn
    samples = np.asarray(found.samples["mean"])
    assert samples.shape == (2, 800)
    precision = 1 / 100 + 100 / 4
    mean = float(records.sum()) / 4 / precision
    size = float(found.effective_size["mean"])
    assert samples.mean() == pytest.approx(mean, abs=6 * (precision * size) ** -0.5)
    assert samples.std() == pytest.approx(precision**-0.5, rel=0.2)
    assert size > 200


@pytest.mark.thorough
def test_how_well_it_mixed_is_part_of_the_answer(drawn):
    _, found = drawn
    assert found.grade == "mcmc"
    assert float(found.r_hat["mean"]) == pytest.approx(1, abs=0.05)
    assert int(found.divergences) == 0
    assert float(found.temperature) == 4


@pytest.mark.thorough
def test_it_is_refused_by_release(drawn):
    _, found = drawn
    with pytest.raises((TypeError, ValueError)):
        dp.release(found, np.zeros((3, 1)), epsilon=1, adjacency="replace-one")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, "`temperature` must be positive"),
        ({"chains": 0}, "`chains` must be"),
        ({"likelihood": ["y"]}, "`likelihood` must name"),
        ({"seen": False}, "`model` must observe"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    temperature = options.pop("temperature", 1.0)
    with pytest.raises(ValueError, match=message):
        dp.distributions.tempered_posterior(
            jr.key(0), model, temperature, jnp.zeros(3), **options
        )
