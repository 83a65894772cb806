"""Erratum 10: leaving out months that are empty shows which are."""

__all__ = ["ERRATUM_10"]

import itertools
from functools import partial

import numpy as np

from dpjax.data.levels import Variable
from dpjax.event_logs import event_network
from dpjax.plots import Panel, draw_panels
from dpjax.privacy import REPLACE_ONE
from dpjax.statistics import NetworkCounts
from papers.errata.lines import line
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

MONTHS, KINDS = 3, 2
CELLS = tuple(itertools.product(range(MONTHS), range(KINDS)))
SIZES, LEAST = (1, 2, 3, 4), 2


def _run(setting: Setting) -> Reproduced:
    del setting  # nothing is random
    rows = [
        (n, *_told_apart(n, 1), *_told_apart(n, LEAST)[1:], _change(n)) for n in SIZES
    ]
    names = ("n", "pairs", "by_empty_months", "by_near_empty_months", "largest_change")
    charged = int(_counts().sensitivity(REPLACE_ONE).value)
    return Reproduced(
        _words(rows[-1], charged),
        {"": table(names, rows)},
        {"": partial(draw_panels, [_panel(rows)])},
        [
            Claim.certain(
                "models of counts with noise are private after preprocessing that "
                "removes empty timesteps by looking at the data: no two neighbours "
                "keep different months",
                all(x[2] == 0 for x in rows),
                expected="fails",
            ),
            Claim.certain(
                f"some do of months of fewer than {LEAST} events too",
                rows[-1][3] > 0,
                by="dpjax",
            ),
            Claim.certain(
                "noise on all cells of the public product: a replaced event moves the "
                "counts by at most what the library charges, and by no less",
                rows[0][4] == rows[-1][4] == charged,
                by="dpjax",
            ),
        ],
    )


def _counts() -> NetworkCounts:
    """What the library measures: a histogram of the field in every cell."""
    log = [
        Variable("region", ("here", "there")),
        Variable("month", tuple(range(MONTHS))),
        Variable("kind", tuple(range(KINDS))),
    ]
    return NetworkCounts(event_network(log, "region", "month"))


def _neighbours(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """All tables of n events as counts of month and kind, and all replacements."""
    pairs = {}
    for events in itertools.product(range(len(CELLS)), repeat=n):
        for other in range(len(CELLS)):
            both = [
                np.bincount(x, minlength=len(CELLS))
                for x in (events, (other, *events[1:]))
            ]
            pairs[tuple(map(bytes, both))] = both
    return [(x, y) for x, y in pairs.values() if (x != y).any()]


def _kept(counts: np.ndarray, least: int) -> tuple[int, ...]:
    """Months that are shown, whatever the noise."""
    totals = counts.reshape(MONTHS, KINDS).sum(axis=1)
    return tuple(np.flatnonzero(totals >= least).tolist())


def _told_apart(n: int, least: int) -> tuple[int, int]:
    """How many pairs of neighbours there are, and whose outputs have no overlap."""
    pairs = _neighbours(n)
    apart = [_kept(x, least) != _kept(y, least) for x, y in pairs]
    return len(pairs), sum(apart)


def _change(n: int) -> int:
    return max(int(np.abs(x - y).sum()) for x, y in _neighbours(n))


def _panel(rows: list[tuple]) -> Panel:
    sizes = range(len(rows))
    names = ("empty months left out", f"months of fewer than {LEAST} left out")
    shares = [[x[i] / x[1] for x in rows] for i in (2, 3)]
    every = line("noise on every month", sizes, np.zeros(len(rows)), style="points")
    lines = [
        line(name, sizes, y, style="points")
        for name, y in zip(names, shares, strict=True)
    ]
    return Panel(
        [*lines, every],
        f"number of events, in {MONTHS} months and {KINDS} kinds",
        "share of neighbours with infinite loss",
        title="all tables, and all replacements of one event",
        limits=(-0.05, 1.05),
        categories=[str(x[0]) for x in rows],
    )


def _words(row: tuple, charged: int) -> str:
    n, pairs, empty, near, _ = row
    return (
        "Section 5 removes empty timesteps and near-empty regions in preprocessing. "
        "Which months appear in the output is then a function of the data, without "
        "noise: if a replaced event was the only one of its month, the two tables have "
        f"no output in common, and the loss is infinite. Of the {pairs} pairs of "
        f"neighbours with {n} events in {MONTHS} months, {empty} are told apart "
        f"surely, {near} if months of fewer than {LEAST} are left out. **Corrected:** "
        "the product of regions and months is a public fact, and every cell gets "
        f"noise; a replaced event moves a field's counts by {charged} in all, even if "
        "it changes month. **Instead**, `dpjax.event_logs.event_network` does "
        "this; a region's own times are public facts that the caller declares."
    )


ERRATUM_10 = Reproduction(
    "erratum-10",
    "Leaving out what is empty is not private",
    "Foulds et al., section 5",
    _run,
)
