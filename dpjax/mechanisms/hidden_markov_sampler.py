"""Publishable samples of a hidden Markov model's parameters, given an event log.

The samples are among public candidates, and drawn without rounding.
"""

from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int, Real

from dpjax._checks import typed_key, whole
from dpjax._products import einsum
from dpjax._types import Described, Key
from dpjax.mechanisms import base
from dpjax.mechanisms.path_candidates import Candidates
from dpjax.mechanisms.sampling_loss import lowest_temperature, spent_at
from dpjax.noise.exact_choice import Bits, softmax
from dpjax.noise.simplex_grid import LOG_BITS
from dpjax.privacy import Adjacency, Epsilon, Guarantee, budget_of
from dpjax.privacy.rounding import exact_or_none
from dpjax.statistics import NetworkCounts, Statistic, TableStatistic


class PathTables(NamedTuple):
    """Logarithms of the probabilities of several hidden Markov models."""

    emission: Float[Array, "models states levels"]  # one field after the other
    first: Float[Array, "models states"]
    moves: Float[Array, "models states states"]


@jax.jit
def path_log_likelihoods(
    counts: Float[Array, "regions times levels"], tables: PathTables
) -> Float[Array, " models"]:
    """Return the log-likelihood of counts for each model, summed over paths."""
    cells = einsum("rtl,msl->tmrs", counts, tables.emission)
    moves = tables.moves[:, None]

    def step(alpha, cell):
        return logsumexp(alpha[..., None] + moves, axis=2) + cell, None

    alpha, _ = lax.scan(step, tables.first[:, None] + cells[0], cells[1:])
    return logsumexp(alpha, axis=2).sum(axis=1)


def tables_of(candidates: Candidates) -> PathTables:
    """Return the logarithms of the candidates' probabilities."""
    with np.errstate(divide="ignore"):
        tables = [np.log(x / candidates.units) for x in candidates.tables]
    return PathTables(*(jnp.asarray(x, float) for x in tables))


