"""Sweeps: each cell's key is its own, and files bring a killed run to the same end."""

import functools
import os
import pathlib
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

import dpjax as dp
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.statistics import NetworkCounts
from dpjax.study.sweeps import checkpoint as files, run as running
from dpjax.study.sweeps.checkpoint import recorded_block
from dpjax.study.sweeps.grid import Grid
from tests.helpers.networks import TINY

pytestmark = pytest.mark.device

NET = TINY["naive Bayes"]
STATISTIC = NetworkCounts(NET)
SENSITIVITY = STATISTIC.sensitivity("replace-one")
RECORDS = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 1]] * 20, np.uint8)
EPSILONS = ["0.1", "1"]


def experiment(key, mechanism, records):
    key_noise, key_number = jr.split(key)
    noisy = mechanism.sample(key_noise, STATISTIC.measure(records))
    number = jr.randint(key_number, (3,), 0, 1000, jnp.int32)
    return {
        "number": number + records[0, 1].astype(jnp.int32),
        "score": jnp.abs(noisy).mean(),
    }


def whole(epsilons):
    return Laplace(np.array([float(x) for x in epsilons]), SENSITIVITY)


def half(epsilons):
    return Laplace(np.array([float(x) / 2 for x in epsilons]), SENSITIVITY)


def swept(key, **options):
    options = {
        "epsilons": EPSILONS,
        "mechanisms": {"whole": whole, "half": half},
        "repeats": 5,
        "block": 2,
        **options,
    }
    return dp.sweep(key, experiment, RECORDS, **options)


@pytest.mark.slow
def test_a_sweep_equals_a_loop(key):
    result = swept(key)
    assert result["number"].shape == (2, 2, 5, 3)
    assert result.dimensions == ("mechanism", "epsilon", "repeat")
    alone = jax.jit(experiment)
    words = Grid.of(None, ("whole", "half"), EPSILONS, 5).keys(key)[0][0]
    keys = jr.wrap_key_data(jnp.asarray(words), impl=jr.key_impl(key))
    for name, (m, make) in zip("ab", enumerate((whole, half)), strict=True):
        for e, r in [(0, 0), (1, 4)]:
            one = Laplace(make(EPSILONS).epsilon[e], SENSITIVITY)
            cell = alone(jr.fold_in(keys[m, e], r), one, RECORDS)
            np.testing.assert_array_equal(
                result["number"][m, e, r], cell["number"], name
            )
            np.testing.assert_allclose(
                result["score"][m, e, r], cell["score"], rtol=1e-5
            )


@pytest.mark.slow
def test_a_cells_key_depends_on_what_it_is_not_where_it_stands(key):
    result = swept(key)
    turned = swept(
        key,
        epsilons=[2, Fraction(1), "0.10"],
        mechanisms={"half": half, "new": whole, "whole": whole},
        repeats=3,
    )
    for here, there in ((0, 2), (1, 0)):
        for e, f in ((0, 2), (1, 1)):
            np.testing.assert_array_equal(
                result["number"][here, e, :3], turned["number"][there, f]
            )
            np.testing.assert_allclose(
                result["score"][here, e, :3], turned["score"][there, f], rtol=1e-5
            )
    keys, shared = Grid.of("ab", "cd", [1, 2, 3], 1).keys(key)
    words = np.concatenate([jr.key_data(keys).reshape(-1, 2), jr.key_data(shared)])
    assert len(np.unique(words, axis=0)) == 14


@pytest.mark.slow
def test_floats_are_bit_equal_at_one_block_size(key):
    few, more, other = swept(key), swept(key, repeats=7), swept(key, block=3)
    for name in few:
        np.testing.assert_array_equal(few[name], more[name][:, :, :5])
    np.testing.assert_array_equal(few["number"], other["number"])
    np.testing.assert_allclose(few["score"], other["score"], rtol=1e-5)


def test_data_sets_and_what_a_repeat_shares(key):
    def prepare(key, data):
        return {"level": data, "shared": jr.normal(key)}

    def see(key, epsilon, data):
        return {**data, "own": jr.normal(key), "budget": epsilon}

    data = {"a": np.float32(3), "b": np.float32(5)}
    options = {"epsilons": [1, 2], "repeats": 4, "prepare": prepare}
    result = dp.sweep(key, see, datasets=data, **options)
    assert result.dimensions == ("dataset", "epsilon", "repeat")
    np.testing.assert_array_equal(result["level"][:, 0, 0], [3, 5])
    np.testing.assert_array_equal(result["budget"][0, :, 0], [1, 2])
    shared = result["shared"]
    np.testing.assert_array_equal(shared[:, 0], shared[:, 1])
    assert np.unique(shared).size == 8
    assert np.unique(result["own"]).size == 16
    alone = dp.sweep(key, see, datasets={"b": data["b"]}, **options)
    np.testing.assert_array_equal(alone["own"][0], result["own"][1])


