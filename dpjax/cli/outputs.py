"""Checks of the files that a command writes, before it reads anything."""

import contextlib
import os
import pathlib
import stat
import tempfile
from collections.abc import Iterable, Mapping

from dpjax.privacy.ledger_lines import FORMATS as LEDGERS
from dpjax.releases.file_format import FORMAT as RELEASE

_ANY = ("",)
_END = 1 << 12  # bytes at the start or the end of a file that name its format


def refuse_outputs(
    outputs: Iterable[tuple[str, str | None]],
    inputs: Iterable[str | None],
    endings: Mapping[str, tuple[str, ...]] | None = None,
    new: bool = False,
) -> None:
    """Raise `ValueError` if a file cannot be written, or must not be.

    Such a file is an input, or in a folder that is one, or another output, or a ledger,
    or a release, or it has none of the endings.

    Args:
        outputs: the option and the path of each file; None is no file.
        inputs: paths that the command reads; None is no file.
        endings: endings of the files of an option, if not every one is allowed.
        new: whether no file may be replaced, since it could not be made again.
    """
    read = [pathlib.Path(path).resolve() for path in inputs if path]
    folders, taken = {path for path in read if path.is_dir()}, {*read}
    for name, path in outputs:
        if path is None:
            continue
        out = pathlib.Path(path).resolve()
        if out in taken or not folders.isdisjoint(out.parents):
            raise ValueError(
                f"`{name}` must not be an input or another output, got {path}."
            )
        taken.add(out)
        _refuse_unwritable(path, name, (endings or {}).get(name, _ANY))
        _refuse_kept(path, name, new)


def _refuse_unwritable(path: str, name: str, endings: tuple[str, ...]) -> None:
    if not path.lower().endswith(endings):
        raise ValueError(f"`{name}` must end in {' or '.join(endings)}, got {path}.")
    out, writable = pathlib.Path(path).resolve(), True
    try:
        tempfile.TemporaryFile(dir=out.parent).close()  # permission bits can mislead
        with contextlib.suppress(FileNotFoundError):  # `exists` hides other errors
            writable = stat.S_ISREG(out.stat().st_mode)
    except OSError:
        writable = False
    if not writable:
        raise ValueError(
            f"`{name}` must be a file in a folder that can be written, got {path}."
        )


def _refuse_kept(path: str, name: str, new: bool) -> None:
    ends = _ends(path)
    if any(f'"{ledger}"'.encode() in ends for ledger in LEDGERS):
        what = "a ledger, which says what has been spent"
    elif f'"{RELEASE}"'.encode() in ends:
        what = "a release, which has been paid for"
    elif new and pathlib.Path(path).exists():
        what = "a file that exists"
    else:
        return
    raise ValueError(f"`{name}` must not be {what}, got {path}: choose another name.")


def _ends(path: str) -> bytes:
    """Return the start and the end of a file; nothing if there is none."""
    try:
        with open(path, "rb") as file:
            start = file.read(_END)
            file.seek(max(0, file.seek(0, os.SEEK_END) - _END))
            return start + file.read()
    except OSError:
        return b""
