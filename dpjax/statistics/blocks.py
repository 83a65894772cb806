"""Tables as blocks, each measured only beyond a margin that is known."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpjax.tables.layout import maximal_groups

Group = tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """A table, measured modulo its margin over `given`, which other blocks determine.

    Args:
        given: the variables of the margin; a row of the table has a combination of
            their levels.
        rest: the other variables of the table.
    """

    given: Group
    rest: Group

    @property
    def group(self) -> Group:
        """The variables of the table; those that name its rows come first."""
        return (*self.given, *self.rest)


def blocks_of(sizes: Sequence[int], groups: Sequence[Group]) -> tuple[Block, ...]:
    """Choose blocks that determine the tables of all `groups` of variables.

    The first block is the largest table. Each next one is the table that has the fewest
    new cells for each combination of the levels of its known variables.
    """
    left: dict[Group, Group] = {group: () for group in maximal_groups(groups)}
    blocks: list[Block] = []
    while left:
        group = min(left, key=lambda g: _order(g, left[g], sizes, bool(blocks)))
        given = left.pop(group)
        blocks.append(Block(given, tuple(i for i in group if i not in given)))
        for other, best in left.items():
            common = tuple(i for i in other if i in group)
            if _cells(common, sizes) > _cells(best, sizes):
                left[other] = common
    return tuple(blocks)


def _cells(group: Group, sizes: Sequence[int]) -> int:
    return math.prod(sizes[i] for i in group) if group else 0


def _order(
    group: Group, given: Group, sizes: Sequence[int], started: bool
) -> tuple[int, int]:
    """Return what the next block has least of: new cells of a row, then minus cells."""
    new = tuple(i for i in group if i not in given)
    return _cells(new, sizes) if started else 0, -_cells(group, sizes)


def check_blocks(blocks: Sequence[Block], groups: Sequence[Group]) -> None:
    """Raise `ValueError` unless blocks determine the tables of all `groups`."""
    measured: list[set[int]] = []
    for block in blocks:
        group, given = {*block.group}, {*block.given}
        known = not given or any(given <= other for other in measured)
        new = block.rest and not any(group <= other for other in measured)
        if not (known and new and len(group) == len(block.group)):
            raise ValueError(
                "`blocks` must be of variables that differ, not all of them in an "
                "earlier block, with a margin that an earlier block determines."
            )
        measured.append(group)
    if any(not any({*group} <= other for other in measured) for group in groups):
        raise ValueError("`blocks` must contain each variable with its parents.")
