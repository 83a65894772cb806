"""No record, exact number or key leaves by a side door: a print, a pickle, a file.

Objects are of two kinds. What is *released* holds no exact number at all. What is
*private* holds some, for who may see the records: it does not print them, and it is not
pickled. Shapes of arrays are shown, and with them how many records there are. Arrays
that a user computed are the user's own, and print themselves.
"""

import copy
import json
import logging
import pathlib
import pickle
import re

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax import event_logs
from dpjax.data.sources import InMemoryTable
from dpjax.families import conjugate_posterior
from dpjax.mechanisms import Laplace
from dpjax.mechanisms.recipes import recipe_of
from dpjax.privacy import Sensitivity
from dpjax.statistics import FourierCoefficients, NetworkCounts, Sufficient
from dpjax.tables.counts import count, pack
from tests.helpers import leaks
from tests.helpers.leaks import REAL, WHOLE, WORD

SCHEMA = dp.Schema({"t": [0, 1], "x": ["a", "b", "c"]})
NET = dp.BayesNet.naive_bayes(SCHEMA, "t")
BINARY = dp.BayesNet.naive_bayes({"t": [0, 1], "x": [0, 1]}, "t")
LINE = (dp.Interval("v", 0, 1e6), dp.Interval("w", 0, 1e6))
LOG = event_logs.event_network(
    dp.Schema({"t": [0, 1], "x": ["a", "b", "c"], "f": [0, 1]}), "x", "t"
)
TIMES = 1409, 271  # few enough for a small program to count them
COUNTED = np.repeat(np.array([[0, 0], [1, 1]], np.uint8), TIMES, axis=0)
SUMMED = np.array([[REAL, WHOLE], [WHOLE, REAL], [WHOLE, WHOLE]])  # any is held out


NUMBERS = "|".join(rf"(?<!\d){y}(?!\d)" for x in TIMES for y in (x - 1, x, x + 1))


# What is printed and pickled


@pytest.fixture(scope="module")
def private(module_rng):
    """Objects that hold records or exact numbers."""
    keys = iter(jr.split(jr.key(module_rng.integers(1 << 31)), 4))
    counted = jnp.asarray(COUNTED)
    statistic = NetworkCounts(BINARY, "all")
    exact = statistic.measure(counted)
    n, bernoulli = len(COUNTED), dp.families.Bernoulli()
    family = Sufficient.of("linear-regression", LINE, "replace-one")
    cells = jnp.full((3, 2, 2), WHOLE)
    network = dp.study.experiments.NetworkExperiment(BINARY, "t", n - 1, "replace-one")
    naive = dp.study.experiments.NaiveBayesExperiment(BINARY, "t", n - 1, "replace-one")
    line = dp.study.experiments.RegressionExperiment(family, 2)
    log = dp.study.experiments.HiddenMarkovExperiment(LOG, 1, 1, "add-remove")
    events = np.repeat(np.zeros((1, 3), np.uint8), TIMES[0], axis=0)
    return {
        "packed records": pack(COUNTED),
        "trial of a network": jax.jit(network.prepare)(next(keys), counted),
        "trial of naive Bayes": jax.jit(naive.prepare)(next(keys), counted),
        "trial of a regression": jax.jit(line.prepare)(
            next(keys), jnp.asarray(SUMMED, float)
        ),
        "trial of an event log": jax.jit(log.prepare)(next(keys), jnp.asarray(events)),
        "cells of an event log": event_logs.CellCounts.of(LOG, cells, 1),
        "posterior of exact counts": dp.posteriors.PlugInPosterior.from_counts(
            BINARY, exact, 1e-3
        ),
        "posterior of exact sums": conjugate_posterior(
            bernoulli, exact[:1].astype(float), jnp.asarray(n, float)
        ),
    }


def test_private_objects_neither_print_nor_pickle_what_they_hold(private):
    for name, thing in private.items():
        for text in (repr(thing), str(thing), f"{thing}", repr({1: [thing]})):
            assert not leaks.shown(text), name
            assert not re.search(NUMBERS, text), name
        with pytest.raises(TypeError, match=r"must not be pickled.*: .*\.$"):
            pickle.dumps(thing)
        assert copy.copy(thing) is thing
        assert copy.deepcopy(thing) is thing
        again = jax.tree.unflatten(*jax.tree.flatten(thing)[::-1])
        assert type(again) is type(thing)


