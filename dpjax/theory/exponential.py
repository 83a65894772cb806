"""How often the exponential mechanism misses the best answers (Algorithm 3)."""

__all__ = ["lemma_4"]

import math

from dpjax._checks import positive
from dpjax._types import Scalar
from dpjax.privacy import Epsilon, exact_epsilon


def lemma_4(
    mass_of_good_set: Scalar,
    t: Scalar,
    epsilon: Epsilon,
    sensitivity: Scalar,
    printed: bool = False,
) -> float:
    r"""The score is 2t or more below the best with at most this probability.

    $$P(S_{2t}^c) \le \frac{e^{-st}}{\xi(S_t)}, \qquad s = \frac{\epsilon}{2 \Delta},
    \qquad S_t = \{\theta : u(\theta) > \max u - t\}$$ where θ is drawn with probability
    $\propto \xi(\theta)\, e^{s u(\theta)}$, for the weights are at most
    $\xi(S_{2t}^c)\, e^{s (\max u - 2t)}$ outside of $S_{2t}$ and at least
    $\xi(S_t)\, e^{s (\max u - t)}$ in $S_t$. The paper's lemma has $e^{-\epsilon t}$,
    without the $2 \Delta$ of its own Algorithm 3, and can fail where that is above 1.

    Args:
        mass_of_good_set: $\xi(S_t)$, of the base measure, above 0 and at most 1.
        t: half of the shortfall, in units of the score, > 0.
        epsilon: privacy loss, > 0.
        sensitivity: $\Delta$, by how much one record moves a score, > 0.
        printed: give the paper's bound, which does not hold.

    Returns:
        A bound; it says nothing where it is 1 or more.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Lemma 4.
    """
    positive(t=t, sensitivity=sensitivity)
    if not 0 < mass_of_good_set <= 1:
        raise ValueError(
            f"`mass_of_good_set` must be above 0 and at most 1, got {mass_of_good_set}."
        )
    rate = float(exact_epsilon(epsilon)) / (1 if printed else 2 * float(sensitivity))
    return math.exp(-rate * float(t)) / float(mass_of_good_set)
