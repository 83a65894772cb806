"""Audits: planted faults are caught, correct mechanisms pass, bounds are honest.

A correct mechanism fails one of these tests once in a million runs.
"""

import json
import math
import pathlib
import re
from fractions import Fraction

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.audits import Verdict, audit_exactly, case_names, largest_loss, neighbouring
from dpjax.audits.drawing import Outputs
from dpjax.audits.events import loss_bounds
from dpjax.audits.noisy_cases import NOISY_CASES
from dpjax.audits.scores import _lowest_bit, by_bits
from dpjax.audits.subjects import rows_of_noise
from dpjax.cli.main import main
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.privacy import ApproximateDP, Sensitivity, budget_of
from tests.helpers.printed import documented

DOCS = pathlib.Path(__file__).parents[1] / "docs"
ONE, OTHER = np.array([1, 0], np.int32), np.array([0, 1], np.int32)


def noise(rng, size, epsilon, sensitivity=2.0):
    """Discrete Laplace noise, fast: the difference of two geometric variables."""
    p = 1 - math.exp(-epsilon / sensitivity)
    return rng.geometric(p, (size, 2)) - rng.geometric(p, (size, 2))


def in_numpy(mechanism):
    def release(key, data, size):
        rng = np.random.default_rng(np.asarray(jr.key_data(key)))
        return mechanism(rng, data, size)

    return release


def laplace_in_floats(rng, data, size):
    return data.astype(np.float32) + rng.laplace(0, 2, (size, 2)).astype(np.float32)


CORRECT = {
    "discrete Laplace": lambda rng, data, size: data + noise(rng, size, 1),
    "clipped after the noise": lambda rng, data, size: np.clip(
        data + noise(rng, size, 1), 0, 3
    ),
    "no data at all": lambda rng, data, size: noise(rng, size, 1),
    "a constant": lambda rng, data, size: np.zeros((size, 2), np.float32),
}
FAULTS = {
    "sensitivity halved": lambda rng, data, size: data + noise(rng, size, 1, 1.0),
    "ε doubled": lambda rng, data, size: data + noise(rng, size, 2),
    "noise clipped": lambda rng, data, size: data + np.clip(noise(rng, size, 1), -3, 3),
    "key reused for all numbers": lambda rng, data, size: (
        data + noise(rng, size, 1)[:, :1]
    ),
    "float noise": laplace_in_floats,
    "NaN let through": lambda rng, data, size: np.where(
        (data == 1) & (rng.random((size, 2)) < 0.01), np.nan, noise(rng, size, 1)
    ),
    "a bit that is the data's": lambda rng, data, size: 2 * noise(rng, size, 1) + data,
}


@pytest.mark.parametrize("name", CORRECT)
def test_correct_mechanisms_pass(name, key):
    verdict = run(key, CORRECT[name], draws=20_000)
    assert verdict.consistent
    assert str(verdict).startswith("consistent with ε = 1: the loss is at least")


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_caught(name, key):
    verdict = run(key, FAULTS[name], draws=20_000)
    assert not verdict.consistent
    assert str(verdict).startswith("violates ε = 1: the loss is at least")


def run(key, mechanism, **options):
    options = {"epsilon": 1, "batched": True} | options
    own = jr.clone(key)  # the same draws may be attacked in many ways
    return dp.audit(own, in_numpy(mechanism), ONE, OTHER, **options)


def test_a_halved_sensitivity_shows_in_few_draws(key):
    """Of one number, at best 460 draws judge it; half are needed to choose how."""

    def release(rng, data, size):
        return data[:1] + noise(rng, size, 2, 1.0)[:, :1]

    assert not run(key, release, draws=1500).consistent


def test_events_are_told_in_words(key):
    reused = run(key, FAULTS["key reused for all numbers"], draws=2000)
    assert re.search(r"output\[\d\] [-+] output\[\d\] [≥<]", reused.event)
    floats = run(key, FAULTS["float noise"], draws=20_000)
    assert "lowest bit of output[" in floats.event
    blind = run(
        key, FAULTS["float noise"], draws=20_000, scores=("value", "likelihood")
    )
    assert blind.loss <= 1


def test_a_bound_is_wrong_as_rarely_as_it_says():
    """Exactly: over all pairs of binomial counts at a loss of exactly ln 2."""
    draws, level = 60, 0.05
    seen = np.arange(draws + 1)
    first, second = np.meshgrid(seen, seen, indexing="ij")
    pure = budget_of(1, "replace-one")
    bounds = loss_bounds(first, second, (draws, draws), level, pure)
    from_p, from_q = (binomial(draws, p) for p in (0.4, 0.2))
    wrong = (np.outer(from_p, from_q) * (bounds > math.log(2))).sum()
    assert 0 < wrong <= level
    silent = ApproximateDP(Fraction(1, 2), Fraction(0), "replace-one")
    deltas = loss_bounds(first, second, (draws, draws), level, silent)
    exact = 0.4 - math.exp(0.5) * 0.2
    wrong = (np.outer(from_p, from_q) * (deltas > exact)).sum()
    assert 0 < wrong <= level
    none = loss_bounds(np.array([0]), np.array([3]), (draws, draws), level, pure)
    assert none == -math.inf


