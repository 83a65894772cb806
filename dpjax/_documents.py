"""JSON documents: strict reading, canonical writing, whole files or none.

Reading refuses what Python's parser would let pass in silence (a key twice, NaN);
writing always gives the same bytes for the same content.
"""

__all__ = ["canonical_json", "parse_json", "read_text", "write_atomically"]

import gzip
import json
import os
import pathlib
import tempfile
import zlib


def parse_json(text: str, name: str) -> object:
    """Parse `text`; `name` says in errors which document it is.

    Raises:
        ValueError: if it is not JSON, holds NaN or infinity, or gives a key twice.
    """

    def unique(pairs):
        keys = [key for key, _ in pairs]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise ValueError(f"`{name}` must give every key once, got {twice!r} twice.")
        return dict(pairs)

    def refuse(constant):
        raise ValueError(f"`{name}` must hold finite numbers, got {constant}.")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"`{name}` must be JSON: {error.msg} at {place}.") from None
    except RecursionError:
        raise ValueError(f"`{name}` must be JSON nested less deeply.") from None


def read_text(path: str | os.PathLike, name: str) -> str:
    """The text of a file, decompressed if its name ends in `.gz`.

    Raises:
        ValueError: if there is no such file or it cannot be read as text.
    """
    path = pathlib.Path(path)
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise ValueError(
            f"`{name}` must be a readable file, {path}: {reason}."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"`{name}` must be text in UTF-8, {path} is not.") from None


def canonical_json(document: object) -> str:
    """Text that depends on the content of `document` alone."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def write_atomically(path: str | os.PathLike, content: str | bytes) -> None:
    """Write a file whole or not at all: a reader never sees half of it."""
    path = pathlib.Path(path)
    data = content.encode() if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
