"""Errata of the papers: what is printed fails, by the numbers that are known."""

import itertools
import math
import re

import jax
import jax.random as jr
import numpy as np
import pytest
from scipy import integrate, stats

from dpjax import BayesNet, theory
from dpjax.mechanisms import PosteriorSample
from papers import Setting, names, reproduction
from papers.beta import divergence
from papers.errata import REPRODUCTIONS
from papers.errata.beta import clamped, mean_divergence
from papers.errata.figure_1 import _truncated
from papers.networks import NAIVE_BAYES
from tests.helpers.statistical import ALPHA

ERRATA = [one.name for one in REPRODUCTIONS]
CONDITIONS = [f"erratum-{i}" for i in (3, 9, 11, 12, 13, 15)]


def run(name, **setting):
    return reproduction(name).run(Setting(0, quick=True, **setting))


def rows(found, name=""):
    table = found.tables[name]
    return [
        dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)
    ]


def row(found, name="", **keys):
    (one,) = [x for x in rows(found, name) if all(x[k] == v for k, v in keys.items())]
    return one


def near(value, tolerance=5e-4):
    return pytest.approx(value, abs=tolerance)


def test_every_erratum_has_its_number():
    assert [f"erratum-{i}" for i in range(1, len(ERRATA) + 1)] == ERRATA
    assert set(ERRATA) <= set(names())


@pytest.mark.parametrize("name", ["erratum-5", "erratum-9"])
def test_claims_come_out_as_known(name):
    check(name)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [x for x in ERRATA if x not in ("erratum-5", "erratum-9")]
)
def test_claims_of_all_errata_come_out_as_known(name):
    check(name)


def check(name):
    """A claim of the paper fails, one of ours holds, and all by a wide margin.

    But for erratum 9, a caution, and those that are conditions which the paper states,
    or meets.
    """
    found = run(name)
    for claim in found.claims:
        assert claim.as_expected, claim
        if claim.expected != "undecided":
            assert abs(claim.standard_errors) > 5, claim
        assert "|" not in claim.words, "it would end the table's cell"
    by = {(claim.by, claim.verdict) for claim in found.claims}
    assert ("dpjax", "holds") in by
    fails = [x for x in found.claims if (x.by, x.verdict) == ("paper", "fails")]
    assert len(fails) == (name not in CONDITIONS), "each fault once"
    assert re.search(r"\*\*([Cc]orrected|What holds)", found.paragraph)
    assert all(len(set(map(len, x.values()))) == 1 for x in found.tables.values())


@pytest.mark.thorough
def test_stealth(key):
    """E1, and its cells against the library's own elimination."""
    found = run("erratum-1")
    draws = 100_000
    for t, chance in ((0.1, 0.0), (0.2, 0.0025), (0.3, 0.115)):
        one = row(found, cells="full table", t=t)
        assert one["claimed"] == near(-math.expm1(-t))
        assert one["measured"] == near(chance, 0.006)
    few = row(found, cells="families", t=0.02)
    assert (few["claimed"], few["measured"]) == (near(0.0198), near(0.0165, 0.0025))
    assert row(found, t=2.0)["measured"] == 0
    keys = iter(jr.split(key, 2))
    for cells, t, kind in (("full table", 0.3, "full"), ("families", 0.05, "families")):
        other = theory.stealth_probability(next(keys), NAIVE_BAYES, t, 20_000, kind)
        mine = row(found, cells=cells, t=t)["measured"]
        spread = math.sqrt(mine * (1 - mine) * (1 / draws + 1 / 20_000))
        assert abs(mine - other) < 5 * spread


@pytest.mark.thorough
def test_deviation_of_the_divergence():
    """E2: \"two roots\" is a network with 34 rows, naive Bayes has 33."""
    found = run("erratum-2")
    for name, limits in (
        ("naive Bayes", (152.3, 198.6, 3297.9)),
        ("two roots", (154.6, 201.6, 3347.5)),
    ):
        one = row(found, network=name)
        given = one["printed"], one["product"], one["corrected"]
        assert given == pytest.approx(limits, rel=1e-3)
        assert 200 < one["excess"] < 300
        assert one["beyond_product"] > 0.05
    means = found.tables["mean"]["mean_divergence"]
    assert (means[2], means[28]) == (near(6.123), near(6.123))
    assert means[0] == near(max(means), 1e-12)  # both ends are alike
    assert means[0] == near(11.270, 2e-3)
    assert found.tables["mean"]["refined_bound"][0] == near(5.176)
    for coin in ("coin", "coin, α = 2"):  # both counts at their other end
        beyond = row(found, network=coin)["beyond_printed"]
        assert beyond == near(0.25 * math.exp(-1), 1e-9)
    assert row(found, network="naive Bayes, zeros, α = 2")["beyond_printed"] > 0.15


