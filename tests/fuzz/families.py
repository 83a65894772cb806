"""Hostile files in families: one number of each grows, and the file with it."""

__all__ = ["CONSTANTS", "FAMILIES", "Family"]

import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from . import builders as make
from .builders import PRIME, altered, cycle, names, nested


class Family(NamedTuple):
    """Files of one kind.

    Attributes:
        format: which reader they are for, a key of `READERS`.
        make: the file of a size.
        size: of the middle one of those that are measured.
        accepted: whether the files are valid.
    """

    format: str
    make: Callable[[int], bytes]
    size: int
    accepted: bool = True


def _valid(make: Callable[[int], bytes], size: int) -> Family:
    return Family("release", make, size)


def _refused(
    seed: str, size: int, changes: Callable[[int], Mapping[str, Any]]
) -> Family:
    return Family("release", altered(seed, changes), size, accepted=False)


def _of_binary(s: int) -> list[dict[str, Any]]:
    return [{"name": x, "levels": [0, 1]} for x in names(s)]


def _document(**entries: Any) -> bytes:
    return json.dumps(entries).encode()


TEXTS = make.levels_of(lambda i: f"level {i}")
DECIMALS = make.levels_of(lambda i: i / 8)
CLASHING = make.levels_of(lambda i: i * PRIME)
MIXED = make.levels_of(lambda i: f"l{i}" if i % 2 else i)