@base.MECHANISMS.add
class HiddenMarkovSampler(base.PosteriorSampler):
    r"""Draw a candidate m with probability $\propto p(X | \theta_m)^{1/T}$.

    X is an event log, T a temperature, and the candidates θ are public draws from the
    prior. All paths of hidden states are summed out. `calibrate` makes the sampler. A
    release has the index of the candidate of each sample.

    Privacy:
        All samples together have exactly the guarantee `cost`, whose unit is one event
        of the log, which may move to another region or time. A sample costs at most
        ε = `Candidates.widest` / T, or ρ = ε² / 8 in zero-concentrated privacy,
        whatever the other events are, since the score of a candidate is private and all
        others change by at most that relative to it.

    Reference:
        McSherry & Talwar (FOCS 2007), the exponential mechanism; Foulds et al.
        (UAI-16), section 5, for the model.
    """

    kind: ClassVar[str] = "hidden-markov-among-candidates"
    format_version: ClassVar[int] = 2

    statistic: TableStatistic = eqx.field(static=True)
    candidates: Candidates = eqx.field(static=True)
    temperature: Fraction = eqx.field(static=True)
    samples: int = eqx.field(static=True)
    cost: Guarantee = eqx.field(static=True)

    @classmethod
    def calibrate(
        cls,
        statistic: Statistic,
        epsilon: Epsilon,
        adjacency: Adjacency,
        **options: Any,
    ) -> "HiddenMarkovSampler":
        """Make the sampler whose samples together cost at most ε, as `of` does."""
        return cls.of(statistic, budget_of(epsilon, adjacency), **options)

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        budget: Guarantee,
        *,
        states: int,
        points: int,
        omega: Epsilon | None = None,
        units: int = 1000,
        temperature: Epsilon | None = None,
        samples: int = 1,
        seed: int = 0,
    ) -> "HiddenMarkovSampler":
        """Make the sampler whose samples together cost at most `budget`.

        Args:
            statistic: counts of an event log (`event_logs.event_network`).
            budget: a guarantee for one row, of kind pure-dp or zcdp; less may be spent
                if T is given, or 1.
            states: number of hidden states.
            points: number of candidates.
            omega: smallest probability of a level. None: a tenth of the probability of
                each level of the largest field, if they are equal.
            units: denominator of all probabilities.
            temperature: T > 0. None: the lowest T that the budget allows, but at least
                1.
            samples: number of samples.
            seed: public integer, from which the candidates are drawn.

        Raises:
            ValueError: if an argument is outside its range, the counts are not of an
                event log, or T costs more than `budget`.
        """
        whole(1, samples=samples)
        fields = _fields(statistic)
        lowest = exact_or_none(omega, "omega") or Fraction(1, 10 * max(fields))
        candidates = Candidates(fields, states, points, lowest, units, seed)
        each = budget.share(Fraction(1, int(samples)))

        def cost(temperature: Fraction, n: int | None = None) -> Guarantee:
            return each.of_choice(candidates.widest(budget.adjacency) / temperature)

        least = lowest_temperature(each, cost, None)
        given = exact_or_none(temperature, "temperature")
        derived = given is None and least >= 1
        used = least if derived else given or Fraction(1)
        spent = budget if derived else spent_at(budget, cost(used).repeated(samples))
        counted: Any = statistic  # `_fields` refuses others
        return cls(counted, candidates, used, int(samples), spent)

    @property
    def loss(self) -> Fraction:
        """The ε or ρ of all samples together, computed from public choices alone."""
        widest = self.candidates.widest(self.adjacency)
        one = self.cost.of_choice(widest / self.temperature)
        return one.repeated(self.samples).bound

    def draw_with(self, bits: Bits, exact: base.Integers) -> np.ndarray:
        """Draw the index of a candidate for each sample, one in each row."""
        drawn = softmax(*self.scores(exact), bits, draws=self.samples)
        return np.array(drawn, int)[:, None]

    def scores(self, exact: base.Integers) -> tuple[list[int], Fraction]:
        """Return all candidates' integer log-likelihoods, and their unit over T."""
        counts = np.asarray(self._counts(jnp.asarray(base.on_host(exact))))
        unit = Fraction(1, 1 << LOG_BITS) / self.temperature
        return self.candidates.scores(counts), unit

    def sample(self, key: Key, exact: Int[Array, " m"]) -> Float[Array, "samples _"]:
        """Draw indices of candidates in real arithmetic, one in each row."""
        typed_key(key=key)
        logs = path_log_likelihoods(
            self._counts(exact).astype(float), tables_of(self.candidates)
        )
        drawn = jr.categorical(
            key, logs / float(self.temperature), shape=(self.samples,)
        )
        return drawn[:, None].astype(float)

    def _counts(self, exact: Int[Array, " m"]) -> Int[Array, "regions times levels"]:
        layout = self.statistic.layout
        tables = layout.split(self.statistic.tables(exact))
        both = zip(layout.groups, tables, strict=True)
        return jnp.concatenate([x for group, x in both if len(group) > 1], axis=-1)

    def is_possible_output(self, values: np.ndarray, length: int) -> bool:
        """Return whether `values` are indices of candidates, one in each row."""
        inside = (values >= 0) & (values < self.candidates.number)
        return values.shape == (self.samples, 1) and bool(inside.all())

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes: "emission", "initial" and "transition".

        The last axis of "emission" has the levels of one field after the other.
        """
        names = ("emission", "initial", "transition")
        shapes = (table.shape[1:] for table in self.candidates.tables)
        return dict(zip(names, shapes, strict=True))

    def parameters(self, values: Real[Array, "*batch 1"]) -> Float[Array, "*batch p"]:
        """Return candidates' probabilities, in the order of `parameter_shapes`."""
        number, units = self.candidates.number, self.candidates.units
        flat = [x.reshape(number, -1) / units for x in self.candidates.tables]
        return jnp.asarray(np.hstack(flat), float)[values[..., 0].astype(int)]

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether `statistic` is the counts of the event log."""
        return statistic == self.statistic

    def describe(self) -> dict[str, Any]:
        """Return the kind and all public choices as plain data, for files."""
        return {
            "kind": self.kind,
            "states": self.candidates.states,
            "points": self.candidates.number,
            "omega": str(self.candidates.omega),
            "units": self.candidates.units,
            "seed": self.candidates.seed,
            "temperature": str(self.temperature),
            "samples": self.samples,
        }

    @classmethod
    def from_description(
        cls, described: Described, statistic: Statistic, cost: Guarantee, n: int | None
    ) -> "HiddenMarkovSampler":
        """Make the sampler again from the statistic and the described choices."""
        choices = {name: x for name, x in described.items() if name != "kind"}
        made = cls.of(statistic, cost, **choices)
        temperature = made.temperature, made.samples
        return cls(made.statistic, made.candidates, *temperature, cost)


def _fields(statistic: Statistic) -> tuple[int, ...]:
    """Return the numbers of levels of an event log's fields.

    Raises:
        ValueError: if `statistic` is not the counts of an event log.
    """
    fields: tuple[int, ...] = ()
    if statistic.kind == NetworkCounts.kind and isinstance(statistic, TableStatistic):
        layout = statistic.layout
        groups = [group for group in layout.groups if len(group) > 1]
        one_cell = len({group[:-1] for group in groups}) == 1 and len(groups[0]) == 3
        if one_cell and len(groups) + 2 == len(layout.groups):
            fields = tuple(layout.sizes[group[-1]] for group in groups)
    if not fields:
        raise ValueError(
            "`what` must be the network of an event log for samples of a hidden Markov "
            f"model (see `dpjax.event_logs.event_network`), got {statistic.kind}."
        )
    return fields
