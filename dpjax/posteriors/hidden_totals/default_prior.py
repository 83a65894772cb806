"""Default priors with unknown hyperparameters."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dpjax.families.exact_totals import FamilyWithLaw

_Hyper = Float[Array, " h"]
_Total = Float[Array, " k"]
_Scalar = Float[Array, ""]


class DefaultPrior(eqx.Module):
    """A family's default prior, updated with further records if there are any.

    Args:
        total: sum of the statistic over further records; None if there are none.
        n: number of further records; None if there are none.

    Privacy:
        The further records are not protected.
    """

    total: _Total | None = None
    n: _Scalar | None = None

    def given(
        self, family: FamilyWithLaw, hyper: _Hyper, total: _Total, n: _Scalar
    ) -> Any:
        """Return the conjugate prior of hidden records, given the further records.

        Args:
            family: the exponential family.
            hyper: hyperparameters.
            total: sum of the statistic over the hidden records.
            n: number of hidden records.
        """
        prior = family.default_prior(hyper, total, n)
        if self.total is None or self.n is None:
            return prior
        return family.update(prior, self.total, self.n)

    def log_density(
        self, family: FamilyWithLaw, hyper: _Hyper, total: _Total, n: _Scalar
    ) -> _Scalar:
        """Return the log-density of hyperparameters and of the further records.

        By Bayes' theorem, the density of the records is the likelihood at one value of
        the parameters, whichever it is, times the ratio of the prior density to the
        posterior density at this value. The likelihood does not depend on the
        hyperparameters and is omitted. The arguments are those of `given`.
        """
        density = -(hyper**2).sum() / 2
        if self.total is None or self.n is None:
            return density
        none = jnp.zeros_like(hyper)
        centre = family.default_prior(none, self.total, self.n)
        value = family.posterior(family.update(centre, self.total, self.n)).mean()
        before = family.posterior(family.default_prior(hyper, total, n))
        after = family.posterior(self.given(family, hyper, total, n))
        return density + before.log_prob(value) - after.log_prob(value)

    def updated(self, total: _Total, n: int) -> "DefaultPrior":
        """Return the prior updated with n more records, whose sum is `total`."""
        if self.total is None or self.n is None:
            return DefaultPrior(total, jnp.asarray(n, total.dtype))
        return DefaultPrior(self.total + total, self.n + n)
