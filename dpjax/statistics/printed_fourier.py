"""Fourier coefficients, with the noise that Zhang et al. print for them."""

from dataclasses import dataclass
from typing import ClassVar

from dpjax._checks import one_of
from dpjax.privacy import REPLACE_ONE, Adjacency, Sensitivity
from dpjax.statistics.base import STATISTICS
from dpjax.statistics.fourier import FourierCoefficients


@STATISTICS.add
@dataclass(frozen=True)
class PrintedFourier(FourierCoefficients):
    r"""Fourier coefficients of binary variables, as in Algorithm 2 of Zhang et al.

    All coefficients are measured, also $c_0 = n$, although n is public. The sensitivity
    is 2 for each coefficient, which is more than the exact one of
    `FourierCoefficients`. The paper divides coefficients and noise by $2^{d/2}$, for d
    variables, which makes no difference.

    Args:
        over: the variables of the records' columns, which have two levels each.
        adjacency: "replace-one".
        net: the network whose node tables (each node with its parents) are wanted.
        order: None.

    Privacy:
        The sensitivity is an upper bound (`tight` is False).

    Raises:
        ValueError: if the adjacency is not "replace-one", a variable has more than two
            levels, or there is no network or one with impossible combinations.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 2 and Theorem 2.
    """

    kind: ClassVar[str] = "fourier-coefficients-as-printed"
    format_version: ClassVar[int] = 2

    def __post_init__(self):
        super().__post_init__()
        one_of((REPLACE_ONE,), adjacency=self.adjacency)
        if self.net is None:
            raise ValueError("`net` must be given for coefficients as printed.")
        if any(variable.size != 2 for variable in self.over):
            raise ValueError(
                "`net` must have binary variables for coefficients as printed: use the "
                "mechanism 'fourier'."
            )

    @property
    def _first(self) -> int:
        return 0

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return 2 for each coefficient, which is a bound of the L1 sensitivity."""
        one_of((self.adjacency,), adjacency=adjacency)
        return Sensitivity(2 * self._coefficients, adjacency, tight=False)

    def squared_sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return 4 for each coefficient, which is a bound of the squared L2 norm."""
        one_of((self.adjacency,), adjacency=adjacency)
        return Sensitivity(4 * self._coefficients, adjacency, tight=False)
