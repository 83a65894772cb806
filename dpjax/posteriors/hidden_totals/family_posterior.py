"""Noise-aware posteriors of exponential families, given a release or several.

The total is the sum of the sufficient statistics of all records, which is hidden by the
noise. Markov chains draw the exact total, with the parameters integrated out.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import typed_key, whole
from dpjax._types import Key
from dpjax.data.sources import Table
from dpjax.families.marginal_laws import HostArray
from dpjax.noise.keys import study_key
from dpjax.posteriors.hidden_totals.default_prior import DefaultPrior
from dpjax.posteriors.hidden_totals.mixture import ConjugateMixture
from dpjax.posteriors.hidden_totals.total_walk import check_family, infer
from dpjax.posteriors.priors import summed, updated_prior
from dpjax.posteriors.several import Tables, cost_of, tables_of
from dpjax.privacy import Guarantee
from dpjax.releases.released import Released


class NoiseAwareFamilyPosterior(ConjugateMixture):
    """Posterior of an exponential family given noisy sufficient statistics.

    Markov chains draw the hidden exact total of the sufficient statistics. The
    posterior is a mixture of conjugate posteriors, one for each drawn total. `mean`,
    `variance` and `quantile` are computed from this mixture, and are more precise than
    summaries of draws from `sample`.

    Args:
        family: the exponential family; static.
        releases: the releases of each table of records.
        prior: the family's conjugate parameters, or its default prior.
        parameters: parameters of the conjugate posterior for every drawn total; the
            first axes are chains and draws.
        totals: drawn totals of the m sufficient statistics, in the units of the data,
            of the records of all tables.
        n: drawn numbers of records of all tables; constant if the number is public.
        accepted: share of accepted proposals. The axis "kinds" has an entry for each
            kind of proposal in a sweep.
        warmup: number of discarded first sweeps of each chain; static.

    Privacy:
        Post-processing of releases has no privacy cost beyond `guarantee()`.
    """

    family: Any = eqx.field(static=True)
    releases: Tables
    prior: Any
    parameters: Any
    totals: Float[Array, "chains draws m"]
    n: Float[Array, "chains draws"]
    accepted: Float[Array, "chains kinds"]
    warmup: int = eqx.field(static=True)

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "hidden-totals"

    def predict(self, features: Any) -> Float[Array, " n"]:
        """Return a regression's expected target for each row of `features`."""
        return super().predict(self._rows_of(features))

    def interval(
        self, features: Any, level: float = 0.95
    ) -> tuple[HostArray, HostArray]:
        """Return lower and upper ends of each target's central prediction interval."""
        return super().interval(self._rows_of(features), level)

    def _rows_of(self, features: Any) -> Any:
        """Return the features of a table by name; arrays as they are."""
        if not self.family.predicts:
            raise self._no_regression()
        statistic: Any = self.releases[0][0].statistic
        return statistic.features(features)

    def guarantee(self) -> Guarantee:
        """Return the privacy cost of all releases together; see `cost_of`."""
        return cost_of(self.releases)

    def update(
        self, records: Real[ArrayLike, "n d"] | Table, key: Key | None = None
    ) -> "NoiseAwareFamilyPosterior":
        """Return the posterior given further records, which update the prior.

        A new prior changes the distribution of the hidden total. Therefore the chains
        run again, with the same number and length. If `key` is None, a fixed key is
        used.
        """
        key = study_key(0) if key is None else key
        statistic = self.releases[0][0].statistic
        if isinstance(self.prior, DefaultPrior):
            prior = self.prior.updated(*summed(statistic, records))
        else:
            prior = updated_prior(statistic, self.prior, records)
        chains, draws = self.n.shape
        given = {"chains": chains, "warmup": self.warmup, "draws": draws}
        return family_posterior(key, self.releases, prior, disjoint=True, **given)


def family_posterior(
    key: Key,
    released: Released | Sequence[Released | Sequence[Released]],
    prior: Any = None,
    *,
    disjoint: bool | None = None,
    chains: int = 4,
    warmup: int | None = None,
    draws: int | None = None,
) -> NoiseAwareFamilyPosterior:
    """Draw from an exponential family's posterior, given noisy sufficient statistics.

    The total t is the sum of the sufficient statistics of all records. Each Markov
    chain draws the exact t, which is hidden by the noise, and a private number n of
    records, which has a flat prior from the fewest on for which p(t) is a density, one
    more than the columns for a family of moments. The chains have the target density
    p(t) p(release | t), where p(t) is the exact density of a total under the conjugate
    prior. For a regression, p(t) is exact given the features, whose second moments have
    a weak normal-Wishart prior. A family may have a default prior with unknown
    hyperparameters, such as the scales of a regression's columns. The chains then also
    draw these, and each drawn total has its own conjugate prior. Totals that are
    impossible for records within the bounds have probability 0.

    A sweep is a Metropolis step for each number and each hyperparameter. If the total
    consists of the moments of several columns, or of a column with unknown variance, a
    sweep is one proposal of Hamiltonian Monte Carlo, which changes all of them.

    Each table of records has a hidden total; all tables share the parameters.

    The method assumes that records follow the family, that few records are clipped to
    the bounds (clipping moves the total, with or without noise), and that rounding of
    each record's statistics, by at most half a lattice unit, is small relative to the
    noise. Counts are integers; for Poisson data under add-remove, n is drawn as a real
    number.

    Args:
        key: typed JAX key.
        released: a release of the statistic `dpjax.statistics.Sufficient`, with noise
            of a known distribution; or a list of releases of this statistic, by any
            mechanisms. If `disjoint`, each entry is of another table of records, or is
            a list of the releases of another table. Stacked releases need `vmap`.
        prior: the family's conjugate parameters. None means `family.vague_prior()`, or
            for a family with hyperparameters, `family.default_prior`.
        disjoint: for a list, whether no record is in the tables of two entries. If
            False, all releases are of one table of records.
        chains: number of independent chains.
        warmup: number of discarded sweeps of each chain, which fit the step lengths. If
            None, 200 for moments, otherwise 500.
        draws: number of sweeps kept of each chain. If None, 300 for moments, otherwise
            1000.

    Privacy:
        Post-processing has no privacy cost, and may be repeated with other priors. For
        the cost of several releases, see `NoiseAwareFamilyPosterior.guarantee`.

    Raises:
        ValueError: if the distribution of the noise is not known, the release is not of
            an exponential family for which dpjax has the density p(t), releases in a
            list do not fit each other, the prior is of another family or not positive,
            n is too small for p(t) to be a density (it must exceed the number of
            columns if products of columns are summed), or a setting is not positive.

    Reference:
        Bernstein & Sheldon (NeurIPS 2018 and 2019) pose the problem, and use Gibbs
        sampling with a normal approximation of p(t).
    """
    typed_key(key=key)
    one = isinstance(released, Released)
    tables = ((released,),) if one else tables_of(released, disjoint)
    _, family = check_family(tables[0][0])
    usual = (200, 300) if family.has_coordinates else (500, 1000)
    warmup = usual[0] if warmup is None else warmup
    draws = usual[1] if draws is None else draws
    whole(1, chains=chains, warmup=warmup, draws=draws)
    family, prior, inferred = infer(key, tables, prior, chains, warmup, draws)
    return NoiseAwareFamilyPosterior(family, tables, prior, *inferred, warmup)
