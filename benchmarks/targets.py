"""Devices to compile for that are not there: NVIDIA GPUs and TPUs.

JAX's plugins compile for a described device: CUDA's needs neither a driver nor CUDA's
libraries, and leaves autotuning at its defaults.
"""

import dataclasses
from importlib.util import find_spec
from typing import Any

from jax.experimental import topologies


@dataclasses.dataclass(frozen=True)
class Target:
    """A device.

    Args:
        kind: as JAX names the device.
        memory: bytes.
        bandwidth: of the memory, in bytes a second, as its maker states it.
        seconds: to compile within.
        topology: of a TPU; "" for a GPU.
        capability, l2: of a GPU.
    """

    kind: str
    memory: float
    bandwidth: float
    seconds: float = 20
    topology: str = ""
    capability: int = 9
    l2: int = 50 << 20


TARGETS = {
    "h200": Target("NVIDIA H200", 151397597184, 4.8e12),
    "h100": Target("NVIDIA H100 80GB HBM3", 84942979072, 3.35e12),
    "v5e": Target("TPU v5 lite", 16e9, 0.819e12, 60, "v5e:2x4"),
    "v6e": Target("TPU v6 lite", 32e9, 1.64e12, 60, "v6e:2x4"),
}
ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",  # the only device that is there
    "TPU_SKIP_MDS_QUERY": "1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # no device is owned, hence no lock
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_MIN_LOG_LEVEL": "3",
}
_GPU = """
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  shared_memory_per_block_optin: 232448
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  clock_rate_ghz: 1.98
  memory_bandwidth: {bandwidth:.0f}
  l2_cache_size: {l2}
  device_memory_size: {memory:.0f}
  cuda_compute_capability {{ major: {capability} minor: 0 }}
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 patch: 0 }}
device_description_str: "{kind}"
"""


def missing(names: list[str]) -> str:
    """What to install for these targets; "" where nothing is missing."""
    wanted = {"aot-tpu" if TARGETS[name].topology else "aot" for name in names}
    package = {"aot": "jax_cuda13_plugin", "aot-tpu": "libtpu"}
    extras = sorted(extra for extra in wanted if find_spec(package[extra]) is None)
    return f'python -m pip install -e ".[{",".join(extras)}]"' if extras else ""


def devices(name: str, number: int) -> list[Any]:
    """Descriptions of devices, which programs can be compiled for but not run on."""
    target = TARGETS[name]
    if target.topology:
        described = topologies.get_topology_desc(target.topology, platform="tpu")
    else:
        text = _GPU.format(**dataclasses.asdict(target))
        described = topologies.get_topology_desc(
            name, platform="cuda", target_config=text, topology=f"1x1x{number}"
        )
    return described.devices[:number]
