"""The record of a run: to JSON and back, as a table, and into the README."""

import dataclasses
import json
import math
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchmarks.report import Row, figure
from benchmarks.runner import Result

README = pathlib.Path(__file__).with_name("README.md")


@dataclasses.dataclass(frozen=True)
class Record:
    """A run.

    Args:
        about: plain facts: date, sizes ("default" or "full"), wall_seconds, and, each a
            dictionary, machine, device, versions and commit.
        results: of each benchmark.
    """

    about: Mapping[str, object]
    results: tuple[Result, ...]

    @property
    def missed(self) -> int:
        """Number of missed targets, failed benchmarks included."""
        return sum(result.missed for result in self.results)

    def save(self, path: pathlib.Path) -> None:
        """Write JSON; a figure that is not finite becomes null."""
        results = [_plain(result) for result in self.results]
        document = {**self.about, "missed": self.missed, "benchmarks": results}
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        path.write_text(text + "\n", encoding="utf-8")


def load(path: pathlib.Path) -> Record:
    """Read what `Record.save` wrote.

    Raises:
        ValueError: if the file cannot be read, or is something else.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(
            f"`--read` must be a file that can be read, got {path}: {error.strerror}."
        ) from error
    try:
        document = json.loads(text)
        results = [_result(found) for found in document.pop("benchmarks")]
        del document["missed"]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"`--read` must be the record of a run, got {path}: run again."
        ) from error
    return Record(document, tuple(results))


def markdown(record: Record) -> Iterator[str]:
    """Lines of the facts, the table and the notes."""
    yield from _facts(record)
    yield ""
    yield "| benchmark | id | case | ratio | target | |"
    yield "|---|---|---|---:|---:|---|"
    for result in record.results:
        for row in result.rows:
            yield f"| {result.module.removeprefix('bench_')} | {_cells(row)} |"
        if result.failed:
            why = _escaped(result.failed)
            yield f"| {result.module.removeprefix('bench_')} | | {why} | | | FAILED |"
    notes = [note for result in record.results for note in result.notes]
    if notes:
        yield ""
        yield from (f"- {note}" for note in notes)


def update_readme(record: Record, path: pathlib.Path = README) -> None:
    """Put the table between the marks of its platform and sizes, or at the end."""
    device = record.about["device"]
    assert isinstance(device, Mapping)
    run = f"{record.about['sizes']} run on {device['platform']}"
    put_between_marks(run, markdown(record), path)


def put_between_marks(
    mark: str, lines: Iterable[str], path: pathlib.Path = README
) -> None:
    """Replace all between two comments that name the mark, or add both at the end."""
    first, last = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    text = path.read_text(encoding="utf-8")
    if first not in text:
        text = f"{text.rstrip()}\n\n{first}\n{last}\n"
    if text.count(first) != 1 or text.count(last) != 1:
        raise ValueError(f"`{path.name}` must have each of {first} and {last} once.")
    before, rest = text.split(first)
    table = "\n".join(lines)
    after = rest.split(last)[1]
    path.write_text(f"{before}{first}\n{table}\n{last}{after}", encoding="utf-8")


def _facts(record: Record) -> Iterator[str]:
    """When and of what, where, by which versions: a line each."""
    about: dict[str, Any] = dict(record.about)
    machine, device, commit = about["machine"], about["device"], about["commit"]
    changed = " with changes" if commit["dirty"] else ""
    yield (
        f"**missed: {record.missed}** in the run of {about['date']}, commit "
        f"{commit['revision']}{changed}, {about['sizes']} sizes, "
        f"{about['wall_seconds']} s in all."
    )
    yield (
        f"{machine['cores']} cores of {machine['cpu']}, {machine['memory_gib']} GiB, "
        f"{machine['os']}; JAX on {_device(device)}."
    )
    versions = about["versions"].items()
    yield ", ".join(f"{name} {version}" for name, version in versions if version) + "."


def _device(device: Mapping[str, Any]) -> str:
    if "failed" in device:
        return f"no device: {device['failed']}"
    speed = device["copy_bytes_per_second"] / 1e9
    return f"{device['count']} × {device['kind']}, which copies at {speed:.1f} GB/s"


def _cells(row: Row) -> str:
    """The cells of one row after the first."""
    ratio = f"{figure(row.ratio)} {row.unit}" if math.isfinite(row.ratio) else "none"
    sign = "≥" if row.at_least else "≤"
    target = "" if row.target is None else f"{sign} {row.target:g}"
    cells = [row.id, row.case, ratio, target, "MISSED" if row.missed else ""]
    return " | ".join(_escaped(cell) for cell in cells)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(result: Result) -> dict[str, object]:
    rows = [
        {**_finite(dataclasses.asdict(row)), "missed": row.missed}
        for row in result.rows
    ]
    fields = {"rows": rows, "notes": list(result.notes), "missed": result.missed}
    return {**dataclasses.asdict(result), **fields}


def _finite(value: Any) -> Any:
    """The same with None for each number that JSON lacks."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _result(found: dict[str, Any]) -> Result:
    fields = {name: value for name, value in found.items() if name != "missed"}
    rows = tuple(_row(row) for row in fields.pop("rows"))
    return Result(rows=rows, notes=tuple(fields.pop("notes")), **fields)


def _row(found: dict[str, Any]) -> Row:
    fields = {name: value for name, value in found.items() if name != "missed"}
    if fields["ratio"] is None:
        fields["ratio"] = math.nan
    return Row(**fields)