def test_one_program_serves_any_number_of_repeats(key):
    traces = []

    def counted(key, epsilon, data):
        traces.append(None)
        return jr.laplace(key) / epsilon

    for repeats in (64, 100, 1000):
        dp.sweep(key, counted, 0, epsilons=[1, 2], repeats=repeats, block=64)
    assert len(traces) == 1


def test_means_and_errors_over_repeats(key):
    result = dp.sweep(
        key, lambda k, e, d: jr.laplace(k) / e, 0, epsilons=[1, 2], repeats=20
    )
    values = result["value"].astype(np.float64)
    np.testing.assert_allclose(result.mean("value"), values.mean(1))
    error = values.std(axis=1, ddof=1) / np.sqrt(20)
    np.testing.assert_allclose(result.standard_error("value"), error)
    one = dp.sweep(key, lambda k, e, d: e, 0, epsilons=[1], repeats=1)
    assert np.isnan(one.standard_error("value")).all()


def test_results_go_out_with_their_names(key, tmp_path):
    result = swept(key)
    data = result.to_xarray()
    assert data["score"].dims == ("mechanism", "epsilon", "repeat")
    assert data["number"].dims == ("mechanism", "epsilon", "repeat", "number_0")
    picked = data["number"].sel(mechanism="half", epsilon=1.0)[3]
    np.testing.assert_array_equal(picked, result["number"][1, 1, 3])
    frame = result.to_dataframe()
    assert len(frame) == 20
    row = frame[
        (frame.mechanism == "half") & (frame.epsilon == 1) & (frame.repeat == 3)
    ]
    assert row["number.2"].item() == result["number"][1, 1, 3, 2]
    for name, read in (("a.csv", pd.read_csv), ("a.parquet", pd.read_parquet)):
        result.save(tmp_path / name)
        saved = read(tmp_path / name)
        assert list(saved) == list(frame)
        np.testing.assert_array_equal(saved["mechanism"], frame["mechanism"])
        np.testing.assert_allclose(saved["score"], frame["score"], rtol=1e-6)
    with pytest.raises(ValueError, match=r"`path` must end in .csv or .parquet"):
        result.save(tmp_path / "a.txt")
    assert "mechanism: 2, epsilon: 2, repeat: 5" in repr(result)


@pytest.mark.slow
def test_exact_mechanisms_are_swept_too(key):
    def draw(key, mechanism, records):
        return mechanism.sample(key, STATISTIC.measure(records))

    exact = DiscreteLaplace.calibrate_many(EPSILONS, SENSITIVITY)
    result = dp.sweep(
        key, draw, RECORDS, epsilons=EPSILONS, mechanisms=exact, repeats=400
    )
    noise = result["value"] - np.asarray(STATISTIC.measure(RECORDS))
    scales = np.abs(noise).mean((1, 2))
    np.testing.assert_allclose(scales, [40, 4], rtol=0.1)  # 3200 draws: 5.6 sd
    for mechanisms, got in (
        (exact, "1 where a DiscreteLaplace has 0.1"),
        (whole(EPSILONS), "1 where a Laplace has 0.1: give a function"),
    ):
        with pytest.raises(ValueError, match=f"`epsilons` must be .* got {got}"):
            dp.sweep(
                key,
                draw,
                RECORDS,
                epsilons=[1, "0.1"],
                mechanisms=mechanisms,
                repeats=4,
            )


SCALE = 2.0


def scaled(value):
    return jax.vmap(lambda x: SCALE * x)(value)


@pytest.mark.parametrize("wrap", [lambda x: x, functools.partial], ids=["", "partial"])
def test_a_program_has_the_values_that_its_function_uses_now(key, monkeypatch, wrap):
    inner, traces = 1.0, []

    def experiment(key, mechanism, data):
        traces.append(inner)
        return scaled(data).sum() + inner

    wrapped = wrap(experiment)

    def found():
        result = dp.sweep(key, wrapped, np.ones(3), epsilons=[1], repeats=1)
        return float(result.mean("value")[0])

    assert found() == 7
    before = len(traces)
    monkeypatch.setitem(globals(), "sum", 3)  # a method of this name is used
    assert found() == 7
    assert len(traces) == before
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert found() == 10
    inner = 2.0
    assert found() == 11


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace", "k-norm", "fourier"])
def test_the_mechanisms_of_an_experiment_have_its_budgets(key, name):
    study = dp.study.NetworkExperiment(NET, "t", training=30, adjacency="replace-one")
    options = {"prepare": study.prepare, "repeats": 2, "epsilons": ["1", "2"]}
    made = study.mechanisms([name], ["1", "2"])
    assert len(dp.sweep(key, study, RECORDS, mechanisms=made, **options))
    wrong = study.mechanisms([name], ["1", "3"])
    with pytest.raises(ValueError, match="`epsilons` must be the budgets of"):
        dp.sweep(key, study, RECORDS, mechanisms=wrong, **options)


