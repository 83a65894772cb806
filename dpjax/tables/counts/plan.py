"""Plans of the subsets of bit planes to count for the tables of a layout."""

import functools
import itertools
from dataclasses import dataclass

import numpy as np

from dpjax.tables.layout import TableLayout

MOST_BITS = 8  # of a cell's address; with more, adding records to cells is faster

Plane = tuple[int, int]  # a column, and a bit of its level
Subset = tuple[Plane, ...]


@dataclass(frozen=True)
class TablesOfOneWidth:
    """Tables of a `Plan` whose cells are addressed by equal numbers of bits."""

    subsets: np.ndarray  # number of the subset, for each table and subset of its planes
    kept: np.ndarray  # entries of the concatenated tables that have valid levels
    places: np.ndarray  # cell of the layout for each kept entry


@dataclass(frozen=True)
class Plan:
    """Plan for computing tables from numbers of records whose chosen bits are all 1.

    A bit plane holds one bit of a column for all records. Planes are ordered by bit,
    lowest first, then by column. Subsets of planes are numbered from 1, by size.
    """

    bits: int  # number of bits of each level that are needed
    levels: tuple[np.ndarray, ...]  # subsets of size 1, 2, …, as rows of plane numbers
    widths: tuple[TablesOfOneWidth, ...]  # tables that are computed from the subsets
    others: tuple[int, ...]  # tables of more than `MOST_BITS` bits


@functools.lru_cache(maxsize=64)
def planned(layout: TableLayout) -> Plan:
    """Return the plan for counting the tables of `layout`."""
    widths: dict[int, list[int]] = {}
    of_tables = [_planes(layout, group) for group in layout.groups]
    for table, planes in enumerate(of_tables):
        widths.setdefault(len(planes), []).append(table)
    others = [t for t, planes in enumerate(of_tables) if len(planes) > MOST_BITS]
    chosen = [tables for width, tables in widths.items() if width <= MOST_BITS]
    numbers, levels = _number(of_tables[t] for tables in chosen for t in tables)
    d = len(layout.sizes)
    return Plan(
        max((bit + 1 for level in levels[:1] for ((_, bit),) in level), default=1),
        tuple(
            np.array([[bit * d + i for i, bit in subset] for subset in level], np.int32)
            for level in levels
        ),
        tuple(
            _of_one_width(layout, tables, [of_tables[t] for t in tables], numbers)
            for tables in chosen
        ),
        tuple(others),
    )


def _planes(layout: TableLayout, group: tuple[int, ...]) -> Subset:
    """Return the bit planes of a cell's address, most significant bit first."""
    return tuple(
        (i, bit)
        for i in group
        for bit in reversed(range((layout.sizes[i] - 1).bit_length()))
    )


def _number(tables) -> tuple[dict[Subset, int], list[list[Subset]]]:
    """Number every subset of the planes of a table, and list the subsets by size."""
    found = {
        subset
        for planes in tables
        for size in range(len(set(planes)) + 1)
        for subset in itertools.combinations(sorted(set(planes)), size)
    }
    ordered = sorted(found | {()}, key=lambda subset: (len(subset), subset))
    levels = [list(x) for _, x in itertools.groupby(ordered, key=len)]
    return {subset: i for i, subset in enumerate(ordered)}, levels[1:]


def _of_one_width(
    layout: TableLayout,
    tables: list[int],
    planes: list[Subset],
    numbers: dict[Subset, int],
) -> TablesOfOneWidth:
    subsets = [
        [
            numbers[tuple(sorted(set(itertools.compress(bits, chosen))))]
            for chosen in itertools.product((0, 1), repeat=len(bits))
        ]
        for bits in planes
    ]
    kept, places, entries = [], [], 1 << len(planes[0])
    for number, table in enumerate(tables):
        cells = _entries_of_cells(layout.shape(layout.groups[table]))
        kept.append(number * entries + cells)
        places.append(layout.offsets[table] + np.arange(cells.size))
    return TablesOfOneWidth(
        np.array(subsets, np.int32),
        np.concatenate(kept).astype(np.int32),
        np.concatenate(places).astype(np.int32),
    )


def _entries_of_cells(shape: tuple[int, ...]) -> np.ndarray:
    """Return every cell's address, which has a bit field for each variable's level."""
    entries = np.zeros(1, np.int64)
    for size in shape:
        bits = (size - 1).bit_length()
        entries = ((entries << bits)[:, None] + np.arange(size)).ravel()
    return entries
