"""Faults of default priors with unknown hyperparameters: intervals that are wrong."""

from tests.mutants.mutant import Mutant

_TESTS = "tests/test_default_prior.py::"
_DRAWN = _TESTS + "test_hyperparameters_are_drawn_with_the_total"
_LAW = _TESTS + "test_law_of_a_regression_given_its_scales[{}]"
_PRIOR = "posteriors/hidden_totals/default_prior.py"
_WALK = "posteriors/hidden_totals/total_walk.py"
_TOTALS = "families/regression_totals.py"
_COORDINATES = "families/moment_coordinates.py"
_PIVOTS = "families/moment_totals.py"
_OF_COORDINATES = "tests/test_moment_coordinates.py::"
_VOLUME = _OF_COORDINATES + "test_the_volume_is_that_of_the_map[intercept]"

MUTANTS = tuple(
    Mutant("law changed", f"prior: {what}", file, old, new, (test,))
    for what, file, old, new, test in (
        (
            "a row of coordinates has a shorter one's volume",
            _COORDINATES,
            "lengths / 2 + 1, w.dtype",
            "lengths / 2, w.dtype",
            _VOLUME,
        ),
        (
            "the volume of products is left out",
            _COORDINATES,
            "volume = jnp.where(is_row, of_row, 0).sum() + of_product.sum()",
            "volume = jnp.where(is_row, of_row, 0).sum()",
            _VOLUME,
        ),
        (
            "slopes of what the prior adds are those without it",
            _PIVOTS,
            "last = _diagonal(both, changes[0] + changes[1])",
            "last = _diagonal(inverse, changes[0] + changes[1])",
            _OF_COORDINATES + "test_pivots_and_their_gains",
        ),
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
            "return logs.sum() / 2 + prior.shape * jnp.log(prior.scale)",
            "return prior.shape * jnp.log(prior.scale)",
            _LAW.format(True),
        ),
        (
            "the normaliser of the noise variance is left out",
            _TOTALS,
            "return logs.sum() / 2 + prior.shape * jnp.log(prior.scale)",
            "return logs.sum() / 2",
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
