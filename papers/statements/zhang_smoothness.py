"""What Zhang et al. say of Lipschitz likelihoods, uniform and stochastic."""

__all__ = ["LEMMA_2", "LEMMA_3", "SECTION_4_1"]

import itertools
import math
from fractions import Fraction

import numpy as np
from jaxtyping import Float

from dpjax.data.bayes_net import BayesNet
from dpjax.theory import (
    beta_constant,
    beta_mass,
    lemma_2,
    lemma_3,
    network_constant,
    row_constant,
)
from papers.networks import TINY, all_records
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

_OMEGA = Fraction(1, 10)
_PRIORS = {
    "1 row, uniform": ((1.0, 1.0),),
    "3 rows, uniform": ((1.0, 1.0),) * 3,
    "4 rows, unequal": ((3.0, 4.0), (5.0, 5.0), (3.0, 4.0), (2.0, 9.0)),
    "33 rows, uniform": ((1.0, 1.0),) * 33,  # naive Bayes of 16 attributes
}


def _section_4_1(setting: Setting) -> Reproduced:
    draws, rate = 50_000 if setting.quick else 500_000, 2.0
    rates = setting.rng().exponential(1 / rate, draws)
    bounds = np.array([0.1, 0.5, 1.0, 10.0, 100.0])
    shares = np.array([(rates <= bound).mean() for bound in bounds])
    expected = -np.expm1(-rate * bounds)
    # ln p(1) - ln p(0) of a coin with odds e^2L
    ratios = np.logaddexp(0, 2 * bounds) - np.logaddexp(0, -2 * bounds)
    rows = zip(
        bounds.tolist(),
        ratios.tolist(),
        shares.tolist(),
        expected.tolist(),
        strict=True,
    )
    return Reproduced(
        "Densities θ exp(-θx) at x and y have the log-ratio θ|x - y|: Lipschitz for "
        "bounded rates, but not for all of them, as the paper has it (`python -m "
        f"papers erratum-14`). Of {draws:,} rates with prior Exp({rate:g}), "
        f"{shares[1]:.3f} are {bounds[1]:g}-Lipschitz "
        f"(1 - exp(-{rate * bounds[1]:g}) = {expected[1]:.3f}), so that "
        "Assumption 2 holds for them.",
        {"": table(("L", "coin", "share", "mass"), rows)},
        {},
        _section_4_1_claims(ratios, bounds, shares, expected, draws),
    )


def _section_4_1_claims(ratios, bounds, shares, expected, draws) -> list[Claim]:
    return [
        Claim.certain(
            "Bernoulli distributions are not uniformly Lipschitz: odds of exp(2L) "
            "exceed every L",
            bool((ratios > bounds).all()),
        ),
        Claim.certain(
            "for exponential rates up to L the constant is L, in every pair of a grid",
            _exponential_range(2.0) <= 2.0 + 1e-12,
            by="dpjax",
        ),
        Claim.positive(
            "with rates that are Exp(λ) themselves exponential distributions are "
            "stochastically Lipschitz: the L-Lipschitz ones have mass 1 - exp(-λL), so "
            "c = λ (within 0.02, simulated)",
            0.02 - np.abs(shares - expected)[:3],
            np.sqrt(expected * (1 - expected) / draws)[:3],
            by="dpjax",
        ),
    ]


def _exponential_range(limit: float) -> float:
    """The largest |ln p(x) - ln p(y)| / |x - y| for rates up to a limit."""
    rates, places = np.linspace(0.01, limit, 50), np.linspace(0, 9, 10)
    logs = np.log(rates)[:, None] - rates[:, None] * places[None]
    gaps = places[:, None] - places[None] + np.eye(10)
    change = np.abs(logs[:, :, None] - logs[:, None]) / np.abs(gaps)
    return float(change.max())


def _lemma_2(setting: Setting) -> Reproduced:
    rows = []
    for name, net in TINY.items():
        logs = _extreme_logs(net)
        largest = np.abs(logs[:, :, None] - logs[:, None]).max(axis=0)
        constants = [row_constant(2, _OMEGA)] * len(net.names)
        records = all_records(net)
        bounds = [
            [lemma_2(constants, _distances(net, x, y)) for y in records]
            for x in records
        ]
        excess = (largest - np.array(bounds)).max()
        ours = float(network_constant(constants))
        facts = (name, float(largest.max()), ours, float(np.max(bounds)))
        rows.append((*facts, float(excess)))
    largest, ours, most, excess = np.array([row[1:] for row in rows]).T
    return Reproduced(
        "Log-ratios of all pairs of records over all vertices of the tables with "
        f"entries of at least {float(_OMEGA)}. The largest is {largest[0]:.4f} for "
        f"three variables, and so is the sum of their constants ({ours[0]:.4f}). With "
        "distances of the variables alone, as printed, the lemma fails: `python -m "
        "papers erratum-3`.",
        {"": table(("network", "largest", "sum", "printed", "excess"), rows)},
        {},
        _lemma_2_claims(excess, largest, ours, most),
    )


def _lemma_2_claims(excess, largest, ours, most) -> list[Claim]:
    return [
        Claim.certain(
            "with distances ρ of families (a variable and its parents) the log-ratio "
            "of any two records is at most ‖L‖∞ Σ ρ, at every vertex of the parameters",
            bool((excess <= 1e-9).all()),
            by="dpjax",
        ),
        Claim.certain(
            "the sum of the variables' constants is the largest log-ratio: exact",
            bool((np.abs(largest / ours - 1) < 1e-9).all()),
            by="dpjax",
        ),
        Claim.certain(
            "it is never above the paper's form",
            bool((ours <= most + 1e-9).all()),
            by="dpjax",
        ),
    ]