def binomial(n, p):
    return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


@pytest.mark.thorough
def test_compiled_releases_of_trees_and_known_laws(key):
    """A tree of arrays; draws and blocks that do not fit; the law, if it is known."""
    halved = Laplace(2.0, Sensitivity(2, "replace-one"))

    def release(key, data):
        return {"counts": halved.sample(key, data), "n": jnp.asarray(1)}

    def log_prob(output, data):
        return halved.log_prob(output["counts"], data)

    options = {"epsilon": 1, "draws": 3001, "block": 1000, "log_prob": log_prob}
    options |= {"scores": ("likelihood",)}
    found = dp.audit(key, release, ONE, OTHER, **options)
    assert not found.consistent
    assert found.loss < 2
    assert "log-likelihood ratio" in found.event
    again = dp.audit(jr.clone(key), release, ONE, OTHER, **options)
    assert (again.loss, again.event) == (found.loss, found.event)


def test_delta_pays_for_what_is_rare(key):
    def release(rng, data, size):
        shown = rng.random((size, 1)) < 0.01
        return np.where(shown, data + 100, noise(rng, size, 1))

    assert not run(key, release, draws=20_000).consistent
    for delta, consistent in ((Fraction(1, 50), True), (Fraction(1, 1000), False)):
        claim = ApproximateDP(Fraction(1), delta, "replace-one")
        found = run(key, release, epsilon=None, claim=claim, draws=20_000)
        assert found.consistent == consistent
        assert f"ε = 1, δ = {float(delta):g}: the loss is at least" in str(found)


def test_low_bits_of_floats():
    values = np.array([1.0, 0.5, 3.0, 0.75, 0.0, -6.0, 2.0**-24 * 5, np.inf])
    expected = [0, -1, 0, -2, np.inf, 1, -24, np.inf]
    for dtype in (np.float32, np.float64):
        np.testing.assert_array_equal(_lowest_bit(values.astype(dtype)), expected)
    outputs = Outputs.of(np.array([[5], [6], [-1]], np.int32))
    scores = {score.name: score.of(outputs) for score in by_bits((outputs, outputs))}
    assert scores["low 2 bits of output[0] = 1"].tolist() == [True, False, False]
    assert scores["low 2 bits of output[0] = 3"].tolist() == [False, False, True]


def test_enumeration_finds_the_whole_loss_and_no_more():
    """Counts of a coin: ε exactly; with half of the sensitivity 2 ε."""
    for factor, expected in ((1, 1.0), (2, 2.0)):
        noisy = DiscreteLaplace.calibrate(factor, Sensitivity(2, "replace-one"))
        row = rows_of_noise(noisy)

        def law(records, row=row):
            ones = int(records.sum())
            return [row(len(records) - ones), row(ones)]

        verdict = audit_exactly(law, neighbouring((2,), 2, "replace-one"), epsilon=1)
        assert verdict.exact
        assert verdict.loss == pytest.approx(expected, abs=1e-9)
        assert verdict.consistent == (factor == 1)


def test_impossible_outputs_are_an_infinite_loss():
    laws = {0: [[Fraction(1, 2), Fraction(1, 2), 0]], 1: [[1, 1, 2]], 2: [[1, 1, 0]]}
    assert largest_loss(laws.get, [(0, 1)])[0] == math.inf
    assert largest_loss(laws.get, [(1, 0)])[0] == math.inf
    assert largest_loss(laws.get, [(0, 2)]) == (0.0, None)
    with pytest.raises(ValueError, match="same outputs"):
        largest_loss({0: [[1]], 1: [[1, 2]]}.get, [(0, 1)])
    with pytest.raises(ValueError, match="same parts"):
        largest_loss({0: [[1]], 1: []}.get, [(0, 1)])
    for weights in ([-1, 2], [math.nan, 1], [math.inf, 1], [0, 0]):
        with pytest.raises(ValueError, match="`law` must give weights >= 0"):
            largest_loss({0: [weights], 1: [[1, 1]]}.get, [(0, 1)])
    with pytest.raises(ValueError, match="`pairs` must hold at least one"):
        audit_exactly({}.get, iter([]), epsilon=1)
    infinite = Verdict("ε = 1", 1.0, math.inf, "x")
    assert json.loads(json.dumps(infinite.to_dict(), allow_nan=False))["loss"] is None


def test_neighbours_of_a_tiny_domain_are_all_there():
    replaced = list(neighbouring((2, 2), 2, "replace-one"))
    assert len(replaced) == 4 * 6  # another record, and two of four values
    assert all(a.shape == b.shape == (2, 2) for a, b in replaced)
    added = list(neighbouring((3,), 1, "add-remove"))
    assert {(len(a), len(b)) for a, b in added} == {(1, 2)}
    assert len(added) == 9
    assert [len(a) for a, _ in neighbouring((3,), 0, "add-remove")] == [0] * 3


