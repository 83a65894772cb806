"""What a draw costs if neighbours change its log-probabilities by a bounded range."""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from dpjax.privacy.unit import Unit

Kind = TypeVar("Kind", bound="BoundedRange")


class BoundedRange(Unit):
    """A guarantee that may pay for draws by the exponential mechanism.

    A kind that knows what such a draw costs overrides both members.
    """

    @property
    def choice_epsilon(self) -> Fraction:
        """The largest ε of a draw by the exponential mechanism that this pays for.

        The mechanism draws an output with probability proportional to e^(ε s / 2Δ),
        where s is the score of the output, with the sensitivity Δ.
        """
        raise self._pays_for_no_choice()

    def of_choice(
        self: Kind,
        epsilon: Fraction,
        largest: Callable[[], Fraction] | None = None,
        share: Callable[[], Fraction] | None = None,
    ) -> Kind:
        """Return the cost of a draw by the exponential mechanism with this ε.

        It is the cost of any draw whose log-ratios of the probabilities of all outputs,
        under two neighbours, are in an interval of length ε.

        Each function is called only by a kind whose cost depends on its result.

        Args:
            epsilon: the length of the interval.
            largest: function that returns the largest magnitude of such a log-ratio, at
                most ε, where it is known.
            share: function that returns the largest variance of the log-ratio f of two
                neighbours p and p e^f, where it is known: over all laws in proportion
                to p e^(tf), for any t, and as a share of ε² / 4, the largest possible.
        """
        raise self._pays_for_no_choice()

    def _pays_for_no_choice(self) -> ValueError:
        return ValueError(
            "`budget` must be of kind pure-dp or zcdp to pay for a draw by the "
            f"exponential mechanism, got {self.kind}."
        )