# Checkpoints.


def test_a_checkpoint_brings_any_interrupted_run_to_the_same_end(key, tmp_path):
    whole, part = tmp_path / "whole", tmp_path / "part"
    expected = swept(key, checkpoint=whole)
    content = whole.read_bytes()
    first = content.index(b"\n") + 1
    size = (len(content) - first) // 3  # of a block
    for length in (first, first + 1, first + size, len(content) - 1, len(content)):
        part.write_bytes(content[:length])
        result = swept(key, checkpoint=part)
        for name in expected:
            np.testing.assert_array_equal(result[name], expected[name])
        assert part.read_bytes() == content
    damaged = bytearray(content)
    damaged[first + size + 20] ^= 1
    part.write_bytes(damaged)
    np.testing.assert_array_equal(
        swept(key, checkpoint=part)["number"], expected["number"]
    )
    assert part.read_bytes() == content
    block = content[first : first + size]
    elsewhere = (7 << 32).to_bytes(8, "little") + block[8:-16]  # no such data set
    part.write_bytes(content + elsewhere + files._digest(elsewhere))
    result = swept(key, checkpoint=part)
    np.testing.assert_array_equal(result["number"], expected["number"])


def test_a_checkpoint_serves_more_and_fewer_repeats(key, tmp_path):
    path = tmp_path / "sweep"
    swept(key, checkpoint=path, block=4)
    size = path.stat().st_size
    more = swept(key, checkpoint=path, repeats=9, block=None)  # the recorded block
    assert path.stat().st_size > size
    few = swept(key, checkpoint=path, repeats=2, block=None)
    for name in more:
        np.testing.assert_array_equal(few[name], more[name][:, :, :2])


@pytest.mark.slow
def test_a_block_is_as_long_as_the_work_of_its_cells_fits_a_cache(key, tmp_path):
    @dataclass(frozen=True)
    class Working:
        bytes_each: int

        def bytes_a_cell(self, data):
            return self.bytes_each * data.shape[0]

        def __call__(self, key, epsilon, data):
            return jr.uniform(key) * epsilon

    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")[:1]), ("repeats",))
    grid = {"epsilons": [1, 2], "repeats": 500, "mesh": mesh}
    chosen = []
    for i, experiment in enumerate((Working(1), Working(1 << 20), Working(1 << 30))):
        path = tmp_path / f"{i}"
        dp.sweep(key, experiment, jnp.zeros(4), checkpoint=path, **grid)
        chosen.append(recorded_block(path))
    assert chosen == [256, 4, 1]


def test_finished_blocks_are_not_computed_again(key, tmp_path, monkeypatch):
    path = tmp_path / "sweep"
    expected = swept(key, checkpoint=path)

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(running.Run, "_start", never)
    np.testing.assert_array_equal(
        swept(key, checkpoint=path)["number"], expected["number"]
    )


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"epsilons": ["0.1", "2"]}, "epsilons, numbers:"),
        ({"block": 3}, "block:"),
        ({"mechanisms": {"whole": whole, "third": half}}, "mechanisms:"),
        ({"mechanisms": {"whole": half, "half": half}}, "numbers:"),
        ({"prepare": lambda key, data: data + np.uint8(0)}, "program:"),
    ],
)
def test_a_checkpoint_of_another_sweep_is_refused(key, tmp_path, change, named):
    path = tmp_path / "sweep"
    swept(key, checkpoint=path)
    content = path.read_bytes()
    with pytest.raises(ValueError, match=f"of one with other {named} give another"):
        swept(key, checkpoint=path, **change)
    assert path.read_bytes() == content


def test_a_checkpoint_says_that_key_or_data_differ(key, tmp_path):
    path = tmp_path / "sweep"
    swept(key, checkpoint=path)
    with pytest.raises(ValueError, match="of one with other key: give"):
        swept(jr.fold_in(key, 1), checkpoint=path)
    options = {"epsilons": EPSILONS, "repeats": 5, "block": 2, "checkpoint": path}
    both = {"whole": whole, "half": half}
    with pytest.raises(ValueError, match="of one with other data: give"):
        dp.sweep(key, experiment, 1 - RECORDS, mechanisms=both, **options)
    key_bytes = np.asarray(jr.key_data(key)).tobytes()
    assert key_bytes not in path.read_bytes()


class Scaled(eqx.Module):
    """A function with numbers of its own, which a program takes as arguments."""

    scale: jax.Array

    def __call__(self, key, epsilon, records):
        return self.scale * records.sum().astype(float)

    def prepare(self, key, records):
        return self.scale * records.astype(float)