_COUNTS = {
    "star": _valid(lambda s: make.maximal(make.star(s)), 1000),
    "chain": _valid(lambda s: make.counts(make.chain(s)), 1000),
    "star with zeros": _valid(
        lambda s: make.counts(make.with_zeros(make.star(s))), 500
    ),
    "chain with zeros": _valid(
        lambda s: make.counts(make.with_zeros(make.chain(s))), 500
    ),
    "no edges": _valid(lambda s: make.counts(make.network({}, s)), 1000),
    "two parents": _valid(lambda s: make.maximal(make.two_parents(s)), 1000),
    "pairs": _valid(lambda s: make.maximal(make.pairs(s)), 1000),
    "windows": _valid(lambda s: make.maximal(make.windows(s)), 400),
    "text levels": _valid(make.with_levels(TEXTS), 8000),
    "decimal levels": _valid(make.with_levels(DECIMALS), 8000),
    "mixed levels": _valid(make.with_levels(MIXED), 8000),
    "levels of one hash": _valid(make.with_levels(CLASHING), 4000),
    "a long name": _valid(make.with_name, 400_000),
    "a long level": _valid(
        make.with_levels(lambda s: ["x" * s, "é" * (s // 6)]), 400_000
    ),
    "refused late": Family(
        "release", lambda s: make.late(make.maximal(make.two_parents(s))), 1000, False
    ),
    "many parents": _refused(
        "counts",
        2000,
        lambda s: {"variables": _of_binary(s), "parents": {"v0": names(s)[1:]}},
    ),
    "a cycle": _refused(
        "counts", 2000, lambda s: {"variables": _of_binary(s), "parents": cycle(s)}
    ),
    "all to all": _refused(
        "counts",
        40_000,
        lambda s: {
            "variables": _of_binary(math.isqrt(s)),
            "parents": {x: names(i) for i, x in enumerate(names(math.isqrt(s)))},
        },
    ),
    "unknown names": _refused("counts", 32_000, lambda s: {"parents": {"t": names(s)}}),
    "a name twice": _refused(
        "counts", 4000, lambda s: {"variables": [{"name": "t", "levels": [0, 1]}] * s}
    ),
    "many values": _refused("counts", 80_000, lambda s: {"values": list(range(s))}),
    "huge values": _refused("counts", 16_000, lambda s: {"values": [10**99] * s}),
    "ragged values": _refused(
        "counts", 16_000, lambda s: {"values": [[1] * (i % 7) for i in range(s)]}
    ),
    "nested values": _refused("counts", 160_000, lambda s: {"values": nested(s)}),
    "nested junk": _refused("counts", 160_000, lambda s: {"junk": nested(s)}),
    "many keys": _refused("counts", 40_000, lambda s: dict.fromkeys(names(s), 0)),
    "many options": _refused(
        "counts", 40_000, lambda s: {"statistic": dict.fromkeys(names(s), 0)}
    ),
    "long epsilon": _refused(
        "counts", 1_000_000, lambda s: {"guarantee.epsilon": "1" * s}
    ),
    "listed epsilon": _refused(
        "counts", 20_000, lambda s: {"guarantee.epsilon": [1] * s}
    ),
    "long library": _refused("counts", 80_000, lambda s: {"library": "\0" * s}),
}

_DRAWN = {
    "split: equal parts": _valid(make.split(lambda s: [Fraction(1, 4)] * s), 20),
    "split: all differ": _valid(
        make.split(lambda s: [Fraction(i + 1, 10_000) for i in range(s)]), 20
    ),
    "split: coprime parts": Family("release", make.coprime, 400, False),
    "samples: star": _valid(lambda s: make.samples(make.star(s)), 500),
    "samples: many": _valid(lambda s: make.samples(make.star(2), s), 8000),
    "samples: many levels": _valid(make.many_levels, 8000),
    "samples: long least": _refused(
        "samples", 80_000, lambda s: {"mechanism.least": [1] * s}
    ),
    "mean: long prior": _refused(
        "mean", 40_000, lambda s: {"mechanism.prior": [[0.5] * s, 1.0]}
    ),
    "mean: many limits": _refused(
        "mean",
        20_000,
        lambda s: {"mechanism.truncation": {x: [0.0, 1.0] for x in names(s)}},
    ),
}

_FOURIER = {
    "fourier: star": _valid(lambda s: make.fourier(make.star(s)), 250),
    "fourier: chain": _valid(lambda s: make.fourier(make.chain(s)), 250),
    "fourier: two parents": _valid(lambda s: make.fourier(make.two_parents(s)), 120),
    "fourier: windows": _valid(lambda s: make.fourier(make.windows(s)), 40),
    "fourier: one table": _valid(lambda s: make.fourier(make.full(s)), 20_000),
    "order 1": _valid(lambda s: make.of_order([2] * s, 1), 1000),
    "order 2": _valid(lambda s: make.of_order([2] * math.isqrt(2 * s), 2), 8000),
    "order of half": _refused(
        "order", 4000, lambda s: {"variables": _of_binary(s), "statistic.order": s // 2}
    ),
    "order of all but one": _refused(
        "order",
        4000,
        lambda s: {
            "variables": _of_binary(s),
            "statistic.order": s - 1,
            "values": [0] * s,
        },
    ),
}

_SUMS = {
    "line: many columns": _valid(make.moments("linear-regression"), 3000),
    "normal: many columns": _valid(make.moments("multivariate-gaussian"), 3000),
    "normal: columns, no values": _refused(
        "normal",
        4000,
        lambda s: {
            "variables": [{"name": x, "lower": 0, "upper": 1} for x in names(s)],
            "statistic.family": "multivariate-gaussian",
        },
    ),
    "categorical": _valid(make.categorical, 10_000),
}

_PUBLIC = {
    "schema: many": Family(
        "schema", lambda s: _document(variables=make.declared_binary(s)), 4000
    ),
    "schema: numbers": Family(
        "schema", lambda s: _document(variables=make.numbers(s)), 4000
    ),
    "schema: text levels": Family("schema", make.declared(TEXTS), 20_000),
    "schema: decimal levels": Family("schema", make.declared(DECIMALS), 10_000),
    "schema: levels of one hash": Family("schema", make.declared(CLASHING), 10_000),
    "network: star": Family("network", make.structure(make.star), 4000),
    "network: two parents": Family("network", make.structure(make.two_parents), 4000),
    "network: pairs": Family("network", make.structure(make.pairs), 4000),
    "network: a cycle": Family(
        "network", lambda s: _document(parents=cycle(s)), 4000, False
    ),
    "network: many parents": Family(
        "network", lambda s: _document(parents={"v0": names(s)[1:]}), 4000, False
    ),
    "bif: star": Family("bif", lambda s: make.bif(make.star(s).parent_names()), 1000),
    "bif: two parents": Family(
        "bif", lambda s: make.bif(make.two_parents(s).parent_names()), 1000
    ),
    "bif: many states": Family("bif", lambda s: make.bif({"x": []}, s), 20_000),
    "bif: many parents": Family(
        "bif",
        lambda s: make.bif({x: names(s)[1:] if x == "v0" else [] for x in names(s)}),
        2000,
        False,
    ),
}


def _repeated(format: str, text: str) -> Family:
    def make(s: int) -> bytes:
        return (text * (s // len(text))).encode()

    return Family(format, make, 1_000_000, accepted=False)


_BIF = ("variable ", "variable x {", 'variable "', "probability ( a | ", "/*", "//")
_BIF += ("variable x { type discrete [2]", "type ", " ", "{")
_JSON = (" ", "[", "9", '{"a":', '"\\u00e9', "[1,")

FAMILIES = {
    **{f"counts: {name}": family for name, family in _COUNTS.items()},
    **_DRAWN,
    **_FOURIER,
    **_SUMS,
    **_PUBLIC,
    **{f"bif: {text!r} again and again": _repeated("bif", text) for text in _BIF},
    **{f"json: {text!r} again and again": _repeated("release", text) for text in _JSON},
}
"""By name: files that grow."""

CONSTANTS = {
    "map-cells: 2,880 units, 3 levels": lambda: make.cells(2880, 3),
    "map-cells: 720 units, a prior": lambda: make.cells(720, 3, "2.5"),
    "samples: 4,096 units, n = 16": lambda: make.fine(16),
    "samples: 4,096 units, one hash": lambda: make.fine(16, f"{10**6}/{PRIME}"),
    "rate: 65,536 points": lambda: make.rates(1 << 16),
    "rate: 65,536 points, one hash": lambda: make.rates(1 << 16, f"7/{PRIME}"),
    "order 3: 7 kinds of levels": lambda: make.of_order(range(3, 10), 3),
    "order 2: 27 variables of 3 levels": lambda: make.of_order([3] * 27, 2),
    "fourier: a large scope": lambda: make.fourier(make.lattice(400, 19)),
    "fourier: a lattice": lambda: make.fourier(make.lattice(500)),
    "fourier: tangled": lambda: make.fourier(make.tangled(300)),
    "fourier: two tables of 12": lambda: make.fourier(
        make.network({11: range(11), 12: range(1, 12)}, 13)
    ),
}
"""By name: small files that ask for much, up to the stated limits."""
