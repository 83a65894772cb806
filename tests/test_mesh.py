"""Counts and predictions on many devices are those on one."""

import os
import pathlib
import subprocess
import sys

import pytest
from jax.sharding import Mesh

from dpjax.runtime import PeerLost, device_mesh, noticing_loss
from dpjax.tables.counts import batches

ROOT = pathlib.Path(__file__).parents[1]


@pytest.mark.slow
def test_eight_devices_count_and_predict_as_one_does():
    command = [sys.executable, "-m", "tests.helpers.mesh_cases"]
    environment = os.environ | {"JAX_ENABLE_X64": os.environ.get("DPJAX_X64", "0")}
    environment["JAX_PLATFORMS"] = "cpu"
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "equal\n"


def test_a_mesh_of_several_processes_is_refused(monkeypatch):
    mesh = device_mesh(1)
    batches.check_mesh(mesh)
    monkeypatch.setattr(Mesh, "is_multi_process", property(lambda _: True))
    with pytest.raises(ValueError, match="`mesh` must be of devices of one process"):
        batches.check_mesh(mesh)


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])  # by JAX's version
def test_a_lost_process_is_no_error_of_the_records(kind):
    with (
        pytest.raises(PeerLost, match="another process of this run died"),
        noticing_loss(),
    ):
        raise kind("UNKNOWN: Gloo AllGather failed: Connection reset by peer")
