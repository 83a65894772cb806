r"""The discrete Gaussian distribution $P(Z = z) \propto e^{-z^2 / 2\sigma^2}$, any σ.

Python integers and random bits alone decide a draw, so that its distribution is exact,
without a table. The module is for noise that is too wide for a table, and draws one
number after another.
"""

import math
from fractions import Fraction

from dpjax.noise.exact_choice import Bits, drawn_below

LEAST = Fraction(1, 2**47)  # of 1 / 2σ², so that σ is at most 2^23


def draw(variance: Fraction, bits: Bits) -> int:
    r"""Draw one integer with the exact distribution, given its parameter σ².

    A candidate y has the probability $\propto e^{-|y| / t}$ with t = ⌊σ⌋ + 1, and is
    accepted with the probability $e^{-(|y| - \sigma^2 / t)^2 / 2\sigma^2}$.

    Args:
        variance: σ² > 0.
        bits: source of random bits. How many are used depends on the noise.

    Reference:
        Canonne, Kamath & Steinke (NeurIPS 2020), Algorithm 3.
    """
    scale = math.isqrt(math.floor(variance)) + 1
    centre = variance / scale
    while True:
        candidate = _laplace(scale, bits)
        if _decays((abs(candidate) - centre) ** 2 / (2 * variance), bits):
            return candidate


def _laplace(scale: int, bits: Bits) -> int:
    """Draw y with probability proportional to e^(-|y| / scale).

    Reference:
        Canonne, Kamath & Steinke (NeurIPS 2020), Algorithm 2.
    """
    while True:
        rest = drawn_below(bits, scale)
        if not _decays(Fraction(rest, scale), bits):
            continue
        steps = 0
        while _decays(Fraction(1), bits):
            steps += 1
        size, negative = rest + scale * steps, bits(1)
        if size or not negative:
            return -size if negative else size


def _decays(rate: Fraction, bits: Bits) -> bool:
    """Return True with the probability e^-rate, for a rate ≥ 0.

    Reference:
        Canonne, Kamath & Steinke (NeurIPS 2020), Algorithm 1.
    """
    while rate > 1:
        if not _decays(Fraction(1), bits):
            return False
        rate -= 1
    step = 1
    while drawn_below(bits, step * rate.denominator) < rate.numerator:
        step += 1
    return step % 2 == 1
