"""Foulds et al., sections 2.1 and 4: composition, and samplers that come near."""

__all__ = ["PROPOSITION_3", "SECTION_2_1", "THEOREM_1"]

import math
from fractions import Fraction

import numpy as np
from scipy import stats

from dpjax.audits import largest_loss
from dpjax.privacy import REPLACE_ONE, PureDP, advanced, basic, converged_within
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting
from papers.statements.foulds_laws import hockey_stick, largest, logs_of, replaced

MODELS, ROUNDING = 5000, 1e-12


def _section_2_1(setting: Setting) -> Reproduced:
    rng = setting.rng()
    pairs = [*replaced(2, 3)]
    places = np.array([[int("".join(map(str, x)), 2) for x in pair] for pair in pairs])
    noisy = _laplace(rng, places)
    scored, processed = _exponential(rng, places)
    claims = [
        Claim.certain(
            "equation 3: no output of the Laplace mechanism has a log-ratio above ε",
            bool((noisy <= 1 + ROUNDING).all()),
        ),
        Claim.certain(
            "and some output attains it", bool((noisy > 1 - ROUNDING).all()), by="dpjax"
        ),
        Claim.certain(
            "equation 4: the loss of the exponential mechanism is at most ε",
            bool((scored <= 1 + ROUNDING).all()),
        ),
        Claim.certain(
            "post-processing that does not depend on the data loses no privacy",
            bool((processed <= scored + ROUNDING).all()),
        ),
    ]
    words = (
        f"{len(noisy):,} random queries of two numbers and as many random scores of "
        f"five outcomes, on all {len(pairs)} pairs of neighbours of three binary "
        f"records, ε = 1. Largest loss: {noisy.max():.4f} of the Laplace mechanism at "
        f"outputs on a grid, {scored.max():.4f} of the exponential mechanism, "
        f"{processed.max():.4f} of that after a random channel."
    )
    rows = [
        ("Laplace", noisy.max()),
        ("exponential", scored.max()),
        ("exponential, processed", processed.max()),
    ]
    found = table(("mechanism", "largest_loss"), [(x, float(y)) for x, y in rows])
    return Reproduced(words, {"": found}, {}, claims)


