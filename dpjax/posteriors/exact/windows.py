"""Windows of hidden counts, which are widened until they omit little posterior mass."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

import jax
import numpy as np
from jaxtyping import Array, Float

from dpjax._checks import whole

_MOST_TRIES = 16  # the last windows are 50 times as wide as the first
_LOSSES = ("cells", "hub", "kept")  # window of each of the three bounds
_MOST_WORK = 1 << 36  # multiplications: a few seconds
_MOST_COUNTS = 1 << 22  # largest width of a window
_ALONE = 8  # relative cost of a single row, which cannot be vectorised over rows
SHARES = 0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97  # of a rate; see `stars`
_SMALL = 256  # for fewer records, windows contain all counts
_WIDER = 1.3

Star = tuple[int, Sequence[tuple[int, int]]]  # levels of the hub; leaves and levels
Fitted = TypeVar("Fitted")
Fit = Callable[["Windows"], tuple[Fitted, Array]]  # result, and omitted mass


class TooExpensive(ValueError):
    """Raised if an exact sum over hidden counts exceeds a cost limit or underflows."""


@dataclass(frozen=True)
class Windows:
    """Numbers of values of hidden counts to sum over, in a network of stars.

    A star is a variable without parents (the hub), and variables whose only parent is
    the hub (the leaves). Each hidden count has a window of successive values.

    Args:
        cells: number of values of a count in a leaf's table.
        hub: number of values of a count of the hub.
        kept: number of values of a hub's count that remain after improbable values are
            dropped, for the posterior of the leaves.
        records: number of values of a private number of records.

    Raises:
        ValueError: unless all fields are integers of at least 1.
    """

    cells: int
    hub: int
    kept: int
    records: int = 1

    def __post_init__(self):
        whole(1, **asdict(self))


def first_windows(
    scale: float,  # scale of the noise, in records
    n: int | None,  # number of records; None if private
    tables: int,  # the least number of leaves of a hub
    records_tables: int,  # the number of leaves of all hubs
    tolerance: float,  # largest posterior mass outside the windows
    *,
    levels: int,  # the largest number of levels of a variable
    hub_levels: int = 1,  # the largest number of levels of a hub
    largest: float = math.inf,  # estimate of the hub's largest count
) -> Windows:
    """Return numbers of values of hidden counts that suffice for most releases.

    The bounds of the mass outside the windows fall with the distance from the noisy
    numbers, from their modes; the density of the release is below the modes, by
    about the width of the distribution of a sum of cells and, for the number of
    records, by the prior of the cells of all hub levels but one.
    """
    if n is not None and n < _SMALL:
        return Windows(n + 1, n + 1, n + 1)
    nats = -math.log(tolerance)
    if tables:
        low = math.log(8 * scale * math.sqrt(levels) + 1)
        prior = (levels - 1) * (hub_levels - 1) * math.log(largest + 1)
        hub = _reach((nats + 20) / tables + low, levels)
        low, cells = hub_levels * low + prior, hub_levels * levels
        records = _reach((nats + 20) / records_tables + low, cells)
        kept = _reach(nats / tables, levels)
    else:
        hub = nats + 20 + (3.5 if n is not None else 5.0) * (levels - 1)
        records = nats + 25
        kept = nats + 8 + 0.6 * levels - 0.7
    hub = _length(scale * hub, n)
    reach = (largest + hub / 2 + 2) / 2  # a cell's count is at most its hub's count
    wanted = Windows(
        cells=_length(min(scale * (nats + 15), reach), n),
        hub=hub,
        kept=_length(scale * kept, n),
        records=1 if n is not None else _length(scale * records, n),
    )
    return replace(wanted, kept=min(wanted.kept, wanted.hub))


def widen(
    windows: Windows, omitted: Sequence[float], tolerance: float, n: int | None
) -> Windows:
    """Widen each window of hidden counts that omits too much posterior mass.

    Args:
        windows: numbers of values of the hidden counts.
        omitted: bounds of the posterior mass outside of `windows.cells`, `windows.hub`
            (with `windows.records`) and `windows.kept`.
        tolerance: largest posterior mass that all windows together may omit.
        n: public number of records; None if it is private.
    """
    losses = zip(_LOSSES, omitted, strict=True)
    wide = [name for name, loss in losses if not loss <= tolerance / 3]
    if n is None and "hub" in wide:
        wide.append("records")
    lengths = {x: _length(getattr(windows, x) * _WIDER / 2, n) for x in wide}
    wider = replace(windows, **lengths)
    return replace(wider, kept=min(wider.kept, wider.hub))


def _reach(fall: float, cells: int) -> float:
    """Return how far a sum of Laplace noise is off where its bound is e^-fall.

    The sum is of the noise of `cells` cells, and the unit is the scale of the noise.
    """
    return min((fall - cells * math.log1p(-t * t)) / t for t in SHARES[1:])


def _worst_losses(omitted: Float[Array, "*batch parts"]) -> np.ndarray | None:
    try:
        return np.asarray(omitted, float).reshape(-1, omitted.shape[-1]).max(axis=0)
    except jax.errors.TracerArrayConversionError:
        return None


def fit_windows(fit: Fit[Fitted], windows: Windows, tolerance: float) -> Fitted:
    """Call `fit` with given windows of hidden counts, and check the omitted mass.

    Raises:
        ValueError: if the windows omit more posterior mass than `tolerance`.
    """
    fitted, omitted = fit(windows)
    worst = _worst_losses(omitted)
    if worst is not None and not worst.sum() <= tolerance:
        raise ValueError(
            f"`windows` must omit at most {tolerance:g} of the posterior mass, got up "
            f"to {worst.sum():.2g}: widen `{_LOSSES[int(worst.argmax())]}`, leave "
            "windows out, or enable x64."
        )
    return fitted


def widen_windows(
    fit: Fit[Fitted],
    windows: Windows,
    stars: Sequence[Star],
    tolerance: float,
    n: int | None,
    otherwise: str,  # remedy that an error message names
) -> Fitted:
    """Call `fit` with ever wider windows, until they omit at most `tolerance` mass.

    Raises:
        TooExpensive: if wide enough windows of hidden counts exceed a cost limit.
    """
    for _ in range(_MOST_TRIES):
        _refuse_expensive(windows, stars, otherwise)
        fitted, omitted = fit(windows)
        worst = _worst_losses(omitted)
        if worst is None or worst.sum() <= tolerance:
            return fitted
        wider = widen(windows, worst.tolist(), tolerance, n)
        if wider == windows:
            break
        windows = wider
    raise TooExpensive(
        "`released` must be within reach of its prior to be summed exactly: no windows "
        "hold its posterior mass, or floating-point numbers do not. Use "
        f"{otherwise}, or enable x64."
    )


def _refuse_expensive(windows: Windows, stars: Sequence[Star], otherwise: str) -> None:
    work = 0
    for levels, leaves in stars:
        work += _ALONE * _row_work(levels, windows.hub, windows.records)
        totals = windows.hub + 2 * windows.kept
        for number, cells in leaves:
            work += number * levels * _row_work(cells, windows.cells, totals)
    if work > _MOST_WORK or windows.hub > _MOST_COUNTS:
        raise TooExpensive(
            "`released` must have hidden counts that can be summed over at a bounded "
            f"cost, which these cannot: use {otherwise}."
        )


def _row_work(cells: int, window: int, totals: int) -> int:
    met = window + totals
    others = cells**2 * window * (2 * window + met // 2) if cells > 2 else 0
    return others + cells**2 * window * totals


def _length(half: float, n: int | None) -> int:
    """Return twice `half`, rounded up to reuse compiled code, and at most n + 1."""
    step = 32 if half < 512 else 256
    length = math.ceil(2 * half / step) * step
    return length if n is None else min(length, n + 1)
