"""What all conjugate posteriors have in common."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from dpjax.families import conjugate_posterior
from tests.helpers.cases import mostly_thorough
from tests.helpers.families import FAMILIES, fit, random_records

ONE_A_LAW = [
    "bernoulli",
    "categorical",
    "poisson",
    "gaussian mean",
    "gaussian",
    "two columns",
    "two features",
    "no intercept",
]


@pytest.mark.parametrize("name", mostly_thorough(ONE_A_LAW, 4))
def test_updating_equals_everything_at_once(name, rng):
    family = FAMILIES[name]
    records = random_records(rng, family, 30)
    first = fit(family, records[:12])
    together = jax.jit(lambda p, x: p.update(x).parameters)(first, records[12:])
    for ours, whole in zip(together, fit(family, records).parameters, strict=True):
        size = np.abs(whole).max()
        np.testing.assert_allclose(ours, whole, rtol=1e-3, atol=1e-4 * size)


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_thorough(ONE_A_LAW))
def test_posteriors_are_pytrees_and_noisy_totals_do_not_break_them(name, key, rng):
    family = FAMILIES[name]
    scales = jnp.asarray(family.scales())
    key_totals, key = jr.split(key)
    totals = scales[None, :] * (5 * jr.normal(key_totals, (6, family.dimension)))
    sizes = jnp.array([-4.0, 0.0, 0.3, 3.0, 10.0, 10.0])

    @jax.jit
    @jax.vmap
    def use(total, n, key):
        posterior = conjugate_posterior(family, total, n)
        again = jax.tree.unflatten(*jax.tree.flatten(posterior)[::-1])
        values = again.sample(key)
        return posterior, values, again.log_prob(values), again.mean()

    stack, values, log_prob, mean = use(totals, sizes, jr.split(key, 6))
    for leaf in jax.tree.leaves((values, log_prob, mean, stack.parameters)):
        assert np.isfinite(leaf).all()