def _cells(net: BayesNet) -> np.ndarray:
    return np.asarray(net.layout.cells(all_records(net)))


def _extreme_logs(net: BayesNet) -> Float[np.ndarray, "v x"]:
    """ln p of every record, for every choice of ω or 1 - ω in every row."""
    low = float(_OMEGA)
    ones = np.array(list(itertools.product((low, 1 - low), repeat=_rows(net))))
    tables = np.stack([1 - ones, ones], axis=-1).reshape(len(ones), -1)
    return np.log(tables)[:, _cells(net)].sum(axis=-1)


def _rows(net: BayesNet) -> int:
    return net.layout.length // 2


def _distances(net: BayesNet, x: np.ndarray, y: np.ndarray) -> list[float]:
    """0-1, of each family."""
    return [float((x[list(f)] != y[list(f)]).any()) for f in net.families]


def _lemma_3(setting: Setting) -> Reproduced:
    least, rows = 3.0, []
    for name, priors in _PRIORS.items():
        constants = [beta_constant(a, b, least) for a, b in priors]
        reached = len(priors) < math.exp(least * min(constants))
        together = lemma_3(constants, least) if reached else math.nan
        for bound in np.linspace(least, 20, 35).tolist():
            mass = math.prod(beta_mass(a, b, bound) for a, b in priors)
            facts = -math.expm1(-together * bound), -math.expm1(-min(constants) * bound)
            rows.append((name, reached, bound, mass, *facts))
    reached = np.array([row[1] for row in rows])
    mass, promised, uncorrected = np.array([row[3:] for row in rows]).T
    inside, gaps = _inclusion(setting)
    holding = sum(_met(priors, least) for priors in _PRIORS.values())
    return Reproduced(
        "Masses of Lipschitz tables by incomplete beta integrals, L from L₀ = "
        f"{least:g} to 20. The union bound needs a constant for each row of a node's "
        "table, or one for the whole table that covers all its rows, and distances of "
        f"families. For three uniform rows at L₀ the mass is {rows[35][3]:.4f}, at "
        f"least {rows[35][4]:.4f} is promised.",
        {"": table("prior,condition,L,mass,promised,uncorrected".split(","), rows)},
        {},
        _lemma_3_claims(mass, promised, reached, holding, uncorrected, gaps, inside),
    )


def _lemma_3_claims(
    mass, promised, reached, holding, uncorrected, gaps, inside
) -> list[Claim]:
    return [
        Claim.certain(
            "the L-Lipschitz tables have mass at least 1 - exp(-c'L) for all L ≥ L₀, "
            "c' = min c - ln|I|/L₀",
            bool((mass >= promised - 1e-12)[reached].all()),
        ),
        Claim.certain(
            f"the condition |I| ≤ exp(L₀ min c) is met in {holding} of {len(_PRIORS)} "
            "priors, and fails for 33 uniform rows",
            holding == len(_PRIORS) - 1 and not reached[-1],
            by="dpjax",
        ),
        Claim.certain(
            "without - ln|I|/L₀ it would fail",
            bool((mass < uncorrected - 1e-12).any()),
            by="dpjax",
        ),
        Claim.certain(
            f"wherever every node is L-Lipschitz the network is, in all of {gaps} "
            "random tables",
            inside,
        ),
    ]


def _met(priors: tuple[tuple[float, float], ...], least: float) -> bool:
    constant = min(beta_constant(a, b, least) for a, b in priors)
    return len(priors) < math.exp(least * constant)


def _inclusion(setting: Setting) -> tuple[bool, int]:
    """Whether a network's constant is at most its nodes' largest, in random tables."""
    net, draws = TINY["collider"], 500 if setting.quick else 5000
    ones = setting.rng().beta(2.0, 3.0, (draws, _rows(net)))
    logs = np.log(np.stack([1 - ones, ones], axis=-1)).reshape(draws, -1)
    records = all_records(net)
    of_nodes = np.stack(
        [
            np.ptp(logs[:, start:stop], axis=1)
            for start, stop in itertools.pairwise(net.layout.offsets)
        ]
    ).max(axis=0)
    total = logs[:, _cells(net)].sum(axis=-1)
    rho = np.array([[sum(_distances(net, x, y)) for y in records] for x in records])
    gaps = np.abs(total[:, :, None] - total[:, None]) / np.where(rho > 0, rho, np.inf)
    return bool((gaps.max(axis=(1, 2)) <= of_nodes + 1e-12).all()), draws


SECTION_4_1 = Reproduction(
    "zhang-section-4-1",
    "Which likelihoods are uniformly Lipschitz",
    "Zhang et al., section “(Stochastic) Lipschitz Smoothness of Networks”",
    _section_4_1,
)
LEMMA_2 = Reproduction(
    "zhang-lemma-2",
    "A network of Lipschitz nodes is Lipschitz",
    "Zhang et al., Lemma 2, with distances of families",
    _lemma_2,
)
LEMMA_3 = Reproduction(
    "zhang-lemma-3",
    "A network of stochastically Lipschitz nodes is so too",
    "Zhang et al., Lemma 3",
    _lemma_3,
)