def test_the_private_objects_hold_what_they_do_not_print(private):
    """Power: the canaries are in them."""
    wanted = [y for x in (*TIMES, WHOLE, REAL) for y in (x - 1, x, x + 1)]
    for name, thing in private.items():
        held = [np.asarray(x, float) for x in leaks.leaves(thing) if not is_text(x)]
        found = any(np.isclose(x.reshape(-1, 1), wanted, rtol=1e-5).any() for x in held)
        assert found or name == "packed records", name


def is_text(leaf):
    return isinstance(leaf, str | bytes)


def test_parameters_of_exact_numbers_do_not_print_them(private):
    parameters = private["posterior of exact sums"].parameters
    assert repr(parameters) in (
        "BetaParameters(successes=f32[], failures=f32[])",
        "BetaParameters(successes=f64[], failures=f64[])",
    )
    assert "2.0" in repr(type(parameters)(2.0, 3.0))  # a prior of one's own


def test_what_schema_check_found_is_for_the_curator_alone():
    found = SCHEMA.check({"t": [0], "x": [WORD]})
    assert repr(found).startswith("NOT PRIVATE, for the curator alone.")
    with pytest.raises(TypeError, match="must not be pickled"):
        pickle.dumps(found)


def test_tables_on_their_way_do_not_print_themselves():
    assert not leaks.shown(repr(InMemoryTable({"x": [WORD, WHOLE, REAL]})))


def test_nobody_gets_a_second_budget_by_a_copy():
    ledger = dp.Ledger(1, adjacency="add-remove")
    with pytest.raises(TypeError, match="a copy would be a second budget"):
        pickle.dumps(ledger)
    assert copy.deepcopy({"ledger": ledger})["ledger"] is ledger


def test_the_library_neither_writes_nor_reads_pickles():
    for path in pathlib.Path(dp.__file__).parent.rglob("*.py"):
        assert not re.search(
            r"import (pickle|shelve|dill|joblib|marshal)", path.read_text()
        )


# What is released


SUMS = Sufficient.of("gaussian-mean", LINE[:1], "add-remove", units=4, variance=1)
RATE = Sufficient.of("exponential", LINE[:1], "add-remove")
FEW = COUNTED[-7:]
MORE = pytest.mark.thorough


@pytest.mark.parametrize(
    ("what", "records", "mechanism", "options"),
    [
        (BINARY, COUNTED, "laplace", {}),
        pytest.param(BINARY, COUNTED, "fourier", {}, marks=MORE),
        pytest.param(SUMS, SUMMED[:, :1], "laplace", {}, marks=MORE),
        (BINARY, FEW, "posterior-sample", {"units": 10}),
        pytest.param(BINARY, FEW, "map", {"units": 10}, marks=MORE),
        (BINARY, FEW, "map-cells", {"units": 3, "omega": "1/4"}),
        (RATE, SUMMED[:, :1], "posterior-sample", {"points": 20}),
    ],
)
def test_releases_hold_nothing_exact(what, records, mechanism, options, tmp_path):
    released = dp.release(
        what,
        records,
        epsilon="1/2",
        adjacency="add-remove",
        mechanism=recipe_of(mechanism, options),
    )
    exact = np.asarray(released.statistic.measure(jnp.asarray(records)))
    printed = repr(released) + str(released) + f"{released}"
    assert not leaks.shown(printed)
    assert not re.search(NUMBERS, printed)
    assert "Array" not in repr(released)
    assert released.n is None
    for part in (released.mechanism, released.statistic, released.schema):
        assert_holds_nothing_exact(part, exact, records)
    released.save(tmp_path / "release.json")
    document = json.loads((tmp_path / "release.json").read_text())
    document["content"].pop("values")  # noise is part of them
    assert_holds_nothing_exact(document, exact, records)
    with pytest.raises(TypeError, match=r"`save` it to a file"):
        pickle.dumps(released)
    assert copy.deepcopy(released) is released


def assert_holds_nothing_exact(thing, exact, records):
    """No exact statistic, no records and no number of them."""
    held = [np.asarray(x) for x in leaks.leaves(thing) if not is_text(x)]
    texts = [str(x) for x in leaks.leaves(thing) if is_text(x)]
    for array in held:
        assert array.shape != records.shape
        if array.size == exact.size > 1:
            assert not np.array_equal(array.ravel(), exact)
        if array.ndim == 0:
            assert array not in (len(COUNTED), *TIMES, REAL, WHOLE)
    assert not any(WORD in text or str(REAL) in text for text in texts)


