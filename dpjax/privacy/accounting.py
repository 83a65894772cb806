"""Total (ε, δ) of many releases by dp-accounting, for planning and reporting only.

It is tighter than `advanced`, but in floating point. A `Ledger` does not use it: an
accountant returns inf at δ = 0, and its sums are not exact.
"""

__all__ = ["total_epsilon"]

import collections
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpjax._checks import one_of, whole
from dpjax.privacy.composition import basic
from dpjax.privacy.guarantee import Guarantee
from dpjax.privacy.kinds import PureDP
from dpjax.privacy.rounding import Epsilon, exact_epsilon

if TYPE_CHECKING:
    import dp_accounting
    from dp_accounting import pld, rdp
else:
    try:
        import dp_accounting
        from dp_accounting import pld, rdp
    except Exception:  # absent or broken: refused when it is used
        dp_accounting = pld = rdp = None

_LEAST_DELTA = Fraction(1, 10**10)
_ERROR = 1e-13  # allowance in δ: observed errors of Fourier transforms are 1e-15
_LEAST_LOSS = Fraction(1, 10**6)  # below it rounding exceeds Rényi divergences
_LARGEST_LOSS = 100  # above it nothing is gained
_LARGEST_SENSITIVITY = 10**5  # above it discrete noise takes a second and more
_STEPS = 1 << 17  # of the lattice on which losses are added up
_BITS = 24  # of the step, which exceeds the best step by less than one part in 2^23


def total_epsilon(
    costs: Sequence[Guarantee],
    delta: Epsilon,
    method: str = "pld",
    noise: str = "any",
    sensitivity: int = 1,
) -> float:
    r"""Return an upper bound of the total ε at δ, at most the sum of all ε.

    With `noise` "any", each release is treated as randomised response, whose loss is
    always ε or -ε, the worst case of an ε-DP mechanism. A vector with Laplace noise has
    the largest divergence, $1 - e^{(\epsilon - a)/2}$, if its whole change a, in units
    of the noise scale, is in one number. If two numbers change by $a_1 + a_2 = a$, the
    divergence is smaller. So one number represents a vector of any length.

    Args:
        costs: pure-DP cost of each release, with ε from 1e-6 to 100, all for one
            adjacency; a release may be chosen after seeing the earlier releases.
        delta: δ of all releases together, at least 1e-10 and below 1.
        method: "pld" for privacy loss distributions, "rdp" for Rényi divergences.
        noise: "any" for any ε-DP mechanisms. "laplace" or "discrete-laplace" (the noise
            of this library's releases) if all releases have this noise.
        sensitivity: L1 sensitivity Δ of the statistics with discrete noise, from 1 to
            10^5; Δ = 1 is no better than "any", a large Δ is as good as "laplace".

    Returns:
        ε in nats, rounded up in floating point, without a certificate.

    Raises:
        ValueError: if an argument is outside its range, or "rdp" with discrete noise.
        ImportError: if dp-accounting is not installed.
    """
    if not dp_accounting:
        raise ImportError('this needs dp-accounting: pip install "dpjax[accounting]"')
    one_of(("pld", "rdp"), method=method)
    one_of(("any", "laplace", "discrete-laplace"), noise=noise)
    whole(1, sensitivity=sensitivity)
    if sensitivity > _LARGEST_SENSITIVITY:
        raise ValueError(f"`sensitivity` must be at most 100000, got {sensitivity}.")
    if method == "rdp" and noise == "discrete-laplace":
        raise ValueError("`noise` must be 'any' or 'laplace' for method 'rdp'.")
    exact = exact_epsilon(delta, "delta")
    if not _LEAST_DELTA <= exact < 1:
        raise ValueError(f"`delta` must be at least 1e-10 and below 1, got {delta}.")
    pure = [PureDP.of(cost, "costs") for cost in costs]
    total = basic(*pure).epsilon
    times = collections.Counter(cost.epsilon for cost in pure)
    if min(times) < _LEAST_LOSS or max(times) > _LARGEST_LOSS:
        raise ValueError("`costs` must be between 1e-6 and 100 to be added in floats.")
    if method == "pld":
        delta_1 = int(sensitivity) if noise == "discrete-laplace" else 1
        epsilon = _by_pld(times, float(exact), noise, delta_1)
    else:
        epsilon = _by_rdp(times, float(exact), noise)
    return min(epsilon, float(total))


def _by_pld(
    times: Mapping[Fraction, int], delta: float, noise: str, sensitivity: int
) -> float:
    law = pld.privacy_loss_distribution
    step = _step(times, sensitivity)
    width = float(step)
    total = law.identity(value_discretization_interval=width)
    for epsilon, count in times.items():
        rho = float(math.ceil(epsilon / sensitivity / step) * step)
        if noise == "laplace":
            one = law.from_laplace_mechanism(
                1 / rho, value_discretization_interval=width
            )
        elif noise == "discrete-laplace":
            one = law.from_discrete_laplace_mechanism(
                rho, sensitivity, value_discretization_interval=width
            )
        else:
            parameters = pld.common.DifferentialPrivacyParameters(rho, 0)
            one = law.from_privacy_parameters(parameters, width)
        total = total.compose(one.self_compose(count))
    return float(total.get_epsilon_for_delta(delta - _ERROR))


def _step(times: Mapping[Fraction, int], sensitivity: int) -> Fraction:
    """Step of the lattice of losses; if possible, every ε/Δ is a multiple of the step.

    The step has few bits, so that multiple / step is an integer in floats too: a loss
    just above a multiple would be rounded up to the next multiple, in each release.
    """
    total = sum(epsilon * count for epsilon, count in times.items())
    denominator = math.lcm(*(epsilon.denominator for epsilon in times))
    numerator = math.gcd(*(int(epsilon * denominator) for epsilon in times))
    common = Fraction(numerator, denominator * sensitivity)
    steps = total / common
    fine = common / math.ceil(_STEPS / steps) if steps <= _STEPS else total / _STEPS
    unit = Fraction(2) ** (math.frexp(float(fine))[1] - _BITS)
    return math.ceil(fine / unit) * unit


def _by_rdp(times: Mapping[Fraction, int], delta: float, noise: str) -> float:
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE  # of the dominating pair
    accountant = rdp.RdpAccountant(neighboring_relation=relation)
    for epsilon, count in times.items():
        loss = float(epsilon)
        event = (
            dp_accounting.LaplaceDpEvent(1 / loss)
            if noise == "laplace"
            else dp_accounting.RandomizedResponseDpEvent(2 / (1 + math.exp(loss)), 2)
        )
        accountant.compose(event, count)
    return float(accountant.get_epsilon(delta))
