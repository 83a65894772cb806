"""What Zhang et al. say of samples from the posterior: Theorem 4, footnote 4."""

__all__ = ["FOOTNOTE_4", "THEOREM_4"]

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy import stats

from dpjax.audits import largest_loss, neighbouring
from dpjax.audits.exact import Law
from dpjax.data.bayes_net import BayesNet
from dpjax.privacy import REPLACE_ONE
from dpjax.theory import (
    bernoulli_constant,
    beta_constant,
    beta_likelihood_ratio,
    network_constant,
    posterior_sample_cost,
    theorem_4,
)
from papers.networks import TINY, binary_network, counts_of_each
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

_OMEGA = Fraction(1, 5)
_NETWORKS = {"coin": binary_network(1, {}), "pair": binary_network(2, {1: [0]}), **TINY}
_LEAST = (0.003, 0.1, 1.0, 10.0)


def grid_law(
    net: BayesNet, omega: float, points: int = 5
) -> Callable[[np.ndarray], Law]:
    """The posterior of every row under a uniform prior on a grid in [ω, 1 - ω].

    Rows are independent given the data, so their losses add up.
    """
    ones = np.linspace(omega, 1 - omega, points)
    logs = np.log(np.stack([1 - ones, ones]))
    each = counts_of_each(net).astype(float)
    place = 2 ** np.arange(len(net.names))[::-1]
    known: dict[tuple[float, float], list[float]] = {}

    def row(counts: tuple[float, float]) -> list[float]:
        if counts not in known:
            known[counts] = np.exp(counts @ logs).tolist()
        return known[counts]

    def law(records: np.ndarray) -> Law:
        counts = each[records @ place].sum(axis=0).reshape(-1, 2)
        return [row((zeros, one)) for zeros, one in counts.tolist()]

    return law


def _theorem_4(setting: Setting) -> Reproduced:
    first, losses = _part_1()
    large = [_coin_loss(n) for n in (5, 20, 200, 2000)]
    limit = 2 * float(bernoulli_constant(_OMEGA))
    second = _part_2()
    holds, delta, distance = np.array([row[-3:] for row in second], float).T
    records = np.array([row[0] for row in second])
    met = holds > 0
    columns = ("n", "prior", "C", "holds", "bound", "distance")
    return Reproduced(
        f"Part 1, entries of at least {float(_OMEGA)}, enumerated: {losses}. For a "
        f"coin the loss is {large[0]:.3f} at n = 5 and {large[-1]:.3f} at n = 2000; "
        f"the bound is {limit:.3f}. Part 2: over {len(second)} Beta priors, numbers of "
        f"records and L₀, the hypothesis holds in {int(met.sum())}. From two records "
        f"on √(M/2) is {min(delta[records > 1]):.2f} or more, and a total variation is "
        f"never above 1. With one record the smallest is {min(delta[met]):.3f}, where "
        f"the distance is {distance[met][np.argmin(delta[met])]:.5f}.",
        {
            "loss": table(("network", "n", "ours", "loss", "printed"), first),
            "stochastic": table(columns, second),
        },
        {},
        _theorem_4_claims(first, large, limit, distance, delta, met, records, second),
    )


def _theorem_4_claims(
    first, large, limit, distance, delta, met, records, second
) -> list[Claim]:
    return [
        Claim.certain(
            "1. one sample is 2‖L‖∞ρ-DP: no output tells any two neighbours apart by "
            "more, in all of the networks",
            all(row[3] <= row[4] for row in first),
        ),
        Claim.certain(
            "no more than 2 Σ C, which is at most that, either",
            all(row[3] <= row[2] + 1e-9 for row in first),
            by="dpjax",
        ),
        Claim.certain(
            "for a coin the loss grows with n to within 0.2 % of 2C: no smaller "
            "constant serves all n",
            sorted(large) == large and 0.998 < large[-1] / limit <= 1,
            by="dpjax",
        ),
        Claim.certain(
            "2. posteriors of neighbours are within √(M/2) in total variation, "
            "wherever the hypothesis ρ ≤ (1 - δ)c holds",
            bool((distance <= delta)[met].all()) and bool(met.any()),
        ),
        Claim.certain(
            "which says nothing: √(M/2) is 1 or more for every Beta prior tried, from "
            "2 records on",
            bool((delta >= 1)[records > 1].all()),
            by="dpjax",
        ),
        Claim.certain(
            "and under a uniform prior the hypothesis fails",
            not any(row[-3] for row in second if row[1] == 1),
            by="dpjax",
        ),
    ]


