"""The file of a ledger: JSON Lines with hash chains, locked by `flock`.

The ledger needs no other file, because another file could be deleted: without a lock
file two processes could charge at once, and without its write-ahead log an SQLite
database would lose charges. A curator can read the text. Locks and inode numbers are
reliable in local file systems, but not in all network file systems.

The hashes detect an edit, and the inode number detects a copy. The object that read or
wrote lines detects if these lines change or disappear. A new process cannot detect
that the last lines were removed, or that an older state of the file was restored.
"""

import contextlib
import errno
import os
import pathlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpjax._documents import whole_file
from dpjax.privacy.guarantee import in_words
from dpjax.privacy.ledger_lines import FORMATS, Book, Charge, read_on, with_charge
from dpjax.privacy.rounding import rounded_up

if TYPE_CHECKING:
    fcntl: Any = None
else:
    try:
        import fcntl
    except ImportError:  # on Windows
        fcntl = None

_PATIENCE = 60  # seconds
_INTERVAL = 0.005  # a charge takes about as long
_LONGEST = 0.25  # pause between attempts: a long wait must not miss every short gap


class LedgerFile:
    """A file with the budget on the first line, and a charge on every other line.

    Args:
        path: path of the file; symbolic links are followed.
        new: state of the ledger before its first charge, used if there is no file yet.
            None: the file must exist.

    Raises:
        ValueError: if `path` ends with ".gz", or the system has no `flock`.
    """

    def __init__(self, path: str | os.PathLike, new: Book | None) -> None:
        self.path = pathlib.Path(os.path.realpath(path))
        self._seen: Any = new  # later the state last read or written here
        if self.path.suffix == ".gz":
            raise ValueError(f"`ledger` must not be compressed, got {self.path}.")
        if fcntl is None:
            raise ValueError(
                "`ledger` must be in memory, without a `path`, on a system that has no "
                "`flock` to lock a file with, such as Windows."
            )

    @contextlib.contextmanager
    def opened(self, charging: bool) -> Iterator[Book]:
        """Yield the ledger's state, locked against other processes and threads.

        If the file does not exist yet and `charging` is True, its folder is locked, so
        that `append` can create the file.

        Raises:
            ValueError: if the file cannot be locked or read completely, is a copy, or
                does not begin with the lines that this object read or wrote.
        """
        with contextlib.ExitStack() as stack:
            book, held = self._seen, -1
            if charging and self._absent():
                held = stack.enter_context(_locked(self._folder(), os.O_RDONLY))
            if not self._absent():
                flags = os.O_RDWR | os.O_APPEND if charging else os.O_RDONLY
                held = stack.enter_context(_locked(self.path, flags))
                self._seen = book = self._read(held, self._seen)
            yield book._replace(held=held)

    def append(self, book: Book, charge: Charge) -> None:
        """Write a charge to disk, given `book`, the state that `opened` yields."""
        write = self._extend if book.text else self._create
        self._seen = write(book, charge)

    def _extend(self, book: Book, charge: Charge) -> Book:
        charged = with_charge(book, charge, book.inode or 0)
        try:
            with open(book.held, "ab", closefd=False) as file:
                file.write(charged.text[len(book.text) :])
            os.fsync(book.held)
        except OSError as error:
            with contextlib.suppress(
                OSError
            ):  # half a line would make the file invalid
                os.ftruncate(book.held, len(book.text))
            raise ValueError(
                f"`ledger` must be possible to write, {self.path}: {error.strerror}; "
                "nothing is charged."
            ) from None
        return charged

    def _create(self, book: Book, charge: Charge) -> Book:
        """Write two lines at once: a killed process leaves both lines or no file."""
        with whole_file(self.path) as file:
            inode = os.fstat(file.fileno()).st_ino
            charged = with_charge(book, charge, inode)
            file.write(charged.text)
        try:
            os.fsync(book.held)  # the folder, which contains the file's name
        except OSError as error:
            raise ValueError(
                f"`ledger` must be in a folder that reaches the disk, {self.path}: "
                f"{error.strerror}; the charge counts."
            ) from None
        return charged

    def _absent(self) -> bool:
        """Whether the file has never existed; False if it existed and was deleted."""
        new = self._seen is not None and not self._seen.text
        return new and not self.path.exists()

    def _folder(self) -> pathlib.Path:
        if not os.access(self.path.parent, os.W_OK):
            raise ValueError(
                f"`ledger` must be in a folder that can be written, got {self.path}."
            )
        return self.path.parent

    def _read(self, held: int, seen: Book | None) -> Book:
        try:
            with open(held, "rb", closefd=False) as file:
                text, status = file.read(), os.fstat(held)
        except OSError as error:
            raise ValueError(
                f"`ledger` must be a readable file, {self.path}: {error.strerror}."
            ) from None
        if status.st_nlink > 1:
            raise ValueError(
                f"`ledger` must have one name, {self.path} has several (hard links), "
                "of which one could be replaced."
            )
        if seen and not text.startswith(seen.text):
            raise ValueError(
                f"`ledger` must only grow, {self.path} has changed or lost lines that "
                "were read from it or written to it here: put them back into that file."
            )
        try:
            book = read_on(seen, text)
        except (ValueError, TypeError, LookupError, RecursionError):
            raise ValueError(
                f"`ledger` must be an undamaged file of format {' or '.join(FORMATS)} "
                f"and of kinds of guarantee that are installed, {self.path} is not: "
                "nothing is charged until it is repaired, or another file is named."
            ) from None
        if book.inode not in (None, status.st_ino):
            left = in_words(
                {
                    name: -rounded_up(-number)  # down, to a short fraction
                    for name, number in book.budget.remaining(book.spent).items()
                }
            )
            raise ValueError(
                f"`ledger` must be the file that was charged, {self.path} is a copy: "
                "use the original or, if that is gone, start a new ledger with what is "
                f"left of the budget, at most {left}."
            )
        return book


@contextlib.contextmanager
def _locked(path: pathlib.Path, flags: int) -> Iterator[int]:
    """Yield a descriptor with an exclusive lock; wait for the lock at most a minute."""
    start = time.monotonic()
    try:
        while (held := _attempt(path, flags)) is None:
            waited = time.monotonic() - start
            if waited > _PATIENCE:
                raise TimeoutError(errno.EBUSY, "another process keeps it locked")
            time.sleep(min(_INTERVAL + waited / 10, _LONGEST))
    except OSError as error:
        raise ValueError(
            f"`ledger` must be possible to open and to lock, {path}: {error.strerror}."
        ) from None
    try:
        yield held
    finally:
        fcntl.flock(held, fcntl.LOCK_UN)  # a process forked meanwhile has the lock too
        os.close(held)


def _attempt(path: pathlib.Path, flags: int) -> int | None:
    """A locked descriptor; None if the lock is taken or the file was replaced."""
    with contextlib.ExitStack() as stack, contextlib.suppress(BlockingIOError):
        held = os.open(path, flags)
        stack.callback(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(held), os.stat(path)):
            stack.pop_all()
            return held
    return None
