"""Foulds et al., reproduced: every claim as known, and the numbers that are printed."""

import numpy as np
import pytest

from papers.foulds import REPRODUCTIONS
from papers.foulds.efficiency import TEMPERATURE, draw_counts, excess, paired_error
from papers.foulds.figure_1_laws import N, widening
from papers.foulds.sensitivities import CASES, sensitivities
from papers.statements.foulds import FOULDS_STATEMENTS
from papers.statements.foulds_collapsed import collapsed_pass
from papers.statements.foulds_convergence import LIMIT, _coin
from papers.statements.foulds_laws import hockey_stick, largest, replaced

ALL = {one.name: one for one in (*REPRODUCTIONS, *FOULDS_STATEMENTS)}
NUMBERS = {
    "foulds-table-1": "was charged 4 by the ledger, that is 400 ε",
    "foulds-figure-1": "2 ln((1 - a₀)/a₀) / ε = 2.77 (the paper prints 2.7",
    "foulds-figure-2": "OPS (T = 58.9)",
    "foulds-theorems-4-5": "from N = 1000 of the sizes shown",
    "foulds-theorem-1": "29/200 at ε₁ + ε₂",
    "foulds-section-2-2": "0.169 at ε = 2Δ",
    "foulds-theorem-2": "2.083 at n = 5, 2.552 at 20 and 2.772 at 2,000",
    "foulds-theorem-3": "B = 1.609 and C = 1.386",
    "foulds-section-3-1": "1.386 at a₀ = 0.2, 2.944 at a₀ = 0.05",
    "foulds-section-3-2": "0.5000 (N = 1), 0.7297 (N = 10)",
    "foulds-lemma-1": "N times it tends to 4.38. At p = 0 it tends to 0.23",
    "foulds-corollary-2": "gaussian 2.25, 2; multivariate-gaussian 5.34, 5",
    "foulds-proposition-3": "at most 0.500 of (1 + e^ε) times",
    "foulds-section-4-1": "loses 7.089, and 2Δ of that joint law is 6.089",
    "foulds-section-4-metropolis": "loses 4.386 of 2Δ = 4.394",
}
QUICK = ("foulds-theorem-1", "foulds-theorem-3", "foulds-lemma-1", "foulds-section-4-1")


def check(name, setting):
    found = ALL[name].run(setting)
    assert [x for x in found.claims if not x.as_expected] == []
    assert {x.by for x in found.claims} <= {"paper", "dpjax"}
    assert NUMBERS.get(name, "") in found.paragraph
    for table in found.tables.values():
        assert len({len(column) for column in table.values()}) == 1


@pytest.mark.parametrize("name", QUICK)
def test_claims_come_out_as_known(name, setting):
    check(name, setting)


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted({*ALL} - {*QUICK}))
def test_all_claims_come_out_as_known(name, setting):
    check(name, setting)


def test_every_statement_has_a_name_of_its_own():
    assert len(ALL) == len(REPRODUCTIONS) + len(FOULDS_STATEMENTS)
    assert {*NUMBERS} <= {*ALL}


def test_an_efficiency_of_one_is_that_of_the_share_of_successes(rng):
    """The control variate has mean 1, and takes nothing else away."""
    counts = draw_counts(rng, np.array([50, 5000]), 200)
    share = counts[..., 1] / counts.sum(axis=-1)
    assert np.allclose(excess(share, counts), 1)
    doubled = excess(2 * share - 0.3, counts)  # twice as far: 4 times the square
    plain = (share - 0.3) ** 2 * np.array([50, 5000]) / 0.21
    assert np.allclose(doubled, 4 * plain - (plain - 1))


def test_errors_of_a_ratio_of_means_of_the_same_data(rng):
    """Proportional means have none; else it is the spread of the ratio."""
    below = 5 + rng.normal(size=(2000, 100, 1))
    assert paired_error(3 * below[0], below[0]) == pytest.approx([0], abs=1e-12)
    above = below + 0.1 * rng.normal(size=below.shape)
    ratios = above.mean(axis=1) / below.mean(axis=1)
    typical = np.mean([paired_error(*x) for x in zip(above, below, strict=True)])
    assert typical == pytest.approx(ratios.std(), rel=0.1)  # 6 of its own errors


