"""Sweeps on several devices and in several processes: the same bits as on one."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from dpjax.runtime import processes

ROOT = pathlib.Path(__file__).parents[1]

SWEEP = """
import sys
import jax, jax.numpy as jnp, jax.random as jr, numpy as np
import dpjax as dp
from dpjax.runtime.processes import device_mesh, start

def experiment(key, mechanism, data):
    key_noise, key_other = jr.split(key)
    noisy = mechanism.sample(key_noise, data.sum(0))
    return {"noisy": noisy, "score": jr.normal(key_other, (1000,)).sum()}

def sweep(**options):
    sensitivity = dp.privacy.Sensitivity(2, "replace-one", True)
    return dp.sweep(
        dp.study_key(0), experiment, np.ones((10, 2), np.int32),
        epsilons=[1, 2], block=2,
        mechanisms=lambda x: dp.mechanisms.Laplace(np.array(x, float), sensitivity),
        **options,
    )
"""

EIGHT_DEVICES = """
for repeats in (1, 37):
    one = sweep(repeats=repeats)
    for devices in (8, 3, 1):
        many = sweep(repeats=repeats, mesh=device_mesh(devices))
        for name in one:
            np.testing.assert_array_equal(one[name], many[name], strict=True)
mesh = jax.make_mesh((2, 4), ("a", "b"))
np.testing.assert_array_equal(sweep(repeats=37, mesh=mesh)["score"], one["score"])

# Divisions and logarithms, which XLA rounds otherwise in a partitioned program.
def loss(key, epsilon, data):
    kept = jr.bernoulli(key, 0.7, (200,))
    share = (kept[:, None] * data).sum(0) / kept.sum()
    return jnp.log(share).mean() / epsilon

data = np.random.default_rng(0).random((200, 3), np.float32)
grid = dict(epsilons=[1, 2], repeats=40, block=5)
one = dp.sweep(dp.study_key(0), loss, data, **grid)
many = dp.sweep(dp.study_key(0), loss, data, mesh=device_mesh(2), **grid)
np.testing.assert_array_equal(one["value"], many["value"])
print("equal")
"""

ONE_OF_TWO = """
process, port, repeats, checkpoint, out = sys.argv[1:]
start(f"127.0.0.1:{port}", 2, int(process), patience=20)
assert jax.process_count() == 2
sweep(repeats=int(repeats), mesh=device_mesh(), checkpoint=checkpoint).save(out)
"""


CPUS = {"JAX_PLATFORMS": "cpu"}


def run(script, *arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", SWEEP + script, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **CPUS, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start_two(*arguments):
    port = free_port()
    return [run(ONE_OF_TWO, i, port, *arguments) for i in range(2)]


@pytest.mark.slow
def test_eight_devices_give_the_bits_of_one():
    flags = "--xla_force_host_platform_device_count=8"
    flags = f"{os.environ.get('XLA_FLAGS', '')} {flags}"
    process = run(EIGHT_DEVICES, XLA_FLAGS=flags)
    output, _ = process.communicate()
    assert output == "equal\n", output


@pytest.mark.thorough
def test_two_processes_give_the_bits_of_one_also_after_one_was_killed(tmp_path):
    repeats, whole = 1500, tmp_path / "whole.csv"
    alone = run("sweep(repeats=int(sys.argv[1])).save(sys.argv[2])", repeats, whole)
    output, _ = alone.communicate()
    assert alone.returncode == 0, output

    path, out = tmp_path / "checkpoint", tmp_path / "two.csv"
    pair = start_two(repeats, path, out)
    while not path.exists() or path.stat().st_size < 2000:
        assert pair[0].poll() is None, pair[0].communicate()
        time.sleep(0.05)
    pair[1].send_signal(signal.SIGKILL)
    killed = time.monotonic()
    pair[1].communicate()
    output, _ = pair[0].communicate(timeout=60)
    assert pair[0].returncode != 0
    assert "another process of this run died" in output
    assert time.monotonic() - killed < 60  # promised, and not near it
    assert not out.exists()

    for process in start_two(repeats, path, out):
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("127.0.0.1:1",), "must be given together"),
        (("127.0.0.1:1", 2, 2), "`process` must be below the number of processes, 2"),
        (("127.0.0.1:1", 0, 0), "`processes` must be an integer of at least 1"),
    ],
)
def test_a_run_must_be_described_whole(arguments, message):
    with pytest.raises(ValueError, match=message):
        processes.start(*arguments)


def test_a_mesh_has_as_many_devices_as_there_are():
    with pytest.raises(ValueError, match="`devices` must be at most"):
        processes.device_mesh(1000)
    assert processes.device_mesh(1).size == 1
    content = np.arange(10).tobytes()
    assert processes.broadcast(content) == content