def test_public_facts_may_be_pickled():
    """Networks, statistics and mechanisms: what processes send each other."""
    statistic = NetworkCounts(NET)
    mechanism = Laplace(1.0, statistic.sensitivity("add-remove"))
    for public in (SCHEMA, NET, statistic, mechanism):
        assert pickle.loads(pickle.dumps(public)) == public


# Files, programs, logs


def test_files_and_logs_of_a_sweep_hold_no_record_and_no_key(tmp_path, caplog):
    words = np.array([WHOLE, 27182], np.uint32)
    key = jr.wrap_key_data(jnp.asarray(words), impl="threefry2x32")
    mechanism = Laplace(jnp.asarray([0.5, 1.0]), Sensitivity(1, "add-remove"))

    def experiment(key, mechanism, data):
        return (
            mechanism.sample(key, data["counts"]).sum()
            + data["line"].max().astype(float) * 0
        )

    data = {"counts": np.array([WHOLE, 27182], np.int32), "line": np.float32([REAL])}
    with caplog.at_level(logging.DEBUG):
        result = dp.sweep(
            key,
            experiment,
            data,
            mechanisms=mechanism,
            epsilons=["0.5", 1],
            repeats=3,
            checkpoint=tmp_path / "sweep",
        )
    content = (tmp_path / "sweep").read_bytes()
    secrets = [
        np.array([x], kind) for x in (WHOLE, 27182) for kind in ("i4", "i8", "f4")
    ]
    for secret in (*secrets, words, np.float32([REAL]), np.float64([REAL])):
        assert secret.tobytes() not in content
    header = content.split(b"\n")[0].decode()
    assert not leaks.shown(header + repr(result) + str(result) + caplog.text)


@pytest.fixture
def programs(tmp_path):
    """Texts of all programs that are compiled meanwhile."""
    jax.config.update("jax_dump_ir_to", str(tmp_path / "programs"))
    yield lambda: [x.read_text() for x in (tmp_path / "programs").rglob("*.mlir")]
    jax.config.update("jax_dump_ir_to", "")


def constants_of_length(n, text):
    """Constants with an axis of so many entries that are not all the same."""
    found = re.findall(r"dense<(\[|\"0x)[^>]*> : tensor<([0-9x]*)x\w+>", text)
    return [shape for _, shape in found if str(n) in shape.split("x")]


N = 1231  # an axis that nothing else has


def work_on_counts(records, key):
    event_logs.event_counts(LOG, np.concatenate([records, records[:, :1]], axis=1))
    dp.release(BINARY, records, epsilon="1/2", adjacency="add-remove")
    network = dp.study.experiments.NetworkExperiment(BINARY, "t", 1000, "replace-one")
    jax.jit(network.prepare)(key, records)


def work_on_more(records, key):
    counts = NetworkCounts(BINARY, "all").measure(jnp.asarray(records))
    naive = dp.posteriors.PlugInPosterior.from_counts(BINARY, counts)
    naive.predict_proba(records, "t")
    naive.log_likelihood(records)
    naive.update(records)
    sums = Sufficient.of("bernoulli", BINARY.variables[:1], "replace-one")
    dp.release(sums, records[:, :1], epsilon=1, adjacency="replace-one")
    count(pack(records), BINARY.layout)
    FourierCoefficients.of_network(BINARY, "replace-one").measure(jnp.asarray(records))
    network = dp.study.experiments.NetworkExperiment(BINARY, "t", 1000, "replace-one")
    dp.sweep(
        key,
        network,
        records,
        mechanisms=network.mechanisms(["laplace"], [1]),
        epsilons=[1],
        repeats=2,
        prepare=network.prepare,
    )
    event_logs.charged_hidden_markov(
        key,
        LOG,
        np.concatenate([records, records[:, :1]], axis=1),
        2,
        epsilon=1,
        adjacency="add-remove",
        sweeps=4,
    )


@pytest.mark.parametrize(
    "work", [work_on_counts, pytest.param(work_on_more, marks=MORE)]
)
def test_records_are_arguments_of_programs_not_part_of_them(work, programs, rng, key):
    work(rng.integers(0, 2, (N, 2)).astype(np.uint8), key)
    texts = programs()
    assert any(f"{N}x" in text for text in texts)
    for text in texts:
        assert not constants_of_length(N, text)


def test_records_in_a_closure_would_be_seen_in_the_program(programs, rng):
    """Power of the test above."""
    records = rng.normal(size=N).astype(np.float32)
    jax.jit(lambda x: x * records)(1.0)
    assert any(constants_of_length(N, text) for text in programs())
