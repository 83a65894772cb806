"""Faults of default priors with unknown hyperparameters: intervals that are wrong."""

from tests.mutants.mutant import Mutant

_TESTS = "tests/test_default_prior.py::"
_DRAWN = _TESTS + "test_hyperparameters_are_drawn_with_the_total"
_LAW = _TESTS + "test_law_of_a_regression_given_its_scales[{}]"
_PRIOR = "posteriors/hidden_totals/default_prior.py"
_WALK = "posteriors/hidden_totals/total_walk.py"
_TOTALS = "families/regression_totals.py"

MUTANTS = tuple(
    Mutant("law changed", f"prior: {what}", file, old, new, (test,))
    for what, file, old, new, test in (
        (
            "hyperparameters have no density",
            _PRIOR,
            "density = -(hyper**2).sum() / 2",
            "density = jnp.zeros(())",
            _DRAWN,
        ),
        (
            "further records tell nothing about hyperparameters",
            _PRIOR,
            "return density + before.log_prob(value) - after.log_prob(value)",
            "return density",
            _DRAWN,
        ),
        (
            "only the last of further records counts",
            _PRIOR,
            "return DefaultPrior(self.total + total, self.n + n)",
            "return DefaultPrior(total, jnp.asarray(n, total.dtype))",
            _DRAWN,
        ),
        (
            "all drawn totals have the same prior",
            _WALK,
            "hidden.conjugate(hyper, total, n), total",
            "hidden.conjugate(0 * hyper, total, n), total",
            _DRAWN,
        ),
        (
            "hyperparameters stay where they start",
            _WALK,
            "hyper = hyper + step_size * moved.astype(float)",
            "hyper = hyper + 0 * step_size * moved.astype(float)",
            _DRAWN,
        ),
        (
            "a prior that is given is ignored",
            _WALK,
            "    if prior is None:\n",
            "    if family.hyperparameters or prior is None:\n",
            _DRAWN,
        ),
        (
            "the normaliser of the weights is left out",
            _TOTALS,
            "volume = jnp.log(pivots(prior.precision)).sum() / 2",
            "volume = jnp.zeros(())",
            _LAW.format(True),
        ),
        (
            "the normaliser of the noise variance is left out",
            _TOTALS,
            "return volume + prior.shape * jnp.log(prior.scale)",
            "return volume",
            _LAW.format(True),
        ),
        (
            "the normaliser of the features is left out",
            _TOTALS,
            "normaliser = degrees * jnp.log(sds).sum()",
            "normaliser = jnp.zeros(())",
            _LAW.format(False),
        ),
        (
            "the normaliser of the features' means is left out",
            _TOTALS,
            "return law + normaliser + f / 2 * jnp.log(strength)",
            "return law + normaliser",
            _LAW.format(True),
        ),
    )
)
