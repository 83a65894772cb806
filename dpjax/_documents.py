"""Strict reading of JSON, canonical writing of JSON, and atomic writing of files.

Reading refuses repeated keys and NaN, which Python's parser accepts silently. Equal
content is always written as the same bytes.
"""

import codecs
import contextlib
import gzip
import json
import math
import os
import pathlib
import secrets
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import BinaryIO

# Looked up now: a process that is forked while a thread imports it would wait for ever.
_utf_16 = codecs.getencoder("utf-16-be")
_LARGEST_INTEGER = 1 << 53  # up to which all integers are doubles
_LONGEST_NUMBER = 100  # characters
_LONGEST_PATH = 256
_CONTENT = {*',;{}[]"'}  # of CSV and JSON
_LARGEST_TEXT = 1 << 30  # bytes
_LARGEST_UNSTATED = 1 << 28  # bytes, if the size is not known before reading


def parse_json(text: str, name: str) -> object:
    """Parse JSON; `name` is the document's name in error messages.

    Raises:
        ValueError: if `text` is not JSON, holds NaN or infinity, or repeats a key.
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
            raise ValueError(
                f"`{name}` must hold finite numbers of at most {_LONGEST_NUMBER} "
                "characters."
            )
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
        what = error.msg.removesuffix(" at")  # of a string that does not end
        raise ValueError(f"`{name}` must be JSON: {what} at {place}.") from None
    except RecursionError:
        raise ValueError(f"`{name}` must be less deeply nested JSON.") from None


def read_text(path: str | os.PathLike, name: str) -> str:
    """Read a text file, and decompress it if its name ends in `.gz`.

    Raises:
        ValueError: if the file cannot be read as text or exceeds 1 GiB, or 256 MiB if
            it is compressed (after decompression) or not a regular file.
    """
    path = _path_of(path, name)
    try:
        compressed = path.suffix == ".gz"
        plain = path.is_file() and not compressed
        most = _LARGEST_TEXT if plain else _LARGEST_UNSTATED
        too_large = plain and path.stat().st_size > most
        with gzip.open(path) if compressed else open(path, "rb") as file:
            data = b"" if too_large else file.read(-1 if plain else most + 1)
        if too_large or len(data) > most:
            raise ValueError(
                f"`{name}` must be at most {most} bytes of text, {path} is larger; an "
                f"uncompressed regular file may have up to {_LARGEST_TEXT} bytes."
            )
        return data.decode()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise ValueError(
            f"`{name}` must be a readable file, {path}: {reason}."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"`{name}` must be text in UTF-8, {path} is not.") from None


def _path_of(path: object, name: str) -> pathlib.Path:
    if not isinstance(path, str | os.PathLike):
        raise ValueError(
            f"`{name}` must be the path of a file, got {type(path).__name__}."
        )
    return pathlib.Path(path)


def printable(text: str) -> str:
    """Escape line breaks and control characters, for safe output to a terminal."""
    return "".join(x if x.isprintable() else repr(x)[1:-1] for x in text)


def shown_path(text: str) -> str:
    """Return a path for a message, unless the text may be content given for a path."""
    plain = (
        text.isprintable() and len(text) < _LONGEST_PATH and not _CONTENT & set(text)
    )
    return text if plain else "the text given for a path"


def canonical_json(document: object) -> str:
    """Return the document as JSON text in the canonical form of RFC 8785.

    Numbers are written as ECMAScript writes doubles, so that 1 and 1.0 are equal.

    Raises:
        ValueError: if a number is not exactly a double, or text has half a surrogate
            pair.
    """
    if isinstance(document, dict):
        keys = sorted(document, key=_utf_16)
        entries = (f"{canonical_json(x)}:{canonical_json(document[x])}" for x in keys)
        return f"{{{','.join(entries)}}}"
    if isinstance(document, list | tuple):
        if {*map(type, document)} == {int} and _are_doubles(document):  # quickly
            return json.dumps(document, separators=(",", ":"))
        return f"[{','.join(map(canonical_json, document))}]"
    if type(document) is int and _are_doubles([document]):
        return str(document)
    if isinstance(document, int | float) and not isinstance(document, bool):
        return _double(document)
    text = json.dumps(document, ensure_ascii=False)
    if not is_text(text):
        raise ValueError("text must not have half a surrogate pair.")
    return text


def _are_doubles(integers: Sequence[int]) -> bool:
    return max(map(abs, integers)) <= _LARGEST_INTEGER


def _double(number: int | float) -> str:
    """Return a double as ECMAScript writes it, by `Number::toString`."""
    if isinstance(number, int) or not math.isfinite(number):
        raise ValueError("a number must be a double, and an integer at most 2^53.")
    sign, found, exponent = Decimal(repr(number)).normalize().as_tuple()
    digits, minus = "".join(map(str, found)), "-" * (sign and number != 0)
    point = len(digits) + int(exponent)  # places before the decimal point
    if len(digits) <= point <= 21:
        return minus + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{minus}{digits[0]}{fraction}e{point - 1:+d}"


def is_text(value: object) -> bool:
    """Whether a value is text that UTF-8 can encode: without half a surrogate pair."""
    with contextlib.suppress(UnicodeEncodeError):
        return isinstance(value, str) and value.encode() is not None
    return False


def escaped_json(document: object) -> str:
    """Return the document as JSON text in the form of older files.

    Unlike RFC 8785, it is in ASCII, sorts keys by code points, keeps integers of any
    size, and writes floats as Python does.
    """
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def make_folder(out: str | os.PathLike) -> pathlib.Path:
    """Return the path of a folder, which is created if it does not exist.

    Raises:
        ValueError: if the folder cannot be created, or the name is empty.
    """
    if not os.fspath(out):
        raise ValueError("`out` must be the name of a folder, got an empty name.")
    folder = pathlib.Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"`out` must be a folder that can be created, {folder}: {error.strerror}."
        ) from None
    return folder


def write_atomically(path: str | os.PathLike, content: str | bytes) -> None:
    """Write a file so that other programs see either the complete file or none.

    Raises:
        ValueError: if the file cannot be written; then no file is left behind.
    """
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a temporary file that is renamed to `path` when the `with` block ends.

    Raises:
        ValueError: if the file cannot be written; then no file is left behind.
    """
    path = _path_of(path, "path")
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise ValueError(
            f"a file must be writable, {path}: {error.strerror}."
        ) from None
    finally:
        temporary.unlink(missing_ok=True)
