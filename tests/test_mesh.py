"""Counting on many devices, and in two processes, is bit-equal to counting on one."""

import os
import pathlib
import socket
import subprocess
import sys

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

from dpjax.runtime.processes import PeerLost, device_mesh
from dpjax.tables.counts import batches
from tests.helpers.mesh_cases import RECORDS

ROOT = pathlib.Path(__file__).parents[1]


def start(*arguments):
    command = [sys.executable, "-m", "tests.helpers.mesh_cases", *map(str, arguments)]
    environment = os.environ | {"JAX_ENABLE_X64": os.environ.get("DPJAX_X64", "0")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=ROOT, env=environment, **pipes)


def finish(process):
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert output.endswith("equal\n")  # Gloo says something first


def test_eight_devices_count_as_one_does():
    finish(start())


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return "{}:{}".format(*probe.getsockname())


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])  # by JAX's version
def test_a_lost_process_is_no_error_of_the_records(kind, monkeypatch):
    def lost(*_):
        raise kind("UNKNOWN: Gloo AllGather failed: Connection reset by peer")

    monkeypatch.setattr(batches, "_replicated", lost)
    with pytest.raises(PeerLost, match="another process of this run died"):
        batches.gather(np.zeros(1, np.int64), device_mesh(1))


@pytest.mark.thorough
def test_two_processes_count_as_one_does(tmp_path):
    columns = dict(zip("txy", RECORDS.T, strict=True))
    columns["y"] = np.array(list("abcd"))[columns["y"]]
    table = pyarrow.table(columns)
    pyarrow.parquet.write_table(
        table.slice(0, 600), tmp_path / "1.parquet", row_group_size=90
    )
    for first in (600, 800):
        part = table.slice(first, 200)
        pyarrow.csv.write_csv(part, tmp_path / f"from {first}.csv")
    address = free_address()
    both = [start(address, number, tmp_path) for number in range(2)]
    try:
        for process in both:
            finish(process)
    finally:
        for process in both:
            process.kill()
