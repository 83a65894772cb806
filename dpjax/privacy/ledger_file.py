"""The ledger's file: JSON Lines, appended to under a lock that processes share."""

__all__ = ["LedgerFile"]

import contextlib
import os
import pathlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from filelock import FileLock, Timeout

from dpjax._checks import one_of
from dpjax._documents import canonical_json, parse_json, read_text, write_atomically
from dpjax.privacy.adjacency import ADJACENCIES
from dpjax.privacy.guarantee import exact_epsilon

_FORMAT = "dpjax-ledger-1"
_PATIENCE = 60  # seconds
_INTERVAL = 0.005  # a charge takes about as long


class LedgerFile:
    """A budget and an adjacency on the first line, a charge on every other one.

    Args:
        path: of the file, links followed; its lock is beside it, with ".lock" added.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = pathlib.Path(os.path.realpath(path))
        if self.path.suffix == ".gz":
            raise ValueError(f"`ledger` must not be compressed, got {self.path}.")

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Held, in a `with` block, from reading to appending; a dead holder lets go.

        Raises:
            ValueError: if it cannot be made where the file is, or another process
                holds it for a minute, which a charge takes milliseconds of.
        """
        if not self.path.parent.is_dir() or not os.access(self.path.parent, os.W_OK):
            raise ValueError(
                f"`ledger` must be in a folder that can be written, got {self.path}."
            )
        if self.path.exists() and self.path.stat().st_nlink > 1:
            raise ValueError(
                f"`ledger` must have one name, {self.path} has several (hard links), "
                "which could be charged at once."
            )
        lock = FileLock(f"{self.path}.lock", timeout=_PATIENCE)
        try:
            lock.acquire(poll_interval=_INTERVAL)
        except OSError as error:
            held = isinstance(error, Timeout)
            raise ValueError(
                f"`ledger` must have a lock that can be had, {lock.lock_file}: "
                f"{'another process keeps it' if held else error.strerror}."
            ) from None
        try:
            yield
        finally:
            lock.release()

    def append(
        self, budget: Fraction, adjacency: str, epsilon: Fraction, purpose: str
    ) -> None:
        """Add a charge, on the disk when this returns; the first makes the file.

        Raises:
            ValueError: if it cannot be written, as on a full disk; nothing is charged.
        """
        if not self.path.exists():
            header = {"format": _FORMAT, "budget": str(budget), "adjacency": adjacency}
            write_atomically(self.path, canonical_json(header) + "\n")
        line = canonical_json({"epsilon": str(epsilon), "purpose": purpose})
        before = self.path.stat().st_size
        try:
            with open(self.path, "ab") as file:
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):  # half a line would stop everything
                os.truncate(self.path, before)
            raise ValueError(
                f"`ledger` must be possible to write, {self.path}: {error.strerror}; "
                "nothing is charged."
            ) from None

    def read(self) -> tuple[Fraction, str, list[Fraction]]:
        """Budget, adjacency and charges.

        Raises:
            ValueError: if the file cannot be accounted for to the last byte.
        """
        text = read_text(self.path, "ledger")
        try:
            if not text.endswith("\n"):
                raise ValueError("the last line is not whole")
            header, *lines = [_parse_line(line) for line in text.splitlines()]
            if header["format"] != _FORMAT:
                raise ValueError("another format")
            one_of(ADJACENCIES, adjacency=header["adjacency"])
            charges = [exact_epsilon(line["epsilon"]) for line in lines]
            return exact_epsilon(header["budget"]), header["adjacency"], charges
        except (ValueError, TypeError, KeyError):
            raise ValueError(
                f"`ledger` must be an undamaged file of format {_FORMAT}, {self.path} "
                "is not: nothing is charged until it is mended."
            ) from None


def _parse_line(line: str) -> dict[str, Any]:
    parsed = parse_json(line, "ledger")
    if not isinstance(parsed, dict):
        raise ValueError("a line that is not an object")
    return parsed
