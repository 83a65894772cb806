"""Several processes as one machine, on JAX's own distributed runtime.

Every process runs the same program; what they compute together is sharded over a mesh
of all their devices.
"""

__all__ = [
    "PeerLost",
    "broadcast",
    "device_mesh",
    "gathered",
    "is_first",
    "replicated",
    "start",
]

import contextlib
from collections.abc import Iterator

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

from dpjax._checks import whole

_PATIENCE = 30  # seconds without a sign of life, after which a process counts as dead


class PeerLost(RuntimeError):
    """Another process of a run died or does not answer."""


def start(
    coordinator: str | None = None,
    processes: int | None = None,
    process: int | None = None,
    *,
    patience: int = _PATIENCE,
) -> None:
    """Join the other processes of a run, before anything else is done with JAX.

    Under SLURM, Open MPI, Kubernetes or on Cloud TPU no argument is needed.

    Args:
        coordinator: "host:port" of process 0, where the others find it.
        processes: how many there are.
        process: number of this one, from 0.
        patience: seconds without a sign of life, after which a process counts as dead
            and the others stop.

    Raises:
        ValueError: if only some of the first three are given, or they are out of range,
            or no run is found.
    """
    given = [x is not None for x in (coordinator, processes, process)]
    if any(given) and not all(given):
        raise ValueError(
            "`coordinator`, `processes` and `process` must be given together, or all "
            "left to the cluster's own settings."
        )
    whole(1, patience=patience)
    if processes is not None and process is not None:
        whole(1, processes=processes)
        whole(0, process=process)
        if process >= processes:
            raise ValueError(
                f"`process` must be below the number of processes, {processes}, got "
                f"{process}."
            )
    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process,
            heartbeat_timeout_seconds=patience,
            shutdown_timeout_seconds=patience,
        )
    except (RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            "`coordinator` must be reachable, with `processes` and `process`, or the "
            f"cluster must be known to JAX: {reason}"
        ) from None


def device_mesh(devices: int | None = None) -> Mesh:
    """A mesh with one axis over all devices of all processes, or the first of them.

    Raises:
        ValueError: if there are fewer devices than wanted.
    """
    available = jax.devices()
    if devices is not None:
        whole(1, devices=devices)
        if devices > len(available):
            raise ValueError(
                f"`devices` must be at most {len(available)}, those there are, got "
                f"{devices}."
            )
    return Mesh(np.array(available[:devices]), ("devices",))


def is_first() -> bool:
    """Whether this process is the one that writes files."""
    return jax.process_index() == 0


def replicated(tree: PyTree, mesh: Mesh) -> PyTree:
    """The same arrays on every device of a mesh; all processes give equal ones."""
    everywhere = NamedSharding(mesh, PartitionSpec())

    def place(leaf):
        host = np.asarray(leaf)
        return jax.make_array_from_callback(host.shape, everywhere, lambda i: host[i])

    return jax.tree.map(place, tree)


def gathered(array: Array) -> np.ndarray:
    """A sharded array, whole, in every process.

    Raises:
        PeerLost: if another process is gone.
    """
    if array.is_fully_addressable:
        return np.asarray(array)
    with _noticing_loss():
        return np.asarray(multihost_utils.process_allgather(array, tiled=True))


def broadcast(content: bytes) -> bytes:
    """What the first process gives, in every process.

    Raises:
        PeerLost: if another process is gone.
    """
    if jax.process_count() == 1:
        return content
    with _noticing_loss():
        # As bytes: without x64, JAX would narrow wide numbers.
        size = np.frombuffer(len(content).to_bytes(8, "little"), np.uint8)
        size = int.from_bytes(bytes(_from_first(size)), "little")
        own = np.frombuffer(content, np.uint8) if is_first() else np.zeros(size, "u1")
        return bytes(_from_first(own)) if size else b""


def _from_first(values: np.ndarray) -> np.ndarray:
    return np.asarray(multihost_utils.broadcast_one_to_all(values), np.uint8)


@contextlib.contextmanager
def _noticing_loss() -> Iterator[None]:
    """What the runtime says of a lost connection, in words of ours."""
    try:
        yield
    except (RuntimeError, ValueError) as error:  # which one depends on JAX's version
        raise PeerLost(
            "another process of this run died or does not answer: what is finished is "
            "in the checkpoint, if there is one; start all processes again to go on."
        ) from error
