"""What Zhang et al. say of noise on posterior updates: Algorithm 1."""

__all__ = ["COROLLARY_1", "LEMMA_1", "PROPOSITION_1"]

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np

from dpjax.audits import audit_exactly, neighbouring
from dpjax.audits.exact import Law
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise import tables
from dpjax.privacy import REPLACE_ONE
from dpjax.statistics import NetworkCounts
from dpjax.theory import proposition_1
from papers.networks import NAIVE_BAYES, TINY, clique, counts_of_each
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

_NET, _RECORDS, _EPSILON = TINY["naive Bayes"], 3, Fraction(1, 2)
_DELTAS = (0.01, 0.05, 0.2, 0.5, 0.9)


def _lemma_1(setting: Setting) -> Reproduced:
    rows = []
    for name, net in TINY.items():
        one = counts_of_each(net)
        change = np.abs(one[:, None] - one[None])
        families = np.add.reduceat(change, net.layout.offsets[:-1], axis=-1)
        ours = NetworkCounts(net).sensitivity(REPLACE_ONE).value
        most = int(families.max()), int(change.max()), int(change.sum(axis=-1).max())
        rows.append((name, len(net.names), *most, 2 * len(net.names), int(ours)))
    found = np.array([row[1:] for row in rows])
    per_family, per_count, largest, printed, maximal = found[:, 1:].T
    names = ("network", "I", "counts of a family", "a count", "updates", "2|I|")
    words = "; ".join(f"{row[0]}: {row[4]} of {row[5]}" for row in rows)
    return Reproduced(
        "The largest L1 change of the updates of Algorithm 1 when one record is "
        f"replaced, over all pairs of records, and 2|I|: {words}. Updates are sums "
        "over records, so that the other records do not matter.",
        {"": table((*names, "maximal families"), rows)},
        {},
        _lemma_1_claims(largest, printed, per_family, per_count, maximal),
    )


def _lemma_1_claims(largest, printed, per_family, per_count, maximal) -> list[Claim]:
    return [
        Claim.certain(
            "the updates of neighbours differ by at most 2|I| in L1, in every pair",
            bool((largest <= printed).all()),
        ),
        Claim.certain(
            "changing one datum changes at most two counts of each family, by 1 each",
            bool((per_family <= 2).all() and (per_count <= 1).all()),
        ),
        Claim.certain(
            "2|I| is attained in every network: no smaller number is right",
            bool((largest == printed).all()),
            by="dpjax",
        ),
        Claim.certain(
            "measuring only the families that no other one contains changes by less "
            "wherever one family contains another",
            bool((maximal < printed).all()),
            by="dpjax",
        ),
    ]


def _corollary_1(setting: Setting) -> Reproduced:
    pairs = list(neighbouring(_NET.sizes, _RECORDS, REPLACE_ONE))
    rows = []
    for share in (Fraction(1), Fraction(1, 2)):
        budget = _EPSILON / share
        for name, clamp in (("[0, n]", (0, _RECORDS)), ("wide", (-9, 12))):
            law = _law(budget, *clamp)
            loss = audit_exactly(law, pairs, epsilon=_EPSILON).loss
            rows.append((f"{2 / share} |I|/ε", name, loss))
    losses = [row[2] for row in rows]
    asked = float(_EPSILON)
    return Reproduced(
        f"The exact law of every output of Algorithm 1 on {_RECORDS} records of naive "
        f"Bayes with two attributes, all {len(pairs)} pairs of neighbours, with the "
        "library's discrete Laplace noise in exact fractions. The largest loss at ε = "
        f"{asked:g} is {losses[0]:.9f} with counts truncated to [0, n], "
        f"{losses[1]:.9f} truncated far from them, {losses[2]:.9f} with half the "
        "noise.",
        {"": table(("scale", "truncated to", "loss"), rows)},
        {},
        _corollary_1_claims(asked, pairs, losses),
    )


def _corollary_1_claims(asked, pairs, losses) -> list[Claim]:
    return [
        Claim.certain(
            f"Algorithm 1 is ε-DP: at ε = {asked:g} no output tells any two of "
            f"{len(pairs)} pairs of neighbours apart by more",
            losses[0] <= asked + 1e-12,
        ),
        Claim.certain(
            "truncation to [0, n] does not affect privacy",
            abs(losses[0] - losses[1]) < 1e-9,
        ),
        Claim.certain(
            "ε is attained: no smaller noise would do",
            losses[0] > asked * (1 - 1e-6),
            by="dpjax",
        ),
        Claim.certain(
            "noise of half the scale loses twice as much, and is caught",
            abs(losses[2] - 2 * asked) < 1e-5,
            by="dpjax",
        ),
    ]


