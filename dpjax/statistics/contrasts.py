"""Counts of a network's tables without the margins that other tables determine."""

from dataclasses import dataclass
from typing import ClassVar

from dpjax._checks import one_of
from dpjax._types import Described
from dpjax.data.bayes_net import BayesNet
from dpjax.privacy import ADJACENCIES, Adjacency
from dpjax.statistics.base import STATISTICS, Columns, NodeTableStatistic
from dpjax.statistics.block_statistic import BlockStatistic, parsed_blocks
from dpjax.statistics.blocks import Block, blocks_of, check_blocks
from dpjax.tables.layout import maximal_groups


@STATISTICS.add
@dataclass(frozen=True)
class Contrasts(NodeTableStatistic, BlockStatistic):
    """The counts of a network's tables, without the margins of other tables.

    Args:
        net: the network.
        adjacency: "replace-one" or "add-remove".
        blocks: the blocks, such as those that `blocks_of` chooses.

    Privacy:
        As for `BlockStatistic`.

    Raises:
        ValueError: if the adjacency is unknown, the blocks do not determine the tables
            of the network, or the network has impossible combinations.
    """

    kind: ClassVar[str] = "contrasts"

    net: BayesNet
    adjacency: Adjacency
    blocks: tuple[Block, ...]

    def __post_init__(self):
        one_of(ADJACENCIES, adjacency=self.adjacency)
        self.net.refuse_impossible("counts without known margins")
        check_blocks(self.blocks, self.net.families)

    @classmethod
    def of_network(cls, net: BayesNet, adjacency: Adjacency) -> "Contrasts":
        """Make the statistic of a network with the blocks of `blocks_of`."""
        return cls(net, adjacency, blocks_of(net.sizes, net.families))

    @property
    def names_of_tables(self) -> dict[str, frozenset[int]]:
        """The variables of each measured table, by the name of its child variable."""
        groups = maximal_groups(self.net.families)
        return {self.net.names[group[-1]]: frozenset(group) for group in groups}

    @classmethod
    def from_description(
        cls,
        described: Described,
        variables: Columns,
        net: BayesNet | None,
        adjacency: Adjacency,
    ) -> "Contrasts":
        """Make the statistic of a release file with network `net` from `describe`."""
        if net is None:
            raise ValueError("`parents` must be given for counts of a network.")
        return cls(net, adjacency, parsed_blocks(described, variables))
