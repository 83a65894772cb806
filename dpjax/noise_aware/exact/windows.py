"""How wide windows must be: a first guess, widened by what it omits."""

__all__ = ["LOSSES", "TooDear", "first_windows", "most_work", "widen"]

import math
from collections.abc import Sequence
from dataclasses import replace

from dpjax.noise_aware.exact.star_inputs import Windows

LOSSES = ("cells", "hub", "kept")  # what each of the three bounds is about
_SMALL = 256  # numbers of records up to which windows hold all counts
_WIDER = 1.3


class TooDear(ValueError):
    """Hidden counts that cannot be summed over at a bounded cost."""


def first_windows(
    scale: float,
    n: int | None,
    tables: int,
    records_tables: int,
    tolerance: float,
    *,
    levels: int = 2,
    largest: float = math.inf,
) -> Windows:
    """Windows that suffice for most releases.

    Args:
        scale: of the noise, in records.
        n: the number of records, where it is public.
        tables: the least number of measured tables with the levels of a hub.
        records_tables: the number of measured tables.
        tolerance: posterior mass that may be outside.
        levels: the most that a leaf has.
        largest: guess of the largest of the hub's counts.
    """
    if n is not None and n < _SMALL:
        return Windows(n + 1, n + 1, n + 1)
    nats = -math.log(tolerance)
    slack = (3.5 if n is not None else 5.0) * (levels - 1)
    tables, records_tables = max(tables, 1), max(records_tables, 1)
    hub = _length(scale * ((nats + 20) / tables + slack), n)
    reach = (largest + hub / 2 + 2) / 2  # no cell counts more than its hub
    wanted = Windows(
        cells=_length(min(scale * (nats + 15), reach), n),
        hub=hub,
        kept=_length(scale * ((nats + 8) / tables + 0.6 * levels - 0.7), n),
        records=1 if n is not None else _length(scale * ((nats + 20) / tables + 5), n),
    )
    return replace(wanted, kept=min(wanted.kept, wanted.hub))


def widen(
    windows: Windows, omitted: Sequence[float], tolerance: float, n: int | None
) -> Windows:
    """Windows that are wider wherever too much was outside."""
    cells, hub, kept = (not loss <= tolerance / 3 for loss in omitted)
    wider = Windows(
        cells=_length(windows.cells * _WIDER / 2, n) if cells else windows.cells,
        hub=_length(windows.hub * _WIDER / 2, n) if hub else windows.hub,
        kept=_length(windows.kept * _WIDER / 2, n) if kept else windows.kept,
        records=windows.records,
    )
    if n is None and hub:
        wider = replace(wider, records=_length(windows.records * _WIDER / 2, n))
    return replace(wider, kept=min(wider.kept, wider.hub))


def most_work(windows: Windows, sizes: Sequence[tuple[int, int, int]]) -> int:
    """Multiplications for tables of these numbers of leaves, levels and cells."""
    return sum(
        leaves * levels * cells**2 * windows.cells * (windows.hub + 2 * windows.kept)
        for leaves, levels, cells in sizes
    )


def _length(half: float, n: int | None) -> int:
    """Twice `half`, rounded up so that few programs serve; no more than there are."""
    step = 32 if half < 512 else 256
    length = math.ceil(2 * half / step) * step
    return length if n is None else min(length, n + 1)
