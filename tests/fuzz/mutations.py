"""What goes wrong with files: at random, and where their formats can be bent."""

__all__ = ["mutated_bytes", "mutated_document", "mutated_text"]

import copy
import json
import re

_TOKEN = re.compile(rb'"[^"]*"|[A-Za-z_]\w*|[\d.]+|\s+|.', re.DOTALL)
_LARGE = 200_000
_SMALL = 1 << 12  # most mutations keep a file about as large as it was
_ODD_BYTES = [
    *(b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b'"', b"'"),
    *(b"{", b"}", b"[", b"]", b"(", b")", b"|", b";", b",", b":", b"/*", b"*/"),
    *(b"//", b"\\", b"\\u0000", b"\\ud800", b"\x1b[2J", b"\xe2\x80\xa8", b"\xc2\x85"),
    *(b"NaN", b"Infinity", b"-Infinity", b"nan", b"inf", b"1e999", b"-0", b"1e-999"),
    *(b"null", b"true", b"false", b"9" * 30, b"9" * 5000, b"1/0", b"-1", b"0", b"2"),
    *(b"1" + b"0" * 12, b"4294967296", b"9223372036854775808", b"0x10", b"1_000"),
    *("é".encode(), "💥".encode(), "\u202e".encode(), "\u0000".encode(), b"variable "),
    *(b"probability ", b"type discrete ", b"$schema", b"..", b"%s", b"{}"),
]
ODD_VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 1.5, -0.0, 1e-300, 1e300, 0.1, 64, 1000),
    *(2**29, 2**29 + 1, 2**31, 2**32, 2**63, 2**64, 10**12, 10**30, 10**99, -(2**31)),
    *("", " ", "0", "1", "-1", "1/3", "1/0", "0/1", "1e30", "1e-30", "1e31", "inf"),
    *("nan", "9" * 99, "a\nb", "\u2028", "\ud800", "\x00", "\x1b[31m", "é", "x" * 9999),
    *("all", "maximal", "replace-one", "add-remove", "levels", "lower", "t", "x", "y"),
    *([], {}, [[]], [None], [0, 1], [[0, 1]], ["t"], {"": 0}, {"t": ["t"]}, [0] * 5000),
    *({"levels": [0, 1]}, {"lower": 0, "upper": 1}, [list(range(300))], [1, "1", 1.0]),
]


