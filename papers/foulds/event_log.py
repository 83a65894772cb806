"""Event logs for Figures 3 to 7 of Foulds et al.: simulated, or the user's own."""

__all__ = ["DATA", "EventLog", "afghanistan_like", "given", "iraq_like"]

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Int32

from dpjax.data.bayes_net import BayesNet
from dpjax.data.levels import Variable
from dpjax.data.schema import Schema
from dpjax.event_logs import event_counts, event_network, log_variables
from papers.reproduction import Setting

DATA = (
    "an event log, an event a row; the schema's first variable is the region, the "
    "second the month (consecutive integers), all others are fields; columns outside "
    "of the schema are ignored"
)
LEAST = 11  # cells, and events
REGIONS = 6
FIELDS = {
    "type": (
        *("friendly action", "suspicious", "explosive hazard", "criminal", "other"),
        *("enemy action", "detainee", "non-combat"),
    ),
    "category": (
        *("cache found/cleared", "raid", "patrol", "detain", "search", "escort"),
        *("IED explosion", "IED found/cleared", "mine found", "mine strike"),
        *("unexploded", "attack", "ambush", "direct fire", "indirect fire"),
        *("murder", "kidnapping", "show of force", "accident", "other"),
    ),
    "friendly/host": ("0", "> 0"),
    "civilian": ("0", "> 0"),
    "enemy": ("0", "> 0"),
}
_COMMONEST = {"type": (0, 2, 5), "category": (0, 6, 13)}  # of states 1, 2 and 3
_CASUALTIES = {  # chance that there is any
    "friendly/host": (0.3, 0.25, 0.6),
    "civilian": (0.15, 0.6, 0.2),
    "enemy": (0.5, 0.1, 0.3),
}
# Months vary about their state's law as shares of a Dirichlet vector of this total do:
# of the fields of the UCDP log of Syria it is between 21 and 185.
_LIKENESS = 50
_CLEAR = 0.5  # of the difference between states, in Afghanistan's
_SHARES = (0.5, 0.3, 0.2)  # of Afghanistan's states, in the long run
_STAYS = 0.9


@dataclass(frozen=True)
class EventLog:
    """Counts of the fields' levels in every cell, a region in a month.

    Args:
        name: in titles.
        net: an `event_network`.
        counts: exact, as `event_counts` has them.
        states: that made the events; None: nobody knows.
        laws: of the levels of all fields in every state; None: nobody knows.
    """

    name: str
    net: BayesNet
    counts: Int32[np.ndarray, "regions months levels"]
    states: Int[np.ndarray, "regions months"] | None = None
    laws: Float[np.ndarray, "states levels"] | None = None

    @property
    def variables(self) -> tuple[Variable, Variable, tuple[Variable, ...]]:
        """Region, month and fields."""
        return log_variables(self.net)

    @property
    def fields(self) -> tuple[int, ...]:
        """Number of levels of each field."""
        return tuple(field.size for field in self.variables[2])

    @property
    def truth(self) -> Int[np.ndarray, "regions months"]:
        """The states that made the events.

        Raises:
            ValueError: if nobody knows them.
        """
        if self.states is None:
            raise ValueError("`states` must be known: the log is not simulated.")
        return self.states

    @property
    def events(self) -> Int[np.ndarray, "regions months"]:
        """How many are in each cell."""
        return self.counts[..., : self.fields[0]].sum(axis=-1)

    @property
    def shape_in_words(self) -> str:
        """Size of the log, and of a cell."""
        regions, months = self.events.shape
        return (
            f"{self.events.sum():,} events in {regions} regions and {months} months, "
            f"a median of {np.median(self.events):.0f} a cell"
        )


def given(setting: Setting) -> EventLog:
    """The user's own log, by `DATA`.

    Raises:
        ValueError: if the files are not such a log.
    """
    if setting.data is None or setting.schema is None:
        raise ValueError("`data` must be given, with its schema.")
    schema = Schema.from_json(setting.schema)
    variables = list(schema.values())
    if len(variables) < 3:
        raise ValueError(
            "`schema` must have a region, a month and at least one field, in this "
            f"order, got {len(variables)} variables."
        )
    net = event_network(variables, variables[0].name, variables[1].name)
    counts = event_counts(net, schema.encode(setting.data, ignore="*"))
    log = EventLog(setting.data.stem, net, np.asarray(counts, np.int32))
    _check_size(log)
    return log


def _check_size(log: EventLog) -> None:
    """Ten states need as many cells, after one at least is held out."""
    cells = log.events.size
    if cells < LEAST or log.events.sum() < LEAST:
        raise ValueError(
            f"`data` must have at least {LEAST} cells (regions times months of the "
            f"schema) and {LEAST} events, got "
            + (f"{cells} cells." if cells < LEAST else "fewer events.")
        )


def iraq_like(rng: np.random.Generator, months: int) -> EventLog:
    """Many events a cell: state 2 until a change in midway, state 1 from then on.

    Regions change within a few months of each other; the last was always in state 1.
    """
    change = rng.integers(round(0.55 * months), round(0.7 * months) + 1, REGIONS)
    change[-1] = 0
    states = (np.arange(months) < change[:, None]).astype(int)
    rates = 972 * np.geomspace(0.5, 2, REGIONS)[:, None] * np.ones(months)
    return _simulated(rng, "Iraq-like", states, rates, 1.0)


def afghanistan_like(rng: np.random.Generator, months: int) -> EventLog:
    """Few events a cell, ever more of them; three states, less clear, come and go."""
    states = rng.choice(3, (REGIONS, months), p=_SHARES)
    for month in range(1, months):
        stays = rng.random(REGIONS) < _STAYS
        states[stays, month] = states[stays, month - 1]
    growth = np.geomspace(np.exp(-1.5), np.exp(1.5), months)
    rates = 58 * np.geomspace(0.4, 2.5, REGIONS)[:, None] * growth
    return _simulated(rng, "Afghanistan-like", states, rates, _CLEAR)


def _simulated(
    rng: np.random.Generator,
    name: str,
    states: np.ndarray,
    rates: np.ndarray,
    clear: float,
) -> EventLog:
    regions, months = states.shape
    number = rng.poisson(rates)
    full = [_law(field) for field in FIELDS]
    laws = [clear * law + (1 - clear) * law.mean(axis=0) for law in full]
    counts = [rng.multinomial(number, _varied(rng, law[states])) for law in laws]
    levels = {"region": tuple(f"region {i + 1}" for i in range(regions))}
    variables = Schema({**levels, "month": tuple(range(months)), **FIELDS})
    return EventLog(
        name,
        event_network(variables, "region", "month"),
        np.concatenate(counts, axis=-1).astype(np.int32),
        states,
        np.concatenate(laws, axis=-1),
    )


def _law(field: str) -> np.ndarray:
    """Probabilities of the levels, a row a state."""
    if field in _CASUALTIES:
        any_at_all = np.array(_CASUALTIES[field])
        return np.stack([1 - any_at_all, any_at_all], axis=1)
    falling = 1 / np.arange(1, len(FIELDS[field]) + 1)
    shared = falling / falling.sum()
    own = [np.roll(shared, first) for first in _COMMONEST[field]]
    return 0.7 * np.array(own) + 0.3 / shared.size


def _varied(rng: np.random.Generator, laws: np.ndarray) -> np.ndarray:
    """Each cell's own, about that of its state."""
    parts = rng.gamma(_LIKENESS * laws)
    return parts / parts.sum(axis=-1, keepdims=True)
