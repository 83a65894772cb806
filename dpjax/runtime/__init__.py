"""Devices and processes, the compilation cache, and the memory allocator."""

__all__ = [
    "PeerLost",
    "broadcast",
    "cache_compilations",
    "device_mesh",
    "exchanged",
    "is_first",
    "noticing_loss",
    "start",
    "tune_allocator",
]

from dpjax.runtime.processes import (
    PeerLost,
    broadcast,
    device_mesh,
    exchanged,
    is_first,
    noticing_loss,
    start,
)
from dpjax.runtime.tuning import cache_compilations, tune_allocator