def mutated_bytes(rng, data: bytes) -> bytes:
    """One to four accidents, to bytes or to tokens; now and then one repeated often."""
    if rng.random() < 0.005:
        return _pumped(rng, data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        change = rng.choice(_CHANGES)
        data = change(rng, data)
    return data


def mutated_text(rng, text: str) -> bytes:
    """The same, of text."""
    return mutated_bytes(rng, text.encode())


def mutated_document(rng, document: object) -> object:
    """One to three entries of a JSON document replaced, removed, moved or repeated."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holders = [document, *_containers(document)]
        holder = rng.choice(holders)
        if isinstance(holder, dict) and holder:
            _bend_object(rng, holder, holders)
        elif isinstance(holder, list) and holder:
            _bend_list(rng, holder, holders)
        else:
            document = {"document": document} if rng.random() < 0.5 else [document]
    return document


def _bend_object(rng, holder: dict, holders: list) -> None:
    key = rng.choice(list(holder))
    match rng.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[str(rng.choice(ODD_VALUES))[:50]] = holder.pop(key)
        case 2:
            holder[str(rng.choice(ODD_VALUES))[:50]] = copy.deepcopy(holder[key])
        case 3:
            holder[key] = _odd(rng, holder[key], holders)
        case _:
            holder[key] = _near(rng, holder[key])


def _bend_list(rng, holder: list, holders: list) -> None:
    place = rng.randrange(len(holder))
    match rng.randrange(6):
        case 0:
            del holder[place]
        case 1:
            holder.insert(place, copy.deepcopy(rng.choice(holder)))
        case 2:
            rng.shuffle(holder)
        case 3:
            holder[place] = _odd(rng, holder[place], holders)
        case _:
            holder[place] = _near(rng, holder[place])


def _odd(rng, value: object, holders: list) -> object:
    """Something else altogether, or the same within itself."""
    match rng.randrange(8):
        case 0:
            return copy.deepcopy(rng.choice(holders))
        case 1:
            return _nested(rng, value)
        case 2:
            return [value]
        case _:
            return copy.deepcopy(rng.choice(ODD_VALUES))


def _near(rng, value: object) -> object:
    """A value of the same kind, or of the neighbouring one."""
    if isinstance(value, bool) or value is None:
        return rng.choice((True, False, None, 0, 1))
    if isinstance(value, int):
        factor = rng.choice((1, -1, 2, 10, 10**6))
        return rng.choice((value + 1, value - 1, value * factor, float(value)))
    if isinstance(value, float):
        return rng.choice((value * 2, -value, value + 1e-9, str(value)))
    if isinstance(value, str):
        data = mutated_bytes(rng, value.encode(errors="replace"))
        return data[:_SMALL].decode(errors="replace")
    return mutated_document(rng, value) if value else rng.choice(ODD_VALUES)


def _nested(rng, value: object) -> object:
    for _ in range(rng.choice((3, 50, 400))):
        value = [value] if rng.random() < 0.5 else {"": value}
    return value


def _containers(document: object):
    entries = document.values() if isinstance(document, dict) else document
    for entry in entries if isinstance(document, dict | list) else ():
        if isinstance(entry, dict | list):
            yield entry
            yield from _containers(entry)


def _span(rng, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    length = rng.choice((1, 1, 2, 4, 8, 64, len(data)))
    return start, min(start + length, len(data))


def _flip(rng, data: bytes) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _set(rng, data: bytes) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    changed[rng.randrange(len(data))] = rng.choice((0, 1, 127, 128, 255, 32, 10))
    return bytes(changed)


def _delete(rng, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    return data[:start] + data[stop:]


def _repeat(rng, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    return data[:stop] + data[start:stop] * rng.choice((1, 1, 2, 20)) + data[stop:]


def _truncate(rng, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert(rng, data: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(_ODD_BYTES) + data[place:]


def _noise(rng, data: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.randbytes(rng.choice((1, 2, 4, 16))) + data[place:]


def _move(rng, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    rest = data[:start] + data[stop:]
    place = rng.randrange(len(rest) + 1)
    return rest[:place] + data[start:stop] + rest[place:]


def _exchange(rng, data: bytes) -> bytes:
    """Two tokens change places, or one becomes an odd one."""
    tokens = _TOKEN.findall(data[: _SMALL << 2])
    if not tokens:
        return data
    one, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    if rng.random() < 0.5:
        tokens[one], tokens[other] = tokens[other], tokens[one]
    else:
        tokens[one] = rng.choice((*_ODD_BYTES, tokens[other]))
    return b"".join(tokens)


def _pumped(rng, data: bytes) -> bytes:
    """A piece of the file, or an odd one, so often that the square of it would hang."""
    ends = [0, *(found.end() for found in _TOKEN.finditer(data[: _SMALL << 2]))]
    place, other = rng.choice(ends), rng.choice(ends)
    piece = rng.choice((data[other : other + 8], rng.choice(_ODD_BYTES), b" ", b"/* "))
    rest = rng.choice((data[place:], b""))
    return data[:place] + (piece or b" ") * (_LARGE // (len(piece) or 1)) + rest


_CHANGES = (_flip, _set, _delete, _repeat, _truncate, _insert, _noise, _move)
_CHANGES = (*_CHANGES, _exchange, _exchange, _exchange)


def written(rng, document: object) -> bytes:
    """A document as JSON, with a key twice or as NaN now and then."""
    text = json.dumps(document, ensure_ascii=rng.random() < 0.5)
    data = text.encode(errors="surrogatepass")
    return mutated_bytes(rng, data) if rng.random() < 0.1 else data
