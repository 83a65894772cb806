"""What every statistic must be able to say about itself."""

__all__ = ["Statistic"]

import abc

from jaxtyping import Array, Int32

from dpjax._types import Cells, Flat, Records
from dpjax.graph import BayesNet
from dpjax.privacy import Sensitivity


class Statistic(abc.ABC):
    """A map from records to one flat vector of integers; static and hashable."""

    net: BayesNet
    """The network whose variables are the columns of the records."""

    @property
    @abc.abstractmethod
    def length(self) -> int:
        """Number of integers that are measured."""

    @abc.abstractmethod
    def measure(self, records: Records) -> Int32[Array, " m"]:
        """The exact statistic."""

    @abc.abstractmethod
    def sensitivity(self, adjacency: str) -> Sensitivity:
        """By how much, in L1, one record can move the statistic."""

    @abc.abstractmethod
    def tables(self, vector: Flat) -> Cells:
        """The counts of every family of the network, laid out as `net.layout`.

        Args:
            vector: exact or noisy, with any leading axes.
        """

    @abc.abstractmethod
    def describe(self) -> dict[str, object]:
        """The statistic as public, plain data, for a file."""
