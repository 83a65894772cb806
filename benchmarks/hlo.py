"""What an optimised HLO module does, read from its text.

A kernel is an instruction that a device launches: a fusion, a copy, a library call.
Instructions in the body of a loop count as often as the loop turns. Bytes are those
that a kernel reads from its operands and writes to its result in the device's memory:
of an operand that a fusion only slices, the slices. Padding of a TPU's tiles is not
counted.
"""

import dataclasses
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

_BITS = {"pred": 8, "bf16": 16, "token": 0, "opaque": 0, "c64": 64, "c128": 128}
_WIDE = {"f64", "s64", "u64", "c128"}
_ARRAY = re.compile(r"\b([a-z]\w*)\[([\d,<=]*)\](?:\{([^}]*)\})?")
_HEADER = re.compile(r"(ENTRY )?%?([\w.\-]+) \(.*\{\s*$")
_START = re.compile(r"\s*(ROOT )?%?([\w.\-]+) = ")
_TRIPS = re.compile(r'known_trip_count"?[:=]\s*\{"?n"?[:=]"?(\d+)')
_COLLECTIVE = re.compile(r"all-|reduce-scatter|collective-|ragged-all")
_CONTRACTED = re.compile(r'lhs_contracting_dim\w*"?[=:]\s*[\[{]([^\]}]*)')
_TESTS = {"parameter", "constant", "tuple", "get-tuple-element", "fusion"}