@pytest.mark.thorough
def test_lipschitz_constants_of_networks():
    found = run("erratum-3")
    one = row(found, first="00", second="10")
    ln9 = math.log(9)
    assert one["printed"] == near(ln9)
    assert one["child_alone"] == near(ln9)
    assert (one["log_ratio"], one["on_families"]) == (near(2 * ln9), near(2 * ln9))
    coins = found.tables["two-coins"]
    assert coins["loss"][-1] == near(4 * ln9)
    assert coins["loss_of_beta"][-1] == near(8.598)
    theta = np.linspace(0.1, 0.9, 200_001)  # three records: by quadrature
    logs = np.stack([s * np.log(theta) + (3 - s) * np.log1p(-theta) for s in range(4)])
    laws = logs - np.log(np.trapezoid(np.exp(logs), theta, axis=1))[:, None]
    loss = 2 * np.abs(np.diff(laws, axis=0)).max()
    assert coins["loss_of_beta"][coins["n"].index(3)] == pytest.approx(loss, rel=1e-6)


@pytest.mark.thorough
def test_densities_and_lemma_4():
    """E4 and E7."""
    one = row(run("erratum-4"), n=1000)
    assert one["density"] == near(4.16, 5e-3)
    assert one["variation"] == near(0.0253, 1e-4)
    assert one["loss_of_algorithm_3"] == near(3.71, 5e-3)
    missed = row(run("erratum-7"), epsilon=5)
    assert (missed["missed"], missed["printed"]) == (near(0.279), near(0.173))


def test_random_scans():
    """E5: the loss does not depend on N, and the formula does."""
    found = run("erratum-5")
    for n, q in ((2, 1), (4, 1), (5, 2), (20, 1)):
        one = row(found, what="shown", N=n, Q=q)
        assert one["loss"] == near(2.1972, 1e-4)
        assert one["printed"] == near(4 * math.log(9) * q / n)
    assert one["printed"] == near(0.4394, 1e-4)
    again = row(found, what="shown, with replacement", N=2, Q=6)
    assert again["loss"] == pytest.approx(math.log(9) + 4 * math.log(5))


@pytest.mark.thorough
def test_accuracy_of_one_sample():
    """E6: about .58, .67, .80 and .89, it was said; measured with 4,000 repeats."""
    found = run("erratum-6")
    for epsilon, accuracy, said in (
        (1.0, 0.5790, 0.58),
        (2.0, 0.6524, 0.67),
        (5.0, 0.7926, 0.80),
        (10.0, 0.8753, 0.89),
    ):
        one = row(found, curve="sampler, one sample", epsilon=epsilon)
        assert one["accuracy"] == near(accuracy, 4 * one["standard_error"])
        assert accuracy == near(said, 0.02)
    noisy = row(found, curve="Laplace (Algorithm 1)", epsilon=10.0)
    assert noisy["accuracy"] == near(0.935, 4 * noisy["standard_error"])


@pytest.mark.thorough
def test_the_sampler_draws_as_the_librarys(key, rng):
    omega, counts, draws = 0.43, np.array([9.0, 2.0]), 20_000
    coin = BayesNet.from_parents({"x": [0, 1]}, {"x": []})
    law = PosteriorSample(coin.layout, 1.0, omega, "replace-one")
    draw = jax.jit(jax.vmap(law.sample, (0, None)))
    theirs = np.asarray(draw(jr.split(key, draws), counts.astype(np.int32)))[:, 1]
    mine, mean = _truncated(np.tile(counts, (draws, 1)), rng.random(draws), omega)
    assert stats.ks_2samp(mine, theirs).pvalue > ALPHA
    assert abs(mine.mean() - mean[0]) < 5 * mine.std() / math.sqrt(draws)


@pytest.mark.thorough
def test_noise_in_cells():
    found = run("erratum-8")
    assert row(found, network="naive Bayes of 17")["ratio"] == near(1, 1e-9)
    assert row(found, network="clique of 5")["ratio"] ** 2 == near(32 / 25, 1e-9)
    assert row(found, network="clique of 8")["ratio"] ** 2 == near(4, 1e-9)
    dense = row(found, network="10 variables, ≤ 3 parents")
    assert (dense["remark"], dense["ratio"]) == (near(0.5, 1e-9), near(1.6, 1e-9))
    shares = found.tables["density"]["share"]  # 2^d (11 - d) of 10 · 2^(1 + d)
    assert shares == pytest.approx([(11 - d) / 20 for d in range(10)])


@pytest.mark.thorough
def test_what_the_support_shows():
    found = run("erratum-9")
    assert row(found, n=1)["usual"] == math.inf
    assert row(found, "staying", ones=4)["usual"] == near(1 - 9 / 11)
    assert row(found, "staying", ones=5)["usual"] == 0
    gaps = row(found, "gaps", loss=1.0)  # against the matrix of the chain itself
    theta = np.linspace(0.05, 0.95, 19)
    logs = (15 * np.log(theta) + 35 * np.log1p(-theta)) / (2 * math.log(19))
    chain = np.zeros((19, 19))
    for i, j in itertools.product(range(19), repeat=2):
        if abs(i - j) != 1:
            continue
        chain[i, j] = 1 / (1 + math.exp(logs[i] - logs[j])) / 2
    chain += np.diag(1 - chain.sum(axis=1))
    second = np.sort(np.linalg.eigvals(chain).real)[-2]
    assert gaps["barker"] == pytest.approx(1 - second, rel=1e-6)
    assert gaps["library"] > gaps["lazy"] > gaps["barker"]
    weak = row(found, "gaps", loss=0.1)
    assert weak["library"] > weak["barker"] > weak["lazy"]
    months = row(run("erratum-10"), n=1)
    # one event: its month shows; of 5 replacements 1 leaves it where it was
    assert (months["pairs"], months["by_empty_months"]) == (6 * 5, 6 * 4)
    assert (months["by_near_empty_months"], months["largest_change"]) == (0, 2)


