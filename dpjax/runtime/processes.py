"""Distributed runs of several processes with JAX's runtime.

Every process runs the same program, with arrays sharded over a mesh of all devices.
"""

import contextlib
from collections.abc import Iterator

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh

from dpjax._checks import whole

_PATIENCE = 30  # seconds


class PeerLost(RuntimeError):
    """Error raised if another process of a distributed run died or does not answer."""


def start(
    coordinator: str | None = None,
    processes: int | None = None,
    process: int | None = None,
    *,
    patience: int = _PATIENCE,
) -> None:
    """Connect this process to the other processes of a distributed run.

    Call it before any other use of JAX. Under SLURM, Open MPI, Kubernetes or on Cloud
    TPU no argument is needed.

    Args:
        coordinator: "host:port" of process 0.
        processes: number of processes.
        process: number of this process, from 0.
        patience: seconds without a sign of life after which a process is considered
            dead and the other processes stop; connecting may take twice this time.

    Raises:
        ValueError: if only some of the first three arguments are given, an argument is
            out of range, or the connection fails.
    """
    given = [x is not None for x in (coordinator, processes, process)]
    if any(given) and not all(given):
        raise ValueError(
            "`coordinator`, `processes` and `process` must be given together, or none "
            "of them if the cluster's settings provide them."
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
            initialization_timeout=2 * patience,
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
    """Make a mesh with one axis over the first `devices` devices of all processes.

    Raises:
        ValueError: if there are fewer than `devices` devices.
    """
    available = jax.devices()
    if devices is not None:
        whole(1, devices=devices)
        if devices > len(available):
            raise ValueError(
                f"`devices` must be at most {len(available)}, the number available, "
                f"got {devices}."
            )
    return Mesh(np.array(available[:devices]), ("devices",))


def is_first() -> bool:
    """Whether this is process 0, the only process that writes files."""
    return jax.process_index() == 0


def exchanged(content: bytes) -> list[bytes]:
    """Return a list of the contents of all processes, which must have equal length.

    Raises:
        PeerLost: if another process stopped.
    """
    if jax.process_count() == 1:
        return [content]
    with noticing_loss():
        # Bytes are exact; without x64, JAX would narrow 64-bit numbers.
        own = np.frombuffer(content, np.uint8)
        return [bytes(x) for x in multihost_utils.process_allgather(own)]


def broadcast(content: bytes) -> bytes:
    """Return the `content` of process 0 in every process, each of which must call this.

    Raises:
        PeerLost: if another process stopped.
    """
    if jax.process_count() == 1:
        return content
    with noticing_loss():
        size = np.frombuffer(len(content).to_bytes(8, "little"), np.uint8)
        size = int.from_bytes(bytes(_from_first(size)), "little")
        own = np.frombuffer(content, np.uint8) if is_first() else np.zeros(size, "u1")
        return bytes(_from_first(own)) if size else b""


def _from_first(values: np.ndarray) -> np.ndarray:
    return np.asarray(multihost_utils.broadcast_one_to_all(values), np.uint8)


@contextlib.contextmanager
def noticing_loss() -> Iterator[None]:
    """Convert errors about a lost connection in a `with` block to `PeerLost`.

    Every `RuntimeError` or `ValueError` is converted, so the block must do nothing but
    exchange data between processes.
    """
    try:
        yield
    except (RuntimeError, ValueError) as error:  # the type depends on JAX's version
        raise PeerLost(
            "another process of this run died or does not answer "
            f"({str(error).splitlines()[0]}): restart all processes; they continue "
            "from the checkpoint, if there is one."
        ) from None
