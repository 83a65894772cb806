"""JSON documents: strict reading, canonical writing, whole files or none.

Reading refuses what Python's parser would let pass in silence (a key twice, NaN);
writing always gives the same bytes for the same content.
"""

__all__ = [
    "canonical_json",
    "make_folder",
    "parse_json",
    "printable",
    "read_text",
    "whole_file",
    "write_atomically",
]

import contextlib
import gzip
import json
import math
import os
import pathlib
import secrets
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

_LONGEST_NUMBER = 100  # digits
_LARGEST_TEXT = 1 << 30  # bytes
_LARGEST_UNSTATED = 1 << 28  # bytes, of what does not say how much it holds


def parse_json(text: str, name: str) -> object:
    """Parse `text`; `name` says in errors which document it is.

    Raises:
        ValueError: if it is not JSON, holds NaN or infinity, or gives a key twice.
    """

    def unique(pairs):
        keys = dict(pairs)
        if len(keys) < len(pairs):
            (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
            raise ValueError(
                f"`{name}` must give every key once, got {twice!r:.80} twice."
            )
        return keys

    def finite(digits):
        if len(digits) > _LONGEST_NUMBER or not math.isfinite(float(digits)):
            raise ValueError(f"`{name}` must hold finite numbers, of sensible length.")
        return float(digits) if set(digits) & set(".eENI") else int(digits)

    try:
        return json.loads(
            text,
            object_pairs_hook=unique,
            parse_constant=finite,
            parse_float=finite,
            parse_int=finite,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"`{name}` must be JSON: {error.msg} at {place}.") from None
    except RecursionError:
        raise ValueError(f"`{name}` must be JSON nested less deeply.") from None


def read_text(path: str | os.PathLike, name: str) -> str:
    """The text of a file, decompressed if its name ends in `.gz`.

    Raises:
        ValueError: if there is no such file or it cannot be read as text, or holds more
            than 1 GiB; or 256 MiB once decompressed, or of what is not a plain file.
    """
    path = pathlib.Path(path)
    try:
        compressed = path.suffix == ".gz"
        plain = path.is_file() and not compressed
        most = _LARGEST_TEXT if plain else _LARGEST_UNSTATED
        too_large = plain and path.stat().st_size > most
        with gzip.open(path) if compressed else open(path, "rb") as file:
            data = b"" if too_large else file.read(-1 if plain else most + 1)
        if too_large or len(data) > most:
            raise ValueError(
                f"`{name}` must be at most {most} bytes of text, {path} is larger: if "
                f"that is meant, use a plain file, and at most {_LARGEST_TEXT} bytes."
            )
        return data.decode()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise ValueError(
            f"`{name}` must be a readable file, {path}: {reason}."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"`{name}` must be text in UTF-8, {path} is not.") from None


def printable(text: str) -> str:
    """The text in one line that no terminal takes for a command."""
    shown = (x if x.isprintable() else repr(x)[1:-1] for x in text)
    return "".join(shown)


def canonical_json(document: object) -> str:
    """Text that depends on the content of `document` alone."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def make_folder(out: str | os.PathLike) -> pathlib.Path:
    """A folder that is there, made if need be.

    Raises:
        ValueError: if it cannot be made, or has no name.
    """
    if not os.fspath(out):
        raise ValueError("`out` must be a folder that can be made: it has no name.")
    folder = pathlib.Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"`out` must be a folder that can be made, {folder}: {error.strerror}."
        ) from None
    return folder


def write_atomically(path: str | os.PathLike, content: str | bytes) -> None:
    """Write a file whole or not at all: a reader never sees half of it.

    Raises:
        ValueError: if it cannot be written; then nothing is left behind.
    """
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A file to be written in the `with` block, after which it has its name.

    Raises:
        ValueError: if it cannot be written; then nothing is left behind.
    """
    path = pathlib.Path(path)
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise ValueError(
            f"a file must be possible to write, {path}: {error.strerror}."
        ) from None
    finally:
        temporary.unlink(missing_ok=True)