def _laplace(rng: np.random.Generator, places: np.ndarray) -> np.ndarray:
    """Losses at ε = 1 of random queries, on a grid of outputs around all answers."""
    queries = rng.integers(-3, 4, (MODELS // 10, 8, 2))
    one, other = queries[:, places[:, 0]], queries[:, places[:, 1]]
    change = np.abs(one - other).sum(axis=-1).max(axis=-1)
    queries, one, other = (x[change > 0] for x in (queries, one, other))
    grid = np.stack(np.meshgrid(*[np.arange(-4, 5)] * 2), axis=-1).reshape(-1, 2)
    far = [np.abs(grid[None, None] - x[:, :, None]).sum(axis=-1) for x in (one, other)]
    scale = change[change > 0]
    return np.abs(far[0] - far[1]).max(axis=(1, 2)) / scale


def _exponential(
    rng: np.random.Generator, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Losses at ε = 1 of random scores, as drawn and after a random channel."""
    scores = rng.normal(size=(MODELS // 10, 8, 5))
    moved = np.abs(scores[:, places[:, 0]] - scores[:, places[:, 1]])
    weights = scores / (2 * moved.max(axis=(1, 2)))[:, None, None]
    channel = rng.dirichlet(np.ones(4), (len(scores), 5))
    after = np.log(np.exp(logs_of(weights)) @ channel)
    return (
        largest(weights[:, places[:, 0]], weights[:, places[:, 1]]).max(axis=-1),
        largest(after[:, places[:, 0]], after[:, places[:, 1]]).max(axis=-1),
    )


def _theorem_1(setting: Setting) -> Reproduced:
    """Integers throughout: laws are multiples of 1/60, e^ε is 2 and 3/2."""
    rng = setting.rng()
    first = rng.multinomial(60, rng.dirichlet(np.full(4, 0.5), (MODELS, 2)))
    second = rng.multinomial(60, rng.dirichlet(np.full(3, 0.5), (MODELS, 4, 2)))
    apart = _shortfall(first, np.repeat(second[:, :1], 4, axis=1))
    both = _responses(Fraction(1, 10), Fraction(1, 20))
    loss, _ = largest_loss(lambda x: [x], [_responses(Fraction(0), Fraction(0))])
    spent = _two_way(both[0], both[1], Fraction(3))
    total, many, true = _hundred()
    claims = [
        Claim.certain(
            "two releases cost (ε₁ + ε₂, δ₁ + δ₂), for all random laws", apart >= 0
        ),
        Claim.certain(
            "also if the second is chosen after seeing the first",
            _shortfall(first, second) >= 0,
            by="dpjax",
        ),
        Claim.certain(
            "ε₁ + ε₂ is attained", math.isclose(loss, math.log(3)), by="dpjax"
        ),
        Claim.certain(
            "δ₁ + δ₂ is not: the most is δ₁ + δ₂ - δ₁ δ₂",
            spent == Fraction(1, 10) + Fraction(1, 20) - Fraction(1, 200),
            by="dpjax",
        ),
        Claim.certain(
            "advanced composition trades δ for a smaller ε", true <= 1e-6 < many < total
        ),
    ]
    words = (
        f"{MODELS:,} pairs of random laws of four and three outcomes, in exact "
        "arithmetic. Two randomised responses of e^ε = 2 and 3/2 lose exactly ln 3 "
        "together. With δ of 1/10 and 1/20 the pair needs "
        f"{spent} at ε₁ + ε₂, a little less than 3/20. A hundred responses of ε = .1 "
        f"cost {total:g} by addition, {many:.2f} at δ = 1e-6 by "
        f"advanced composition; enumerated, they need δ = {true:.1e} there."
    )
    names = ("delta_of_the_pair", "its_loss", "advanced_epsilon", "its_exact_delta")
    rows = [(float(spent), loss, many, true)]
    return Reproduced(words, {"": table(names, rows)}, {}, claims)


def _hundred() -> tuple[float, float, float]:
    """ε of a hundred releases of ε = .1: by addition, at δ = 1e-6; and the exact δ."""
    each = PureDP(Fraction(1, 10), REPLACE_ONE)
    epsilon = float(advanced(each, 100, "1e-6").epsilon)
    true = _many_responses(100, 0.1, epsilon)
    return float(basic(*[each] * 100).epsilon), epsilon, true


def _shortfall(first: np.ndarray, second: np.ndarray) -> int:
    """δ₁ + δ₂ minus the pair's δ at its least, in units of 1 / 3600."""
    pair = first[..., None] * second.transpose(0, 2, 1, 3)
    one, other = pair.reshape(len(pair), 2, -1).transpose(1, 0, 2)
    both = hockey_stick(one, other, 3)
    delta = hockey_stick(first[:, 0], first[:, 1], 2)
    twice = hockey_stick(2 * second[:, :, 0], 2 * second[:, :, 1], 1.5).max(axis=1)
    return int((60 * delta + 30 * twice - both).min())


def _responses(one: Fraction, other: Fraction) -> tuple[list, list]:
    """Two responses of e^ε = 2 and 3/2 that give all away with these chances."""

    def law(ratio: Fraction, chance: Fraction) -> list[Fraction]:
        share = (1 - chance) / (1 + ratio)
        return [chance, ratio * share, share, Fraction(0)]

    laws = law(Fraction(2), one), law(Fraction(3, 2), other)
    pair = [x * y for x in laws[0] for y in laws[1]]
    return pair, [x * y for x in laws[0][::-1] for y in laws[1][::-1]]


def _two_way(one: list, other: list, ratio: Fraction) -> Fraction:
    excess = (x - ratio * y for x, y in zip(one, other, strict=True))
    return sum((x for x in excess if x > 0), Fraction(0))


def _many_responses(times: int, epsilon: float, at: float) -> float:
    """The δ at ε = `at` of so many randomised responses, by the number of truths."""
    truth = 1 / (1 + math.exp(-epsilon))
    truths = np.arange(times + 1)
    one, other = (stats.binom.pmf(truths, times, x) for x in (truth, 1 - truth))
    return float(np.maximum(one - math.exp(at) * other, 0).sum())


def _proposition_3(setting: Setting) -> Reproduced:
    rng = setting.rng()
    share, attained = _share(rng), _attained()
    ours = converged_within(PureDP(Fraction(1), REPLACE_ONE), "0.01").delta
    claims = [
        Claim.certain(
            "a sampler within δ of an ε-private one in L1 is (ε, (1 + e^ε) δ)-private",
            bool((share <= 1 + ROUNDING).all()),
        ),
        Claim.certain(
            "half of that is enough: (1 + e^ε) δ / 2",
            bool((share <= 0.5 + ROUNDING).all()),
            by="dpjax",
        ),
        Claim.certain(
            "and is attained", attained == (1 + 3) * Fraction(1, 50) / 2, by="dpjax"
        ),
        Claim.certain(
            "`converged_within` charges (1 + e^ε) times the total variation",
            0 <= float(ours) - (1 + math.e) * 0.01 < 1e-12,
            by="dpjax",
        ),
    ]
    words = (
        f"{MODELS:,} pairs of random laws of four outcomes, each law moved by a random "
        "distance. The δ that the moved pair needs at the ε of the exact pair is at "
        f"most {share.max():.3f} of (1 + e^ε) times the L1 distance. The printed "
        "parenthesis, “(1 + exp(ε)δ)”, lacks one sign; 1 + e^ε δ would be no promise. "
        "Nobody can observe the distance (the paper says so too)."
    )
    rows = [("largest share of the printed bound", float(share.max()))]
    rows += [("attained delta, exact", float(attained))]
    return Reproduced(words, {"": table(("quantity", "value"), rows)}, {}, claims)


def _share(rng: np.random.Generator) -> np.ndarray:
    """The δ that two nearly private laws need, over the printed bound."""
    laws = rng.dirichlet(np.ones(4), (2, MODELS))
    loss = largest(np.log(laws[0]), np.log(laws[1]))
    change = rng.normal(size=laws.shape)
    change -= change.mean(axis=-1, keepdims=True)
    room = np.where(change < 0, laws / np.abs(change), np.inf).min(axis=(0, 2))
    moved = laws + change * (room * rng.uniform(size=MODELS))[:, None]
    distance = np.abs(moved - laws).sum(axis=-1).max(axis=0)
    needed = hockey_stick(moved[0], moved[1], np.exp(loss)[:, None])
    return needed / ((1 + np.exp(loss)) * distance)


def _attained() -> Fraction:
    """The δ at e^ε = 3 of two laws that are 1/50 from private ones, in L1."""
    half = Fraction(1, 100)
    nearly = [Fraction(3, 5) + half, Fraction(1, 5), Fraction(1, 5) - half]
    neighbour = [Fraction(1, 5) - half, Fraction(3, 5), Fraction(1, 5) + half]
    return _two_way(nearly, neighbour, Fraction(3))


SECTION_2_1 = Reproduction(
    "foulds-section-2-1",
    "The Laplace and exponential mechanisms, and post-processing",
    "Foulds et al., section 2.1, equations 2-5",
    _section_2_1,
)
THEOREM_1 = Reproduction(
    "foulds-theorem-1", "Composition", "Foulds et al., Theorem 1", _theorem_1
)
PROPOSITION_3 = Reproduction(
    "foulds-proposition-3",
    "A sampler that is nearly private",
    "Foulds et al., Proposition 3 (of Wang et al.)",
    _proposition_3,
)