def test_sensitivities_of_table_1_are_those_of_the_formulas():
    found = {(row[0], row[1]): row[3:] for row in sensitivities()}
    assert len(found) == 2 * len(CASES)
    width, change = np.log(0.975 / 0.025), 2 * 3**2 + 3 * 6  # of the Gaussian: z, z²
    assert found["Bernoulli", "replace-one"] == pytest.approx((1, width, 2 * width))
    assert found["Bernoulli", "add-remove"] == pytest.approx((1, width, width))
    levels = [
        found["categorical, 3 levels", x][0] for x in ("replace-one", "add-remove")
    ]
    assert levels == [2, 1]
    assert found["Gaussian mean, ± 3", "replace-one"] == pytest.approx((6, 18, change))


def test_ops_is_wider_on_every_table_of_figure_1():
    """By brute force on a coarser grid, for every number of successes."""
    ratios, weights = widening()
    assert weights.sum() == pytest.approx(1)
    p = np.linspace(0.2, 0.8, 60_001)
    for ones in (0, 6, N):
        logs = (ones * np.log(p) + (N - ones) * np.log1p(-p)) / TEMPERATURE
        masses = np.exp(logs - logs.max())
        masses /= masses.sum()
        sd = np.sqrt(masses @ p**2 - (masses @ p) ** 2)
        exact = np.sqrt((1 + ones) * (1 + N - ones) / (N + 3)) / (N + 2)
        assert ratios[ones] == pytest.approx(sd / exact, rel=1e-4)


def test_a_divergence_is_the_integral():
    """E KL of Lemma 1 at N = 3 by quadrature."""
    p = (np.arange(20_000) + 0.5) / 20_000
    logs = [k * np.log(p) + (3 - k) * np.log1p(-p) for k in range(4)]
    logs = [x - np.log(np.exp(x).mean()) for x in logs]
    kl = np.array([[(np.exp(a) * (a - b)).mean() for a in logs] for b in logs])
    chances = np.array([0.343, 0.441, 0.189, 0.027])
    noise = np.exp(-np.abs(np.arange(-45, 46.0)))
    noise /= noise.sum()
    expected = sum(
        chances[k] * q * kl[k, np.clip(k + z, 0, 3)]
        for k in range(4)
        for z, q in zip(range(-45, 46), noise, strict=True)
    )
    assert _coin(3, 0.3) == pytest.approx(expected, rel=1e-4)
    assert 10**5 * _coin(10**5, 0.3) == pytest.approx(LIMIT, rel=1e-3)


def test_a_collapsed_pass_of_one_label_tells_nothing():
    """With the emission summed out, one record's value is as likely as the other."""
    assert collapsed_pass(1, (0.99, 0.01), 0.1) == pytest.approx((0, 0))
    loss, twice = collapsed_pass(2, (0.5, 0.5), 1.0)
    assert loss == pytest.approx(0.713, abs=1e-3)
    assert twice == pytest.approx(2 * np.log(2))


def test_losses_of_laws_by_hand():
    one, other = np.array([0.5, 0.5]), np.array([0.8, 0.2])
    assert largest(np.log(one), np.log(7 * other)) == pytest.approx(np.log(2.5))
    assert hockey_stick(one, other, 2.0) == pytest.approx(0.1)
    assert hockey_stick(other, one, 2.0) == pytest.approx(0.1)  # whichever is first
    assert hockey_stick(one, other, 1.0) == pytest.approx(0.3)
    assert len([*replaced(3, 2)]) == 9 * 2 * 2 / 2
    assert all(
        sum(a != b for a, b in zip(*x, strict=True)) == 1 for x in replaced(3, 2)
    )


def test_runs_are_repeated_by_their_seed(setting):
    first, second = (ALL["foulds-corollary-2"].run(setting) for _ in range(2))
    assert first.tables == second.tables
