"""Coverage of posterior intervals, by simulation without any data.

If tables are drawn from the prior, and a release from the tables, then the posterior's
distribution function at a true probability, called its rank, is uniform. One rank is
drawn from each release, since the parameters of one release are dependent.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jax.scipy.special import betainc
from jaxtyping import Array, Float

from dpjax._checks import probability, typed_key, whole
from dpjax._later import special
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.data.probabilities import sample_records
from dpjax.mechanisms import Mechanism
from dpjax.mechanisms.recipes import Recipe, noise_for, recipe_of
from dpjax.posteriors import (
    TooExpensive,
    Windows,
    check_exact,
    exact_posterior,
    plug_in_posterior,
    point_estimate,
    rank_in,
    sums_of,
    widen,
)
from dpjax.posteriors.plug_in import draw_tables
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.privacy import (
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Guarantee,
    budget_of,
    in_words,
)
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic

BINS = 20
_BLOCK = 50  # releases in a call of the compiled program: a step of the progress bar
_TOLERANCE = 1e-6  # posterior mass outside of windows: too little to change results


@dataclass(frozen=True)
class Ranks:
    """Ranks (posterior distribution functions at true values), one for each release."""

    posterior: str  # name of the kind of posterior
    level: float  # posterior probability of the intervals
    ranks: np.ndarray

    @property
    def covered(self) -> int:
        """Number of central posterior intervals that contain the true value."""
        outside = (1 - self.level) / 2
        return int(((self.ranks >= outside) & (self.ranks <= 1 - outside)).sum())

    @property
    def coverage(self) -> float:
        """Fraction of the intervals that contain the true value; ideally `level`."""
        return self.covered / self.ranks.size

    @property
    def coverage_interval(self) -> tuple[float, float]:
        """95 % Clopper-Pearson confidence interval of `coverage`."""
        inside, outside = self.covered, self.ranks.size - self.covered
        low = special.betaincinv(inside, outside + 1, 0.025) if inside else 0
        high = special.betaincinv(inside + 1, outside, 0.975) if outside else 1
        return float(low), float(high)

    @property
    def histogram(self) -> np.ndarray:
        """Number of ranks in each of 20 equal bins of [0, 1]."""
        bins = np.minimum((self.ranks * BINS).astype(int), BINS - 1)
        return np.bincount(bins, minlength=BINS)

    @property
    def pvalue(self) -> float:
        """The p-value of a χ² test of the hypothesis that ranks are uniform."""
        expected = self.ranks.size / BINS
        distance = ((self.histogram - expected) ** 2).sum() / expected
        return float(special.chdtrc(BINS - 1, distance))


@dataclass(frozen=True, repr=False)
class Coverage:
    """Ranks in the noise-aware and in the plug-in posteriors of the same releases."""

    n: int  # number of records of a data set
    budget: Guarantee  # of a release
    noise_aware: Ranks
    naive: Ranks

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the budget."""
        return self.budget.adjacency

    @property
    def loss(self) -> dict[str, float]:
        """The numbers of the budget, such as ε or ρ, by name."""
        return {name: float(x) for name, x in self.budget.numbers.items()}

    def __str__(self) -> str:
        loss = in_words({name: f"{x:g}" for name, x in self.loss.items()})
        return f"n = {self.n:,}, {loss}, {self.adjacency}"

    def __repr__(self) -> str:
        found = ", ".join(
            f"{x.posterior} {x.coverage:.3f}" for x in (self.noise_aware, self.naive)
        )
        share = f"{self.naive.level:g} intervals contain the truth: {found}"
        return f"Coverage({self}; {share})"


