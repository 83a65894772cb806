"""Which subsets of bit planes to count for the tables of a layout. Public structure."""

__all__ = ["MOST_BITS", "Plan", "planned"]

import functools
import itertools
from dataclasses import dataclass

import numpy as np

from dpjax.tables.layout import TableLayout

MOST_BITS = 8  # of a table's cell: beyond, adding records to cells one by one is faster

Plane = tuple[int, int]  # a column, and a bit of its level
Subset = tuple[Plane, ...]


@dataclass(frozen=True)
class TablesOfOneWidth:
    """Tables whose cells have addresses of as many bits.

    Args:
        subsets: for each table and subset of its planes, the number of the subset.
        kept: the entries that are cells, of all tables end to end; the others have a
            level that no variable has.
        places: the cell of the layout that each of them is.
    """

    subsets: np.ndarray
    kept: np.ndarray
    places: np.ndarray


@dataclass(frozen=True)
class Plan:
    """How tables follow from the sizes of intersections of bit planes.

    Args:
        bits: how many of each level are needed.
        levels: the subsets of one size, each a row of numbers of planes, which are the
            lowest bits of all columns, then the next bits of all columns, and so on.
            Sizes are 1, 2, …; subsets are numbered through all, from 1.
        widths: the tables that are made from them.
        others: the tables with cells of more than `MOST_BITS` bits.
    """

    bits: int
    levels: tuple[np.ndarray, ...]
    widths: tuple[TablesOfOneWidth, ...]
    others: tuple[int, ...]


@functools.lru_cache(maxsize=64)
def planned(layout: TableLayout) -> Plan:
    """The plan of a layout."""
    widths: dict[int, list[int]] = {}
    of_tables = [_planes(layout, group) for group in layout.groups]
    for table, planes in enumerate(of_tables):
        widths.setdefault(len(planes), []).append(table)
    others = [
        t for width, tables in widths.items() if width > MOST_BITS for t in tables
    ]
    chosen = {width: tables for width, tables in widths.items() if width <= MOST_BITS}
    numbers, levels = _number(
        of_tables[t] for tables in chosen.values() for t in tables
    )
    d = len(layout.sizes)
    return Plan(
        max((bit + 1 for level in levels[:1] for ((_, bit),) in level), default=1),
        tuple(
            np.array([[bit * d + i for i, bit in subset] for subset in level], np.int32)
            for level in levels
        ),
        tuple(
            _of_one_width(layout, tables, [of_tables[t] for t in tables], numbers)
            for tables in chosen.values()
        ),
        tuple(sorted(others)),
    )


def _planes(layout: TableLayout, group: tuple[int, ...]) -> Subset:
    """The bits of a cell's address, most significant first, a field a variable."""
    return tuple(
        (i, bit)
        for i in group
        for bit in reversed(range((layout.sizes[i] - 1).bit_length()))
    )


def _number(tables) -> tuple[dict[Subset, int], list[list[Subset]]]:
    """Every subset of the planes of some table, once, and those of each size."""
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
    """Of every cell in C order, its address in bits, a field a variable."""
    entries = np.zeros(1, np.int64)
    for size in shape:
        bits = (size - 1).bit_length()
        entries = ((entries << bits)[:, None] + np.arange(size)).ravel()
    return entries