BAD = {
    "`epsilon`": {"epsilon": 0},
    "`draws`": {"draws": 999},
    "`claim`": {"claim": budget_of(1, "replace-one")},
    "`confidence`": {"confidence": 1.0},
    "`scores`": {"scores": ("luck",)},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_one_clear_line(message, key):
    with pytest.raises(ValueError, match=message) as error:
        run(key, CORRECT["a constant"], **BAD[message])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("release", "message"),
    [
        (lambda key, data, size: (), "at least one number"),
        (lambda key, data, size: np.full((size, 1), "a"), "real numbers"),
        (lambda key, data, size: np.zeros((3, 1)), "as many draws"),
    ],
)
def test_releases_that_give_no_numbers(release, message, key):
    with pytest.raises(ValueError, match=message):
        dp.audit(key, release, ONE, OTHER, epsilon=1, batched=True, draws=1000)


def test_a_verdict_shows_no_arrays(key):
    verdict = run(key, CORRECT["a constant"], draws=1000)
    assert verdict.event == "nothing tells them apart"
    assert "array" not in repr(verdict)
    assert json.loads(json.dumps(verdict.to_dict()))["draws"] == 1000


@pytest.mark.thorough
def test_the_command(capsys):
    """Rows, JSON, exit status; `--all` knows that the simulation must be caught."""
    words = ["audit", "--draws", "20000", "--mechanism"]
    assert main([*words, "sums-poisson"]) == 0
    assert capsys.readouterr().out.count("consistent") == 2
    assert main([*words, "simulated-laplace", "--json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    (row,) = shown["audits"]
    assert shown["passed"] is False
    assert row["mechanism"] == "simulated-laplace"
    assert row["expected"] is True
    assert "lowest bit" in row["event"]


def test_all_passes_only_if_the_attack_succeeds(capsys, monkeypatch):
    rows = []
    monkeypatch.setattr("dpjax.cli.audit.audit_suite", lambda *_, **__: rows)
    for loss, grade, status in [
        *((0.9, "exact", 0), (1.1, "exact", 1)),
        *((0.9, "simulation", 1), (6.0, "simulation", 0)),
    ]:
        verdict = Verdict("ε = 1", 1.0, loss, "x", 0.999999, 1000)
        rows[:] = [dp.audits.Audited("m", "replace-one", grade, "draws", verdict)]
        assert main(["audit", "--all"]) == status
        assert main(["audit", "--mechanism", "counts"]) == int(loss > 1)
        words = "VIOLATES" if loss > 1 else "consistent"
        assert words in capsys.readouterr().out
        assert main(["audit", "--all", "--json"]) == status
        (row,) = documented("audit", capsys.readouterr().out)["audits"]
        assert row["consistent"] == (loss < 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "`mechanism` must be one of counts"),
        (["--mechanism", "magic"], "invalid choice: 'magic'"),
        (["--all", "--epsilon", "0"], "`epsilon`"),
        (["--all", "--epsilon", "-1"], "`epsilon`"),
        (["--all", "--draws", "10"], "`draws` must be an integer of at least 1000"),
        (["--mechanism", "counts", "--epsilon", "1e9"], "between 2^-23 and 30"),
    ],
)
def test_bad_words_are_one_clear_line(words, message, capsys):
    try:
        status = main(["audit", *words])
    except SystemExit as stop:
        status = stop.code
    output = capsys.readouterr()
    assert status == 2
    assert output.err.count("\n") == 1
    assert message in output.err


def test_float_noise_of_the_library_is_caught(key):
    """A count of 0 or of 1: what is small has bits that what is near 1 has not."""
    mechanism = Laplace(1.0, Sensitivity(2, "replace-one"))
    found = dp.audit(key, mechanism.sample, ONE, OTHER, epsilon=1, draws=20_000)
    assert found.loss > 4
    assert "lowest bit" in found.event


@pytest.mark.thorough
def test_the_how_to_runs(capsys):
    """Its code, as it is printed; what it prints is what it says."""
    text = (DOCS / "how-to-audit.md").read_text("utf-8")
    cells = re.findall(r"```\{code-cell\} python\n(.*?)```", text, re.DOTALL)
    (code,) = (cell for cell in cells if not cell.startswith("%%"))
    exec(compile(code, "how-to-audit.md", "exec"), {"__name__": "how_to"})
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("consistent with ε = 1")
    assert second.startswith("violates ε = 1")


@pytest.mark.relaxed
@pytest.mark.thorough
@pytest.mark.parametrize("name", case_names())
def test_every_mechanism_of_the_library_is_as_private_as_it_claims(name, key):
    found = list(dp.audits.audit_suite(key, [name], draws=20_000))
    assert all(row.expected for row in found)
    assert len({(row.adjacency, row.method) for row in found}) == len(found)


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", ["1/2", "3"])
def test_the_law_of_every_noise_is_enumerated(epsilon):
    """What the suite finds without a draw: all of ε where sensitivities are tight."""
    for case in NOISY_CASES:
        subject = case.make(Fraction(epsilon), case.adjacency)
        found = audit_exactly(subject.law, subject.pairs, claim=subject.claim)
        loose = (case.name, case.adjacency) == ("sums-gaussian", "replace-one")
        assert found.consistent
        assert found.reached > (0.8 if loose else 0.99)