def coverage(
    key: Key,
    net: BayesNet,
    n: int,
    epsilon: Epsilon | None = None,
    adjacency: Adjacency | None = None,
    *,
    budget: Guarantee | None = None,
    mechanism: str | Recipe | None = None,
    releases: int = 2000,
    level: float = 0.95,
    prior: Prior = 1.0,
    progress: Callable[[Iterable[Array]], Iterable[Array]] = iter,
) -> Coverage:
    """Draw tables, records and releases, and return ranks of true values in posteriors.

    A rank is the posterior's distribution function at a true probability; ranks are
    uniform if posterior intervals have the coverage that they claim. The noise-aware
    posterior is exact where `exact_posterior` applies, except for trees; otherwise it
    has the beta distributions of `point_estimate`. The prior of n is flat on n ≥ 0, so
    under add-remove n should be many noise scales above 0.

    Args:
        key: typed JAX key.
        net: the network.
        n: number of records of a data set.
        epsilon: privacy loss of each release.
        adjacency: "replace-one" or "add-remove".
        budget: the guarantee of each release, in place of `epsilon` and `adjacency`.
        mechanism: recipe of the releases, or its name; one that adds noise: "laplace",
            "fourier", "k-norm", "auto" or, for a budget of kind zcdp, "gaussian". None
            means "gaussian" for such a budget, and otherwise "laplace".
        releases: number of simulated releases.
        level: posterior probability of the intervals.
        prior: Dirichlet parameters of the prior, from which true tables are drawn.
        progress: function that wraps the iterable of blocks, such as `tqdm`.

    Privacy:
        No data is used.

    Raises:
        ValueError: if a number is out of range, the prior has the wrong shape, or the
            mechanism does not add noise to the statistic of a network.
    """
    typed_key(key=key)
    net.refuse_impossible("`coverage`")
    whole(1, n=n, releases=releases)
    probability(level=level)
    cost = _cost(epsilon, adjacency, budget)
    recipe = recipe_of(noise_for(net, cost) if mechanism is None else mechanism)
    recipe, each = recipe.paid_by(cost)
    statistic = recipe.statistic(net, cost.adjacency)
    known = n if cost.adjacency == REPLACE_ONE else None
    noise = recipe.mechanism(statistic, each, known)
    if not (isinstance(statistic, TableStatistic) and noise.additive):
        raise ValueError(
            "`mechanism` must be one that adds noise, such as 'laplace', got "
            f"{str(recipe)!r}."
        )
    cells = jnp.broadcast_to(flat_prior(net, prior), (net.layout.length,))
    study = _Study(net, statistic, noise.for_studies(), cells, n, known)
    key_example, key_releases = jr.split(key)
    windows = _first_windows(study, key_example)
    ranks = []
    blocks = jr.split(key_releases, (-(-releases // _BLOCK), _BLOCK))
    for keys in progress(blocks):
        found, windows = _ranks(study, keys, windows)
        ranks.append(found)
    aware, naive = np.concatenate(ranks)[:releases].T
    kind = "point estimate" if windows is None else "exact"
    return Coverage(
        n,
        cost,
        Ranks(f"noise-aware, {kind}", level, aware),
        Ranks("plug-in", level, naive),
    )


def _cost(
    epsilon: Epsilon | None, adjacency: Adjacency | None, budget: Guarantee | None
) -> Guarantee:
    """Return the guarantee of a release; `ValueError` unless it is given once."""
    if budget is None and epsilon is not None and adjacency is not None:
        return budget_of(epsilon, adjacency)
    if budget is None or epsilon is not None or adjacency is not None:
        raise ValueError(
            "`budget` must be given, or `epsilon` and `adjacency`, and not both."
        )
    return budget


class _Study(eqx.Module):
    net: BayesNet = eqx.field(static=True)
    statistic: TableStatistic = eqx.field(static=True)
    mechanism: Mechanism
    prior: Float[Array, " c"]
    n: int = eqx.field(static=True)
    known: int | None = eqx.field(static=True)  # n if it is public

    def draw(self, key: Key) -> tuple[Array, Released]:
        """Draw tables from the prior, and a release of records from them."""
        key_tables, key_records, key_noise = jr.split(key, 3)
        net = self.net
        theta = draw_tables(key_tables, self.prior, net.layout)
        records = sample_records(key_records, theta, net, self.n)
        values = self.mechanism.sample(key_noise, self.statistic.measure(records))
        return theta, Released(values, self.statistic, self.mechanism, self.known)


def _first_windows(study: _Study, key: Key) -> Windows | None:
    """Return the windows of one release's exact posterior; None if there is none."""
    _, released = study.draw(key)
    try:
        check_exact(released)
    except ValueError:
        return None
    tables = _by_name(study)
    try:
        return exact_posterior(released, tables, tolerance=_TOLERANCE).windows
    except TooExpensive:
        return None


def _ranks(
    study: _Study, keys: Array, windows: Windows | None
) -> tuple[np.ndarray, Windows | None]:
    """Return ranks for a block of releases, and windows wide enough for all of them."""
    while True:
        ranks, omitted = _block(study, jr.clone(keys), windows)
        losses = np.asarray(omitted, float).max(axis=0)
        if windows is None or losses.sum() <= _TOLERANCE:
            return np.asarray(ranks, float), windows
        wider = widen(windows, losses.tolist(), _TOLERANCE, study.known)
        if wider == windows:
            raise TooExpensive("`prior` must be weaker, or x64 on, for exact sums.")
        windows = wider


@eqx.filter_jit
def _block(study: _Study, keys: Array, windows: Windows | None):
    # One release after the other, since the sums for one fill a cache.
    return lax.map(lambda key: _one(study, key, windows), keys)


def _one(study: _Study, key: Key, windows: Windows | None) -> tuple[Array, Array]:
    key_release, key_place = jr.split(key)
    theta, released = study.draw(key_release)
    place = jr.randint(key_place, (), 0, theta.size)
    if windows is None:
        estimate = point_estimate(released, _by_name(study))
        sd = jnp.concatenate([jnp.ravel(x) for x in estimate.sd().values()])
        mean = estimate.theta[place]
        # The beta distribution with this mean and standard deviation, as in `quantile`.
        weight = mean * (1 - mean) / sd[place] ** 2 - 1
        aware = betainc(weight * mean, weight * (1 - mean), theta[place])
        omitted = jnp.zeros(3)
    else:
        aware, omitted = rank_in(
            sums_of(released, study.prior, windows), place, theta[place]
        )
    naive = plug_in_posterior(released, _by_name(study)).concentration
    rest = study.net.layout.row_sums(naive)[place] - naive[place]
    taken = betainc(naive[place], rest, theta[place])
    return jnp.stack([aware, taken]), omitted


def _by_name(study: _Study) -> dict[str, Array]:
    net = study.net
    return dict(zip(net.names, net.layout.split(study.prior), strict=True))