# Without a kernel: names of buffers, and the ends of what was started before.
_FREE = re.compile(
    r"parameter|constant|tuple|get-tuple-element|bitcast|after-all|partition-id|"
    r"replica-id|opt-barrier|add-dependency|domain|async-update|.*-done"
)
_VIEWS = {"bitcast", "reshape"}
_SLICES = {"slice", "dynamic-slice", "gather"}
# Without arithmetic: they move numbers.
_MOVES = _VIEWS | _SLICES | {
    *("parameter", "constant", "tuple", "get-tuple-element", "broadcast", "iota"),
    *("copy", "transpose", "concatenate", "pad", "reverse", "bitcast-convert"),
    "dynamic-update-slice",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Instruction:
    """A line of a computation."""

    name: str
    type: str
    op: str
    operands: tuple[str, ...]
    attributes: str
    root: bool

    def called(self, role: str) -> str | None:
        """Name of the computation that it calls in this role, such as `body`."""
        found = re.search(rf"\b{role}=%?([\w.\-]+)", self.attributes)
        return found[1] if found else None

    def many(self, role: str) -> list[str]:
        """Names in a list of computations."""
        found = re.search(rf"\b{role}=\{{([^}}]*)\}}", self.attributes)
        return re.findall(r"[\w.\-]+", found[1]) if found else []


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What is launched `times` times, with the bytes and operations of one launch."""

    name: str
    times: float
    bytes: float
    operations: float


def arrays(text: str) -> Iterator[tuple[str, int, bool]]:
    """Dtype, number of elements and whether on the chip, of each array of a type."""
    for dtype, shape, layout in _ARRAY.findall(text):
        yield dtype, math.prod(map(int, re.findall(r"\d+", shape))), "S(" in layout


def bits_of(dtype: str) -> int:
    """Bits of an element."""
    found = re.search(r"\d+", dtype)
    return _BITS.get(dtype, int(found[0]) if found else 0)


def bytes_of(text: str) -> float:
    """Bytes of a type in the device's memory."""
    return sum(n * bits_of(dtype) / 8 for dtype, n, chip in arrays(text) if not chip)


def _shape(text: str) -> list[int]:
    return [int(x) for x in re.findall(r"\d+", _ARRAY.findall(text)[0][1])]


def _elements(text: str) -> int:
    return next((n for _, n, _ in arrays(text)), 0)


def _end(text: str, start: int = 0) -> int:
    """Index behind the parenthesis that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if not depth:
            return i + 1
    return len(text)


def _instruction(line: str) -> Instruction | None:
    start = _START.match(line)
    if not start:
        return None
    rest = re.sub(r"/\*.*?\*/", "", line[start.end() :])
    split = _end(rest) if rest.startswith("(") else rest.find(" ")
    kind, rest = rest[:split], rest[split:].lstrip()
    op, _, _ = rest.partition("(")
    end = _end(rest, len(op))
    inside = rest[len(op) + 1 : end - 1]
    literal = op in ("parameter", "constant")
    operands = (inside,) if literal else tuple(re.findall(r"%([\w.\-]+)", inside))
    return Instruction(start[2], kind, op, operands, rest[end:], bool(start[1]))


class Module:
    """A module, and what one call of it launches.

    Args:
        text: the optimised module, as `compiled.as_text()` gives it.
        turns: assumed number of turns of each loop whose end the data decide.
    """

    def __init__(self, text: str, turns: float = 1.0) -> None:
        self.turns = turns
        self.computations: dict[str, dict[str, Instruction]] = {}
        entry, current = None, None
        for line in text.splitlines():
            if header := _HEADER.match(line):
                current = self.computations.setdefault(header[2], {})
                entry = header[2] if header[1] else entry
            elif line.startswith("}"):
                current = None
            elif current is not None and (found := _instruction(line)):
                current[found.name] = found
        if entry is None:
            raise ValueError("`text` must be an HLO module with an entry computation.")
        self.waits = 0.0  # times that the host reads whether a loop goes on
        self.kernels = self._walk(entry, 1.0)

    @property
    def launches(self) -> float:
        """Number of launches."""
        return sum(kernel.times for kernel in self.kernels)

    @property
    def bytes(self) -> float:
        """Bytes that all launches read and write."""
        return sum(kernel.times * kernel.bytes for kernel in self.kernels)

    def defects(self) -> Counter[str]:
        """Operations that no program should have, each with its number in the text."""
        found: Counter[str] = Counter()
        for computation in self.computations.values():
            for one in computation.values():
                found.update({x for x, *_ in arrays(one.type) if x in _WIDE})
                if _COLLECTIVE.match(one.op) and not one.op.endswith("-done"):
                    found[one.op.removesuffix("-start")] += 1
                if one.op == "scatter" and self._adds_floats(one):
                    found["scatter-add of floats"] += 1
                if self._imprecise(one, computation):
                    found["float product of default precision"] += 1
        return found

    def _adds_floats(self, scatter: Instruction) -> bool:
        body = self.computations[scatter.called("to_apply") or ""].values()
        floats = any(dtype[0] in "fbc" for dtype, *_ in arrays(scatter.type))
        unique = "unique_indices=true" in scatter.attributes
        return floats and not unique and any(x.op == "add" for x in body)

    def _imprecise(self, one: Instruction, computation: dict[str, Instruction]) -> bool:
        product = one.op in ("dot", "convolution") or "$gemm" in one.attributes
        given = [computation[x].type for x in one.operands[:2] if x in computation]
        full = any(x == "f32" for text in given for x, *_ in arrays(text))
        stated = re.search(r"HIGHEST|algorithm=dot_", one.attributes, re.IGNORECASE)
        return product and full and stated is None

    def _walk(self, name: str, times: float) -> list[Kernel]:
        """All launches of a computation that is run `times` times."""
        found: list[Kernel] = []
        for one in self.computations[name].values():
            if one.op == "while":
                found += self._loop(one, times)
            elif one.op == "call":
                found += self._walk(one.called("to_apply") or "", times)
            elif one.op == "conditional":
                roles = ("true_computation", "false_computation")
                branches = one.many("branch_computations") or [
                    branch for role in roles if (branch := one.called(role))
                ]
                each = [self._walk(branch, times) for branch in branches]
                found += max(each, key=lambda x: sum(kernel.times for kernel in x))
            elif not _FREE.fullmatch(one.op):
                found.append(self._kernel(one, self.computations[name], times))
        return found

    def _loop(self, one: Instruction, times: float) -> list[Kernel]:
        """A loop whose number of turns is known has no condition to compute."""
        body, condition = one.called("body") or "", one.called("condition") or ""
        known = _TRIPS.search(one.attributes)
        trips = float(known[1]) if known else self._bound(condition)
        if trips is not None:
            return self._walk(body, times * trips)
        trips = times * self.turns
        self.waits += trips
        return self._walk(body, trips) + self._walk(condition, trips)

    def _bound(self, condition: str) -> float | None:
        """The constant that a counter is compared with, if the condition is no more."""
        every = list(self.computations[condition].values())
        for fusion in [one for one in every if one.op == "fusion"]:
            every += self.computations[fusion.called("calls") or ""].values()
        computed = [one for one in every if one.op not in _TESTS]
        bounds = [one.operands[0] for one in every if one.op == "constant"]
        if len(computed) == len(bounds) == 1 and bounds[0].isdigit():
            return (
                float(bounds[0]) if "direction=LT" in computed[0].attributes else None
            )
        return None

    def _kernel(
        self, one: Instruction, computation: dict[str, Instruction], times: float
    ) -> Kernel:
        given = [computation[x].type for x in one.operands if x in computation]
        written, operations = bytes_of(one.type), 0.0
        body = one.called("calls")
        if one.op == "fusion" and body:
            read, written = self._traffic(body)
            operations = self._operations(body)
        elif one.op in _SLICES:
            read = written
        elif one.op == "dynamic-update-slice":
            read = written = bytes_of(given[1])
        else:
            read, operations = sum(map(bytes_of, given)), self._work(one, computation)
        return Kernel(f"{one.op} {one.name}", times, read + written, operations)

    def _traffic(self, name: str) -> tuple[float, float]:
        """Bytes that one launch of a fused computation reads and writes."""
        body = self.computations[name]
        source: dict[str, str] = {}  # a view's name to what it is a view of
        uses: defaultdict[str, list[tuple[Instruction, int]]] = defaultdict(list)
        for one in body.values():
            view = one.op in _VIEWS
            source[one.name] = source[one.operands[0]] if view else one.name
            if not view and one.op not in ("parameter", "constant"):
                for place, operand in enumerate(one.operands):
                    uses[source.get(operand, operand)].append((one, place))
        root = next(body[source[x.name]] for x in body.values() if x.root)

        def read(parameter: Instruction) -> float:
            whole, parts = bytes_of(parameter.type), 0.0
            for one, place in uses[parameter.name]:
                if place == 0 and one.op in _SLICES:
                    parts += bytes_of(one.type)
                elif place or one.op != "dynamic-update-slice":
                    return whole
            return whole if root is parameter else min(whole, parts)

        def written(one: Instruction) -> float:
            if one.op == "tuple":
                return sum(written(body[source[x]]) for x in one.operands)
            if one.op == "dynamic-update-slice":
                return bytes_of(body[one.operands[1]].type)
            return bytes_of(one.type)

        given = [x for x in body.values() if x.op == "parameter"]
        return sum(map(read, given)), written(root)

    def _operations(self, name: str) -> float:
        body = self.computations[name]
        return sum(self._work(one, body) for one in body.values())

    def _work(self, one: Instruction, body: dict[str, Instruction]) -> float:
        """Arithmetic operations of one instruction; a multiply-add counts as two."""
        result = _elements(one.type)
        if one.op in _MOVES:
            return 0.0
        if one.op in ("fusion", "call", "async-start"):
            inner = one.called("calls") or one.called("to_apply")
            return self._operations(inner) if inner in self.computations else 0.0
        given = [_elements(body[x].type) for x in one.operands if x in body]
        if found := _CONTRACTED.search(one.attributes):
            sizes = _shape(body[one.operands[0]].type)
            return (
                2.0
                * result
                * math.prod(sizes[int(x)] for x in re.findall(r"\d+", found[1]))
            )
        reduces = one.op in ("reduce", "reduce-window") and given
        return float(given[0] if reduces else result)