def _law(budget: Fraction, low: int, high: int):
    """Of Algorithm 1's counts, independent given the data, clamped."""
    statistic = NetworkCounts(_NET, "all")
    noise = DiscreteLaplace.calibrate(budget, statistic.sensitivity(REPLACE_ONE))
    one = {
        tuple(x): counts
        for x, counts in zip(
            itertools.product(*map(range, _NET.sizes)),
            counts_of_each(_NET),
            strict=True,
        )
    }

    @cache
    def row(count: int) -> list[Fraction]:
        reach = max(count - low, high - count)
        at = {z: tables.probability(noise.table, abs(z)) for z in range(reach + 1)}
        inside = [at[abs(y - count)] for y in range(low + 1, high)]

        def beyond(z: int) -> Fraction:  # noise of z or more, z ≥ 0
            return (1 + at[0]) / 2 - sum((at[x] for x in range(z)), Fraction(0))

        return [beyond(count - low), *inside, beyond(high - count)]

    @cache
    def law_of(counts: tuple[int, ...]) -> Law:
        return [row(count) for count in counts]

    def law(records: np.ndarray) -> Law:
        total = np.sum([one[tuple(record)] for record in records.tolist()], axis=0)
        return law_of(tuple(total.tolist()))

    return law


def _proposition_1(setting: Setting) -> Reproduced:
    draws = 20_000 if setting.quick else 200_000
    rng, epsilon, rows = setting.rng(), 1.0, []
    for name, net in {**TINY, "naive Bayes, d = 16": NAIVE_BAYES}.items():
        statistic = NetworkCounts(net, "all")
        scale = int(statistic.sensitivity(REPLACE_ONE).value) / epsilon
        numbers = statistic.length  # 2m
        largest = np.abs(rng.laplace(0, scale, (draws, numbers))).max(axis=1)
        for delta in _DELTAS:
            bound = proposition_1(statistic, "1", REPLACE_ONE, delta)
            exact = (1 - math.exp(-bound / scale)) ** numbers
            rows.append((name, delta, bound, exact, float((largest <= bound).mean())))
    delta, exact, simulated = np.array([[row[i] for i in (1, 3, 4)] for row in rows]).T
    error = np.sqrt(exact * (1 - exact) / draws)
    return Reproduced(
        f"Over {draws:,} draws of the noise of Algorithm 1 at ε = 1. For naive Bayes "
        f"with 16 attributes and δ = {rows[-5][1]:g} the bound is {rows[-5][2]:.0f} "
        f"records; it is kept with probability {rows[-5][3]:.5f} (simulated "
        f"{rows[-5][4]:.5f}). At δ = {rows[-1][1]:g} it is {rows[-1][3]:.3f}: the "
        "union bound is nearly exact for small δ.",
        {"": table(("network", "delta", "bound", "exact", "simulated"), rows)},
        {},
        _proposition_1_claims(exact, delta, simulated, error, rng),
    )


def _proposition_1_claims(exact, delta, simulated, error, rng) -> list[Claim]:
    return [
        Claim.certain(
            "with probability at least 1 - δ no count is off by more than (2|I|/ε) "
            "ln(2m/δ)",
            bool((exact >= 1 - delta).all()),
        ),
        Claim.positive(
            "simulated too, where the bound says little: δ = 0.5 and 0.9",
            (simulated - (1 - delta))[delta >= 0.5],
            error[delta >= 0.5],
        ),
        Claim.certain(
            "truncation to [0, n] leaves the bound: it brings each count nearer",
            _nearer(rng),
        ),
        Claim.certain(
            "none is perturbed beyond O(|I|²/ε): even for cliques, whose m is largest",
            _largest_of_cliques() < 2 * (math.log(4) + math.log(1 / 0.05)),
        ),
    ]


def _nearer(rng: np.random.Generator) -> bool:
    """Of many noisy counts of 50 records, truncated."""
    exact = rng.integers(0, 51, 10_000)
    noisy = exact + rng.laplace(0, 30, exact.size)
    return bool((np.abs(np.clip(noisy, 0, 50) - exact) <= np.abs(noisy - exact)).all())


def _largest_of_cliques() -> float:
    """The bound over |I|²/ε, δ = 0.05, of cliques of 1 to 10."""
    nets: dict[int, BayesNet] = {k: clique(k) for k in range(1, 11)}
    return max(
        proposition_1(NetworkCounts(net, "all"), "1", REPLACE_ONE, 0.05) / k**2
        for k, net in nets.items()
    )


LEMMA_1 = Reproduction(
    "zhang-lemma-1",
    "By how much one record changes the posterior updates",
    "Zhang et al., Lemma 1",
    _lemma_1,
)
COROLLARY_1 = Reproduction(
    "zhang-corollary-1",
    "Algorithm 1 costs ε",
    "Zhang et al., Corollary 1",
    _corollary_1,
)
PROPOSITION_1 = Reproduction(
    "zhang-proposition-1",
    "How far off the updates of Algorithm 1 are",
    "Zhang et al., Proposition 1",
    _proposition_1,
)
