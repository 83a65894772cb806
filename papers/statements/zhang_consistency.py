"""Whether tables agree with each other: Fourier coefficients against counts."""

__all__ = ["CONSISTENCY"]

import itertools
import math

import jax
import numpy as np
from jaxtyping import Int

from dpjax.data.bayes_net import BayesNet
from dpjax.privacy import REPLACE_ONE
from dpjax.statistics import FourierCoefficients, NetworkCounts, Statistic
from papers.networks import ASIA, all_records, counts_of_each, signs, subsets
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

_RECORDS, _EPSILON = 50, 1.0
_COEFFICIENTS = FourierCoefficients.of_network(ASIA, REPLACE_ONE)
_COUNTS = NetworkCounts(ASIA, "all")
_COLUMNS = ("agree", "of_one_table", "negative", "truncated_agree", "counts_agree")

Tables = dict[tuple[int, ...], Int[np.ndarray, "..."]]


def _consistency(setting: Setting) -> Reproduced:
    rng, releases = setting.rng(), 200 if setting.quick else 2000
    each = jax.jit(jax.vmap(_COEFFICIENTS.measure))(all_records(ASIA)[:, None])
    chosen = rng.integers(0, len(each), (releases, _RECORDS))
    drawn = [
        _noisy(rng, np.asarray(of_one).astype(int)[chosen].sum(axis=1), statistic)
        for of_one, statistic in (
            (each, _COEFFICIENTS),
            (counts_of_each(ASIA), _COUNTS),
        )
    ]
    rows, ones = [], np.ones(ASIA.layout.length, int)  # denominators of counts
    for values, counts in zip(*drawn, strict=True):
        numerators, below = _COEFFICIENTS.exact_tables(values, _RECORDS)
        facts = (
            _agree(ASIA, numerators, below),
            _from_one_table(ASIA, numerators, below),
            bool((numerators < 0).any()),
            _agree(ASIA, np.maximum(numerators, 0), below),
            _agree(ASIA, counts, ones) or _from_one_table(ASIA, counts, ones),
        )
        rows.append(facts)
    agree, whole, negative, truncated, counted = np.array(rows).T
    return Reproduced(
        f"{releases} releases of asia's families by each algorithm, {_RECORDS} "
        f"records, ε = {_EPSILON:g}. Tables from coefficients agreed in "
        f"{agree.mean():.0%}, and had a negative cell in {negative.mean():.0%}; "
        f"truncated at 0, {truncated.mean():.0%} still agreed. Noisy counts agreed in "
        f"{counted.mean():.0%}.",
        {"": table(_COLUMNS, rows)},
        {},
        _consistency_claims(agree, whole, negative, counted, truncated),
    )


def _consistency_claims(agree, whole, negative, counted, truncated) -> list[Claim]:
    agreeing = (counted.sum() + 1) / (counted.size + 2)  # never quite 0
    return [
        Claim.certain(
            "tables rebuilt from noisy coefficients agree on all that they share, to "
            "the last integer",
            bool(agree.all()),
        ),
        Claim.certain(
            "they are the marginals of one table over all variables with real cells",
            bool(whole.all()),
        ),
        Claim.certain("whose cells may be negative", bool(negative.any())),
        Claim.positive(
            "Algorithm 1's counts are inconsistent with one another (in 95 % of the "
            "releases or more)",
            0.05 - agreeing,
            math.sqrt(agreeing * (1 - agreeing) / counted.size),
        ),
        Claim.positive(
            "truncating negative cells sacrifices stealth: the tables then disagree, "
            "more often than not",
            0.5 - truncated[negative].mean(),
            0.5 / math.sqrt(negative.sum()),
        ),
    ]


def _noisy(
    rng: np.random.Generator, exact: np.ndarray, statistic: Statistic
) -> np.ndarray:
    """With discrete Laplace noise, as a difference of geometric numbers."""
    scale = int(statistic.sensitivity(REPLACE_ONE).value) / _EPSILON
    first, second = rng.geometric(-math.expm1(-1 / scale), (2, *exact.shape))
    return exact + first - second


def _tables(net: BayesNet, cells: np.ndarray) -> Tables:
    """By family, an axis a variable."""
    layout = net.layout
    spans = itertools.pairwise(layout.offsets)
    return {
        group: cells[start:stop].reshape(layout.shape(group))
        for group, (start, stop) in zip(layout.groups, spans, strict=True)
    }


def _agree(net: BayesNet, numerators: np.ndarray, below: np.ndarray) -> bool:
    """Whether all tables have the same marginals, as fractions."""
    known: dict[tuple[int, ...], tuple[np.ndarray, int]] = {}
    denominators = _tables(net, below)
    for group, cells in _tables(net, numerators).items():
        under = int(denominators[group].flat[0])
        for kept in subsets(group):
            marginal = np.einsum(cells, list(group), list(kept))
            first, other = known.setdefault(kept, (marginal, under))
            if (marginal * other != first * under).any():
                return False
    return True


def _from_one_table(net: BayesNet, numerators: np.ndarray, below: np.ndarray) -> bool:
    """Whether the table made of all coefficients has these marginals."""
    size, tables, under = len(net.names), _tables(net, numerators), _tables(net, below)
    total = np.zeros((2,) * size, int)
    seen: set[tuple[int, ...]] = set()
    for group, cells in tables.items():
        for gamma in set(subsets(group)) - seen:
            seen.add(gamma)
            turned = signs(len(group), [group.index(i) for i in gamma])
            coefficient = (cells * turned).sum() // int(under[group].flat[0])
            total += coefficient * signs(size, list(gamma))
    return all(
        (
            np.einsum(total, list(range(size)), list(group)) * int(under[group].flat[0])
            == cells * 2**size
        ).all()
        for group, cells in tables.items()
    )


CONSISTENCY = Reproduction(
    "zhang-consistency",
    "Whether tables from noisy coefficients agree",
    "Zhang et al., paragraphs “Consistency” and “Non-negativity”",
    _consistency,
)