@pytest.mark.parametrize("part", ["experiment", "prepare"])
def test_a_checkpoint_says_that_numbers_of_a_function_differ(key, tmp_path, part):
    def run(scale):
        scaled, plain = Scaled(jnp.asarray(scale)), Scaled(jnp.ones(()))
        prepare = scaled.prepare if part == "prepare" else None
        options = {"epsilons": [1], "repeats": 1, "checkpoint": tmp_path / "sweep"}
        chosen = plain if prepare else scaled
        return dp.sweep(key, chosen, RECORDS, prepare=prepare, **options)["value"]

    np.testing.assert_array_equal(run(1.0), RECORDS.sum())
    with pytest.raises(
        ValueError, match="of one with other arrays of the experiment: give"
    ):
        run(2.0)


def test_data_may_hold_keys(key, tmp_path):
    def run(data):
        options = {"epsilons": [1], "repeats": 1, "checkpoint": tmp_path / "sweep"}
        return dp.sweep(key, lambda _, epsilon, own: jr.uniform(own), data, **options)

    np.testing.assert_array_equal(run(key)["value"], run(key)["value"])
    with pytest.raises(ValueError, match="of one with other data: give"):
        run(jr.fold_in(key, 1))


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b'{"format":"x"}\n', b"\xff\n"]
)
def test_a_file_that_is_no_checkpoint_is_left_alone(key, tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="must be one that a sweep wrote"):
        swept(key, checkpoint=path)
    assert path.read_bytes() == content


def test_a_checkpoint_in_use_or_nowhere_is_refused(key, tmp_path):
    path = tmp_path / "sweep"
    swept(key, checkpoint=path)
    with files.FileLock(f"{path}.lock"), pytest.raises(ValueError, match="be in use"):
        swept(key, checkpoint=path)
    with pytest.raises(ValueError, match="be in a folder that can be written"):
        swept(key, checkpoint=tmp_path / "no" / "sweep")


SCRIPT = """
import sys, jax.random as jr, dpjax as dp

def experiment(key, epsilon, data):
    return jr.normal(key, (50_000,)).sum() / epsilon, jr.randint(key, (), 0, 2**30)

result = dp.sweep(
    dp.study_key(3), experiment, 0, epsilons=[1, 2, 3], repeats=400, block=1,
    checkpoint=sys.argv[1] or None,
)
result.save(sys.argv[2])
"""


def start(path, out):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path or ""), str(out)],
        cwd=pathlib.Path(__file__).parents[1],
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[1])},
    )


@pytest.mark.thorough
def test_killing_the_process_changes_nothing(tmp_path):
    path, out, whole = (tmp_path / x for x in ("c", "out.csv", "whole.csv"))
    assert start(None, whole).wait() == 0
    killed = 0
    for wanted in (1, 2, 3):  # let it finish a little more each time
        process = start(path, out)
        while process.poll() is None and not (
            path.exists() and path.stat().st_size > 1000 * wanted
        ):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    assert killed
    assert start(path, out).wait() == 0
    assert out.read_bytes() == whole.read_bytes()


# Bad input.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilons": []}, "`epsilons` must hold at least one"),
        ({"epsilons": [1, "1.0"]}, "`epsilons` must all differ, got 1 twice"),
        ({"repeats": 2**30 + 1}, "`repeats` must be at most 1073741824"),
        ({"epsilons": [0]}, "`epsilons` must be a finite number > 0"),
        ({"mechanisms": {}}, "`mechanisms` must hold at least one"),
        ({"repeats": 0}, "`repeats` must be an integer of at least 1"),
        ({"block": 0}, "`block` must be an integer of at least 1"),
        ({"mechanisms": {"a": Laplace(1.0, SENSITIVITY), "b": whole(["1"])}}, "'b'"),
        ({"datasets": {"a": 1}}, "`data` or `datasets` must be given, and not both"),
    ],
)
def test_wrong_grids_are_refused(key, change, message):
    with pytest.raises(ValueError, match=message):
        swept(key, **change)


def test_outputs_must_have_one_form(key):
    def by_kind(key, mechanism, data):
        return {"a": mechanism["x"]}

    two = {"a": {"x": np.ones(1)}, "b": {"x": np.ones((1, 3))}}
    options = {"epsilons": [1], "repeats": 1}
    with pytest.raises(ValueError, match="for every mechanism, it does not for 'b'"):
        dp.sweep(key, by_kind, 0, mechanisms=two, **options)
    with pytest.raises(ValueError, match="`experiment` must return numbers or arrays"):
        dp.sweep(key, lambda *_: {"a": "text"}, 0, **options)
    with pytest.raises(ValueError, match="for every data set"):
        dp.sweep(
            key, lambda k, e, d: d, datasets={"a": 1.0, "b": np.ones(2)}, **options
        )
