"""Experiment for sweeps: learning of a Bayesian network's tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import equinox as eqx
from jaxtyping import Array, ArrayLike, Float, Int32, Integer, Real

from dpjax._checks import array_of, one_of, positive, whole
from dpjax._private import Unpickled
from dpjax._types import Cells, Key
from dpjax.data.bayes_net import BayesNet
from dpjax.data.probabilities import log_likelihood, predict, sample_records
from dpjax.mechanisms import (
    ContinuousKNorm,
    DiscreteLaplace,
    Laplace,
    Mechanism,
    NetworkPosteriorSampler,
)
from dpjax.mechanisms.recipes import Recipe
from dpjax.privacy import (
    ADJACENCIES,
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Sensitivity,
    budget_of,
    exact_epsilon,
)
from dpjax.statistics import (
    Contrasts,
    FourierCoefficients,
    NetworkCounts,
    TableStatistic,
)
from dpjax.study.experiments.learners import (
    Experiment,
    ReleasedTables,
    SampledTables,
    TableLearner,
    of_recipe,
    refuse_unprepared,
    repeated,
    stacked,
)
from dpjax.study.experiments.splits import split
from dpjax.study.metrics import accuracy, log_loss, roc_auc, table_errors
from dpjax.tables.counts import count

MECHANISMS = (
    *("laplace", "projected", "noise-aware", "fourier", "k-norm", "k-norm-noise-aware"),
    *("posterior-sample", "non-private"),
)
PREDICTIVE = ("accuracy", "auc", "log_loss", "log_likelihood")
OF_TRUTH = ("total_variation", "kl")


class NetworkTrial(Unpickled, eqx.Module):
    """Training counts and held-out records of one repeat of `NetworkExperiment`."""

    counts: Int32[Array, " m"]  # exact maximal node tables of the training records
    held_out: Integer[Array, "rest d"]  # the other records
    truth: Cells | None  # the true tables, if the records are synthetic


@dataclass(frozen=True)
class NetworkExperiment(Experiment):
    """Learn a network's tables from some records, and score them on the others.

    Each repeat splits the records at random into training and held-out records or, if
    `synthetic` is given, draws new records from true tables, equally for all mechanisms
    and budgets. For each mechanism and budget, tables are then fitted once, and scored:

    - `accuracy`, `log_loss`: of predictions of the target from all other variables;
    - `auc`: area under the ROC curve of these predictions, for a target with two
      levels; NaN if all held-out records have the same level;
    - `log_likelihood`: mean log-likelihood of the held-out records;
    - `total_variation`, `kl`: distance and KL divergence between the true tables, if
      known, and the fitted tables, averaged over the tables' rows.

    The mechanisms are "laplace" (noise on all node tables that no other node table
    contains; negative counts become 0), "projected" (the same noise, and projection to
    consistent tables by least squares), "noise-aware" (the same noise, and a point
    estimate that accounts for it), "fourier" (noise on Fourier coefficients), "k-norm"
    and "k-norm-noise-aware" (noise with the shape of one record's changes; in floats),
    "posterior-sample" (a sample from a truncated and tempered posterior),
    "non-private", and recipes (`dpjax.mechanisms.recipes`) whose mechanisms for
    different budgets differ only in numbers.

    Args:
        net: the network.
        target: the variable to predict.
        training: number of training records, which is public; all others are held out.
        adjacency: "replace-one"; or "add-remove", under which mechanisms do not use the
            number of records.
        prior: Dirichlet parameter of every cell.
        scores: names of the scores to compute; None means all that apply.
        synthetic: number of held-out records, if the data are true tables in one flat
            vector laid out by `net.layout`. None means that the data are records.
        exact_noise: whether to draw integer noise, as a release does. By default the
            noise is in floats of equal scale, which takes half the time.

    Privacy:
        The results are not private: show them only to those who may see the data.

    Raises:
        ValueError: if an argument is out of range, or a score does not apply.
    """

    net: BayesNet
    target: str
    training: int
    adjacency: Adjacency
    prior: float = 1.0
    scores: tuple[str, ...] | None = None
    exact_noise: bool = False
    synthetic: int | None = None

    def __post_init__(self):
        self.net.refuse_impossible("experiments")
        place = self.net.index(self.target)
        whole(1, training=self.training)
        one_of(ADJACENCIES, adjacency=self.adjacency)
        positive(prior=self.prior)
        if self.synthetic is not None:
            whole(1, synthetic=self.synthetic)
        possible = OF_TRUTH if self.synthetic is not None else ()
        known = [x for x in PREDICTIVE if x != "auc" or self.net.sizes[place] == 2]
        object.__setattr__(self, "scores", _chosen(self.scores, (*known, *possible)))

    def learner(self, name: str | Recipe, epsilons: Sequence[Epsilon]) -> TableLearner:
        """Return the mechanism `name`, with parameters stacked over budgets."""
        if isinstance(name, Recipe):
            budgets = [budget_of(epsilon, self.adjacency) for epsilon in epsilons]
            facts = (self.training, self.prior)
            return stacked([of_recipe(name, self.net, x, *facts) for x in budgets])
        one_of(MECHANISMS, mechanism=name)
        counts = NetworkCounts(self.net)
        public = self.training if self.adjacency == REPLACE_ONE else None
        if name == "posterior-sample":
            make = partial(
                NetworkPosteriorSampler.posterior, n=public, prior=str(self.prior)
            )
            laws = [make(self.net.layout, x, self.adjacency) for x in epsilons]
            return SampledTables(counts, stacked([law.in_reals() for law in laws]))
        statistic, noise = self._released(name, counts, epsilons)
        prior = repeated(self.prior, len(epsilons))
        return ReleasedTables(statistic, noise, prior, public, _estimate_of(name))

    def _released(
        self, name: str, counts: NetworkCounts, epsilons: Sequence[Epsilon]
    ) -> tuple[TableStatistic, Mechanism | None]:
        """Return the statistic that is measured, and the noise on it if any."""
        if name == "non-private":
            return counts, None
        if name.startswith("k-norm"):
            contrasts = Contrasts.of_network(self.net, self.adjacency)
            return contrasts, ContinuousKNorm.calibrate_many(epsilons, contrasts)
        if name == "fourier":
            fourier = FourierCoefficients.of_network(self.net, self.adjacency)
            return fourier, self._laplace(fourier, epsilons)
        return counts, self._laplace(counts, epsilons)

    def _laplace(
        self, statistic: TableStatistic, epsilons: Sequence[Epsilon]
    ) -> DiscreteLaplace | Laplace:
        sensitivity = statistic.sensitivity(self.adjacency)
        if self.exact_noise:
            return DiscreteLaplace.calibrate_many(epsilons, sensitivity)
        change = Sensitivity(float(sensitivity.value), self.adjacency)
        exact = [exact_epsilon(epsilon) for epsilon in epsilons]
        return stacked([Laplace(float(epsilon), change) for epsilon in exact])

    def prepare(self, key: Key, data: Real[ArrayLike, "..."]) -> NetworkTrial:
        """Prepare one repeat: count the training records, and hold out the others.

        Privacy:
            The counts are exact, so they are not private.
        """
        layout, data = NetworkCounts(self.net).measured, array_of(data, "data")
        if self.synthetic is None:
            train, rest = split(key, data, self.training)
            return NetworkTrial(count(train, layout), rest, None)
        records = sample_records(key, data, self.net, self.training + self.synthetic)
        counts = count(records[: self.training], layout)
        return NetworkTrial(counts, records[self.training :], data)

    def __call__(
        self, key: Key, mechanism: TableLearner, data: NetworkTrial
    ) -> dict[str, Float[Array, ""]]:
        """Fit the tables by one mechanism and budget; return the scores by name."""
        refuse_unprepared(data, NetworkTrial)
        theta = mechanism.fit(key, data.counts)
        place, found, wanted = self.net.index(self.target), {}, self.scores or ()
        if of_target := [name for name in wanted if name in _OF_TARGET]:
            law = predict(theta, data.held_out, self.net, place)
            levels = data.held_out[:, place].astype(int)
            found |= {name: _OF_TARGET[name](law, levels) for name in of_target}
        if "log_likelihood" in wanted:
            found["log_likelihood"] = log_likelihood(
                theta, data.held_out, self.net
            ).mean()
        if data.truth is not None:
            found |= table_errors(self.net.layout, data.truth, theta)
        return {name: found[name] for name in wanted}


_OF_TARGET: dict[str, Callable[[Array, Array], Array]] = {
    "accuracy": accuracy,
    "auc": lambda law, levels: roc_auc(law[:, 1], levels),
    "log_loss": log_loss,
}


def _estimate_of(name: str) -> str:
    """Return how the mechanism `name` estimates tables, for `ReleasedTables`."""
    if name.endswith("noise-aware"):
        return "noise-aware"
    return "projected" if name == "projected" else "plug-in"


def _chosen(
    scores: tuple[str, ...] | None, possible: tuple[str, ...]
) -> tuple[str, ...]:
    if scores is None:
        return possible
    if not scores:
        raise ValueError(f"`scores` must hold at least one of {', '.join(possible)}.")
    for score in scores:
        one_of(possible, score=score)
    return tuple(scores)
