"""One reproduction, run and written: a table, a picture and a paragraph."""

__all__ = ["Written", "refuse_data", "reproduce", "write_page"]

import contextlib
import csv
import io
import itertools
import math
import os
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dpjax._documents import make_folder, write_atomically
from dpjax.plots import require_matplotlib
from papers.catalogue import reproduction
from papers.reproduction import (
    FAILS,
    HOLDS,
    NOT_CHECKABLE,
    UNDECIDED,
    Claim,
    Reproduced,
    Reproduction,
    Setting,
    Table,
)


@dataclass(frozen=True)
class Written:
    """A reproduction and its files.

    Args:
        about: what was reproduced.
        found: the numbers, words and claims.
        files: their names in the folder.
    """

    about: Reproduction
    found: Reproduced
    files: tuple[str, ...]

    @property
    def as_expected(self) -> bool:
        """Whether every claim came out as it is known to."""
        return all(claim.as_expected for claim in self.found.claims)


def reproduce(
    name: str,
    out: str | os.PathLike,
    *,
    quick: bool = False,
    data: str | os.PathLike | None = None,
    schema: str | os.PathLike | None = None,
    seed: int = 0,
) -> Written:
    """Make a figure, table or statement of the papers again, and write what was found.

    Args:
        name: one of `papers.names()`.
        out: folder for NAME.csv, NAME.png, NAME.svg and NAME.md; made if need be.
        quick: fewer repeats, in seconds.
        data: a table of the user's, for those that take one; None: simulated data.
        schema: the public facts about `data`, a JSON file.
        seed: of all that is random.

    Privacy:
        With `data`: none. What is written shows exact facts of it.

    Raises:
        ValueError: if there is no such name, it takes no data, or the folder cannot be
            written.
        ImportError: if an optional package is missing.
    """
    require_matplotlib()
    about = reproduction(name)
    refuse_data(about, data, schema)
    given = [None if x is None else pathlib.Path(x) for x in (data, schema)]
    with _folder(out) as folder:
        found = about.run(Setting(seed, name, quick, *given))
        if data is not None:  # what is known is known of simulations
            claims = [replace(claim, expected=UNDECIDED) for claim in found.claims]
            found = replace(found, claims=claims)
        return Written(about, found, _write(folder, about, found))


def refuse_data(
    about: Reproduction,
    data: str | os.PathLike | None,
    schema: str | os.PathLike | None,
) -> None:
    """Refuse what cannot go together, before anything is made.

    Raises:
        ValueError: if the reproduction takes no data, or one comes without the other.
    """
    if (data is None) != (schema is None) or "" in (data, schema):
        raise ValueError("`data` must come with a schema, and a schema with data.")
    if data is not None and not about.data:
        raise ValueError(f"`data` must not be given for {about.name}: it takes none.")


@contextlib.contextmanager
def _folder(out: str | os.PathLike) -> Iterator[pathlib.Path]:
    """A folder that is there; if nothing is written, none is left."""
    new = not pathlib.Path(out).exists()
    folder = make_folder(out)
    try:
        yield folder
    finally:
        if new and not any(folder.iterdir()):
            folder.rmdir()


def _write(folder: pathlib.Path, about: Reproduction, found: Reproduced) -> tuple:
    files = []
    for suffix, table in found.tables.items():
        files.append(_named(about.name, suffix, ".csv"))
        write_atomically(folder / files[-1], _csv(table))
    for suffix, draw in found.figures.items():
        for kind in (".png", ".svg"):
            files.append(_named(about.name, suffix, kind))
            draw(folder / files[-1])
    files.append(f"{about.name}.md")
    pictures = [file for file in files if file.endswith(".png")]
    text = f"# {_section(about, found, pictures)}"
    write_atomically(folder / files[-1], text)
    return tuple(files)


def _named(name: str, suffix: str, kind: str) -> str:
    return f"{name}-{suffix}{kind}" if suffix else f"{name}{kind}"


def _csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    for row in zip(*table.values(), strict=True):
        writer.writerow(f"{x:.9g}" if isinstance(x, float) else x for x in row)
    return text.getvalue()


def _section(about: Reproduction, found: Reproduced, pictures: Sequence[str]) -> str:
    """A heading's text, and all under it."""
    parts = [
        f"{about.title}\n\n*{about.source}* · `python -m papers {about.name}`",
        *(f"![{about.title}]({picture})" for picture in pictures),
        found.paragraph,
    ]
    if found.claims:
        parts.append(_claims(found.claims))
    return "\n\n".join(parts) + "\n"


def _claims(claims: Sequence[Claim]) -> str:
    lines = ["| claim | by | found | standard errors |", "|---|---|---|---|"]
    for claim in claims:
        note = "" if claim.as_expected else ", **not what is known**"
        note = ", nothing was expected" if claim.expected == UNDECIDED else note
        words = claim.words.replace("|", r"\|")  # |I| is no column
        lines.append(
            f"| {words} | {claim.by} | {claim.verdict}{note} | "
            f"{_sure(claim.standard_errors)} |"
        )
    return "\n".join(lines)


def _sure(standard_errors: int | float) -> str:
    if math.isinf(standard_errors):
        return "exact"
    near = abs(standard_errors) < 10  # a verdict changes at 3
    return f"{standard_errors:.{2 if near else 1}f}"


def write_page(
    folder: str | os.PathLike, written: Sequence[Written], facts: str
) -> None:
    """All side by side, as README.md of the folder.

    Args:
        folder: where the reproductions were written.
        written: what is shown, in this order.
        facts: how they were made, in a line.

    Raises:
        ValueError: if it cannot be written.
    """
    parts = ["# The papers, reproduced", facts, _summary(written)]
    for one in written:
        pictures = [file for file in one.files if file.endswith(".png")]
        parts.append(f"## {_section(one.about, one.found, pictures)}".rstrip())
    text = "\n\n".join(parts) + "\n"
    write_atomically(pathlib.Path(folder) / "README.md", text)


def _summary(written: Sequence[Written]) -> str:
    claims = [*itertools.chain.from_iterable(one.found.claims for one in written)]
    lines = [
        "| | claims | hold | fail | undecided | not checkable here |",
        "|---|---|---|---|---|---|",
    ]
    for by, label in (("paper", "of the papers"), ("dpjax", "of ours")):
        verdicts = [claim.verdict for claim in claims if claim.by == by]
        numbers = [verdicts.count(x) for x in (HOLDS, FAILS, UNDECIDED, NOT_CHECKABLE)]
        lines.append(f"| {label} | {len(verdicts)} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)