@pytest.mark.thorough
def test_parts_by_value():
    found = run("erratum-11")
    for one in rows(found):
        assert one["loss_by_index"] <= 2
        assert one["range"] <= one["loss_by_value"] <= one["sound"] == 2 * one["range"]


@pytest.mark.thorough
@pytest.mark.parametrize("counts", [(0, 0), (30, 0), (7, 20)])
def test_mean_divergences_are_those_of_simulated_noise(counts, rng):
    n, scale, draws = 30, 4.0, 200_000
    noisy = np.array(counts) + rng.laplace(0, scale, (draws, 2))
    exact = np.broadcast_to(1.0 + np.array(counts), noisy.shape)
    for top, largest in ((None, n), (n + 40 * scale, np.inf)):
        found = divergence(exact, 1 + np.clip(noisy, 0, largest))
        error = found.std() / math.sqrt(draws)
        mean = mean_divergence(counts, n, scale, top=top)
        assert abs(found.mean() - mean) < 5 * error
    values, weights = clamped(counts[0], n, scale)
    assert weights.sum() == near(1, 1e-12)
    assert weights[values == n].sum() == near(math.exp(-(n - counts[0]) / scale) / 2)


def test_divergence_is_an_integral():
    exact, other = stats.beta(3.0, 1.5), stats.beta(2.0, 7.0)
    x = np.linspace(0, 1, 20_001)[1:-1]
    integral = integrate.simpson(
        exact.pdf(x) * (exact.logpdf(x) - other.logpdf(x)), x=x
    )
    found = divergence(np.array([3.0, 1.5]), np.array([2.0, 7.0]))
    assert float(found) == near(integral, 1e-3)


@pytest.mark.thorough
def test_means_and_clamping():
    found = run("erratum-12")
    one = row(found, epsilon=1.0)
    assert one["empty_row"] == near(2.067, 1e-3)
    assert one["corrected"] > one["row_of_ones"] > one["empty_row"]
    assert [x["probability"] for x in rows(found, "order")][2:] == [near(0.25)] * 3
    largest = found.tables["many"]["ratio"]
    assert [largest[i] for i in (0, 2, 4)] == [
        near(x, 5e-3) for x in (1.42, 1.67, 1.66)
    ]
    clamping = row(run("erratum-13"), scale=5.0)
    assert (clamping["ones_free"], clamping["ones_clamped"]) == (
        near(4.5837),
        near(4.6820),
    )


@pytest.mark.thorough
def test_orders_of_bounds():
    """E18: degrees 0 to 9 by hand. E19: the term that is left out is L₀(1 - δ)c."""
    hub, band = rows(run("erratum-18"))
    assert (hub["average"], hub["m"]) == (9 / 10, 9 + 2**9)
    assert (band["average"], band["m"]) == ((1 + 8 * 2) / 10, 1 + 2 + 8 * 4)
    for one in (hub, band):
        root = math.sqrt(-one["m"] * 101 * math.log(104) * math.log(0.05) / 2)
        assert one["printed"] == pytest.approx(root)
    found = row(run("erratum-19"), c=1e4)["fixed_split"]
    assert found == pytest.approx(2955, abs=0.5)
    assert found == pytest.approx(5000 / (math.log(2) + 1), rel=2e-3)


@pytest.mark.thorough
def test_lipschitz_for_bounded_rates_only():
    for one in rows(run("erratum-14")):
        assert one["log_ratio"] == pytest.approx(2 * one["printed"])


@pytest.mark.thorough
def test_asymptotics(rng):
    inside, edge, outside = [*row(run("erratum-15"), N=100_000).values()][1:]
    heat = 2 * math.log(4)
    assert inside == near(1 + heat, 0.02)
    assert outside == pytest.approx(1e5 * 0.01 / 0.09, rel=0.01)
    assert 3 < edge < 3.4
    wider = row(run("erratum-16"), N=100_000)
    assert wider["posteriors"] == near(heat, 0.005)
    assert wider["errors"] == near((1 + heat) / 2, 0.01)
    outside = run("erratum-17")
    ones = rng.binomial(20, 0.3, 400_000)
    noisy = 1 + np.stack([ones, 20 - ones]) + rng.laplace(0, 2, (2, ones.size))
    share, exact = (noisy <= 0).any(axis=0).mean(), row(outside, N=20)["no_posterior"]
    assert abs(share - exact) < 5 * math.sqrt(exact / ones.size)
    assert row(outside, N=10_000)["times_N"] == near(11.05, 0.02)
