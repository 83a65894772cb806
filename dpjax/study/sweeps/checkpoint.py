"""Checkpoints: files of finished blocks, from which an interrupted sweep resumes.

A file has a line of JSON that identifies the sweep, then blocks of equal length, each
with its number and a digest. Blocks are only appended; an incomplete last block is
dropped when the file is read.
"""

import hashlib
import json
import math
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from filelock import FileLock, Timeout

from dpjax._documents import escaped_json, parse_json, write_atomically

_FORMAT = "dpjax-sweep-1"
_NUMBER, _DIGEST = 8, 16  # bytes
_LONGEST_BLOCK = 1 << 24  # repeats; a file with more could fill the memory

Leaf = tuple[tuple[int, ...], np.dtype]


def fingerprint(*contents: bytes, secret: bytes) -> str:
    """Return a 64-bit hash of `contents`, keyed by `secret` (the sweep's random key).

    Those who do not know `secret` cannot check guesses of the contents by the hash. If
    the key comes from a guessable seed, such as 0, they can.
    """
    digest = hashlib.blake2b(key=secret[:64], digest_size=8)
    for content in contents:
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


class Checkpoint:
    """A file of a sweep's finished blocks, created if necessary and locked while open.

    The JSON object `header` identifies the sweep; `leaves` are the shapes and dtypes of
    a block's arrays.

    Raises:
        ValueError: if the file is not a checkpoint of the sweep that `header`
            describes, in use, or not writable.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        header: Mapping[str, object],
        leaves: Sequence[Leaf],
    ) -> None:
        self._path = pathlib.Path(path)
        self._leaves = leaves
        self._lock = FileLock(f"{self._path}.lock")
        folder = self._path.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ValueError(
                f"`checkpoint` must be in a folder that can be written, got {path}."
            )
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise ValueError(
                f"`checkpoint` must not be in use by another process, {path} is: wait "
                "for it or give another file."
            ) from None
        except OSError as error:
            raise ValueError(
                "`checkpoint` must have a lock file that can be opened, "
                f"{self._path}.lock: {error.strerror}."
            ) from None
        try:
            self._start = self._check_header({"format": _FORMAT, **header})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Checkpoint":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock on the file."""
        self._lock.release()

    def read(self) -> bytes:
        """Return the finished blocks as bytes; truncate the file at a damaged block."""
        content, length = bytearray(), _length(self._leaves)
        with open(self._path, "r+b") as file:
            file.seek(self._start)
            while len(record := file.read(length)) == length:
                if _digest(record[:-_DIGEST]) != record[-_DIGEST:]:
                    break
                content += record
            file.truncate(self._start + len(content))
        return bytes(content)

    def append(self, blocks: Mapping[int, Sequence[np.ndarray]]) -> None:
        """Append finished blocks, by number, and flush the file to the disk."""
        try:
            with open(self._path, "ab") as file:
                for number, arrays in blocks.items():
                    body = number.to_bytes(_NUMBER, "little") + b"".join(
                        np.ascontiguousarray(array).tobytes() for array in arrays
                    )
                    file.write(body + _digest(body))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:  # `read` drops an incomplete block
            raise ValueError(
                f"`checkpoint` must be writable, {self._path}: {error.strerror}."
            ) from None

    def _check_header(self, header: Mapping[str, object]) -> int:
        """Check that the file is of this sweep; return the place of its first block."""
        line = escaped_json(header).encode() + b"\n"
        if not self._path.exists():
            write_atomically(self._path, line)
        document, start = _header(self._path)
        if document.get("format") != _FORMAT:
            raise ValueError(
                f"`checkpoint` must be one that a sweep wrote, {self._path} is not: "
                "give another file."
            )
        known = json.loads(line)
        other = {x if x in known else "entries" for x in _differences(document, known)}
        if other:
            raise ValueError(
                f"`checkpoint` must be of this sweep, {self._path} is of one with "
                f"other {', '.join(sorted(other))}: give another file."
            )
        return start


def blocks_in(
    content: bytes, leaves: Sequence[Leaf]
) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yield the number and arrays of each block in the result of `Checkpoint.read`."""
    length = _length(leaves)
    for start in range(0, len(content), length):
        number = int.from_bytes(content[start : start + _NUMBER], "little")
        yield number, arrays_in(content, start + _NUMBER, leaves)


def arrays_in(content: bytes, start: int, leaves: Sequence[Leaf]) -> list[np.ndarray]:
    """Read arrays with the shapes and dtypes `leaves` from the bytes after `start`."""
    arrays = []
    for shape, dtype in leaves:
        array = np.frombuffer(content, dtype, math.prod(shape), start)
        arrays.append(array.reshape(shape))
        start += array.nbytes
    return arrays


def recorded_block(path: str | os.PathLike) -> int | None:
    """Return a checkpoint's number of repeats in a block; None for another file."""
    block = _header(path)[0].get("block")
    return block if type(block) is int and 0 < block <= _LONGEST_BLOCK else None


def _header(path: str | os.PathLike) -> tuple[dict, int]:
    """The document in the first line, empty if unreadable, and the line's length."""
    try:
        with open(path, "rb") as file:
            line = file.readline()
        document = parse_json(line.decode(), "checkpoint")
    except (OSError, ValueError):
        return {}, 0
    return (document, len(line)) if isinstance(document, dict) else ({}, 0)


def _differences(found: Mapping, wanted: Mapping) -> list[str]:
    """Names of entries that differ, without those that follow from other entries."""
    names = sorted({*found, *wanted})
    other = [name for name in names if found.get(name) != wanted.get(name)]
    keyed = {"program"}
    if "key" in other:
        keyed |= {"arrays of the experiment", "data", "numbers"}
    return [name for name in other if name not in keyed] or other


def _length(leaves: Sequence[Leaf]) -> int:
    payload = sum(math.prod(shape) * dtype.itemsize for shape, dtype in leaves)
    return _NUMBER + payload + _DIGEST


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()