def _part_1() -> tuple[list[tuple], str]:
    constant, rows = bernoulli_constant(_OMEGA), []
    for name, net in _NETWORKS.items():
        size, n = len(net.names), 4 if len(net.names) < 3 else 2
        law, pairs = (
            grid_law(net, float(_OMEGA)),
            neighbouring(net.sizes, n, REPLACE_ONE),
        )
        loss, _ = largest_loss(law, pairs)
        total = network_constant([constant] * size)
        ours = float(posterior_sample_cost(total, REPLACE_ONE).epsilon)
        printed = 2 * float(constant) * size  # ‖L‖∞ρ, ρ: all families differ
        rows.append((name, n, ours, loss, printed))
    words = "; ".join(
        f"{row[0]}, n = {row[1]}: {row[3]:.3f} of {row[4]:.3f}" for row in rows
    )
    return rows, words


def _coin_loss(n: int) -> float:
    """Of a uniform prior on [ω, 1 - ω]: all ones, and one of them replaced."""
    low = float(_OMEGA)
    inside = [
        stats.beta(1 + ones, 1 + n - ones).cdf([low, 1 - low]) for ones in (n, n - 1)
    ]
    masses = [above - below for below, above in inside]
    ends = np.array([low, 1 - low])
    logs = stats.beta.logpdf(ends, 1 + n, 1) - stats.beta.logpdf(ends, n, 2)
    return float(np.abs(logs - math.log(masses[0] / masses[1])).max())


def _part_2() -> list[tuple]:
    rows = []
    for prior, n, least in itertools.product(
        (1.0, 2.0, 10.0, 1e3, 1e5, 1e7), (1, 2, 10), _LEAST
    ):
        ratio = beta_likelihood_ratio(n, prior, prior)
        found = theorem_4(beta_constant(prior, prior, least), least, [ratio])
        distance = max(_variation(prior, n, ones) for ones in range(n))
        rows.append((n, prior, ratio, found.holds, found.delta, distance))
    return rows


def _variation(prior: float, n: int, ones: int) -> float:
    """Between the posteriors with `ones` and one more success: they cross once."""
    a, b = prior + ones, prior + n - ones
    crossing = a / (a + b - 1)  # where a θ = (b - 1)(1 - θ), of the densities' ratio
    one, other = stats.beta(a, b).cdf(crossing), stats.beta(a + 1, b - 1).cdf(crossing)
    return float(abs(one - other))


def _footnote_4(setting: Setting) -> Reproduced:
    epsilon, rows = 1.0, []
    for a, b in ((2.0, 2.0), (5.0, 1.0), (30.0, 10.0)):
        mode = (a - 1) / (a + b - 2)
        most = float(stats.beta.pdf(mode, a, b))
        grid = np.linspace(0, 1, 10_001)
        total = np.trapezoid(np.exp(epsilon * stats.beta.pdf(grid, a, b)), grid)
        rows.append((a, b, most, float(total), math.exp(most * epsilon)))
    cuts = 10.0 ** -np.arange(2, 7)
    growing = [_below(epsilon, cut) for cut in cuts]
    claims = [
        Claim.certain(
            "where the posterior density is at most M, the normalising constant is at "
            "most exp(Mε)",
            all(total <= bound for *_, total, bound in rows),
        ),
        Claim.certain(
            "without such an M it can be infinite: a Beta(½, ½) prior and records that "
            "are all ones; the logarithm of what lies beyond 1 - η grows like 1/√η",
            bool(np.diff(growing).min() > 0) and growing[-1] > 100,
            by="dpjax",
        ),
    ]
    return Reproduced(
        f"Normalising constants of Algorithm 3's law at ε = {epsilon:g} under a "
        "uniform base measure: "
        f"{', '.join(f'{row[3]:.2f} (at most {row[4]:.2f})' for row in rows)}. A "
        "Beta(3 + ½, ½) posterior has no largest density: the integral up to 1 - η has "
        f"a logarithm of at least {growing[0]:.1f} for η = {cuts[0]:g} and "
        f"{growing[-1]:.0f} for η = {cuts[-1]:g}. So the footnote's condition is "
        "needed, and holds where the prior is truncated.",
        {"": table(("a", "b", "M", "constant", "bound"), rows)},
        {},
        claims,
    )


def _below(epsilon: float, cut: float) -> float:
    """A lower bound of ln ∫ exp(εu) over [1 - 2η, 1 - η], u the density, prior mass."""
    beyond = stats.beta.sf(np.array([1 - 2 * cut, 1 - cut]), 0.5, 0.5)
    density = stats.beta.pdf(1 - 2 * cut, 3.5, 0.5)
    return float(epsilon * density + np.log(beyond[0] - beyond[1]))


THEOREM_4 = Reproduction(
    "zhang-theorem-4",
    "What a posterior sample costs",
    "Zhang et al., Theorem 4",
    _theorem_4,
)
FOOTNOTE_4 = Reproduction(
    "zhang-footnote-4",
    "Whether Algorithm 3's weights can be normalised",
    "Zhang et al., footnote 4",
    _footnote_4,
)
