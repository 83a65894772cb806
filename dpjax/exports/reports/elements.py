"""Elements of pages of HTML: files without scripts, images or links to load."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light; }
body { font: 1rem/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff;
  margin: 0 auto; padding: 1rem; max-width: 62rem; overflow-wrap: anywhere; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #767676; }
.wide { overflow-x: auto; } .wide:focus { outline: 2px solid #0b57a4; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; overflow-wrap: normal; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top;
  border-bottom: 1px solid #d0d0d0; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 10rem; height: 1.1rem; vertical-align: middle; }
code { overflow-wrap: anywhere; }
dt { font-weight: 600; } dd { margin: 0 0 .6rem; }
@media (max-width: 30rem) { table { font-size: .8rem; } svg { width: 4rem; }
  th, td { padding-right: .4rem; } }
@media print { body { max-width: none; font-size: 10pt; padding: 0; }
  h2, caption { break-after: avoid; } tr { break-inside: avoid; }
  .wide { overflow: visible; } }
"""
_STATISTICS = {
    *("mean", "count", "sd", "lower", "upper"),
    *("distance", "sampling", "usual", "largest", "release", "records"),
}
_NUMBER = ' class="number"'
LONGEST = 400
"""Rows of a table on a page."""


def document(title: str, sections: Iterable[str]) -> str:
    """Return a page with a title and sections, those that are not empty."""
    title = escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n" + "\n".join(filter(None, sections)) + "\n</main>\n"
        "</body>\n</html>\n"
    )


def section(heading: str, body: str) -> str:
    """Return a section with a heading, and a body that is HTML."""
    return f"<section>\n<h2>{escape(heading)}</h2>\n{body}\n</section>"


def paragraphs(sentences: Iterable[str]) -> str:
    """Return a paragraph for each text."""
    return "".join(f"<p>{escape(text)}</p>\n" for text in sentences)


def listed(facts: Mapping[str, str]) -> str:
    """Return a list of names and what is said about each."""
    pairs = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>\n"
        for name, text in facts.items()
    )
    return f"<dl>\n{pairs}</dl>\n"


def bars(
    lower: Sequence[float | None],
    upper: Sequence[float | None],
    marks: Sequence[float | None],
    *,
    probabilities: bool = True,
) -> list[str]:
    """Return a drawing of each row's interval and mark, on one scale for all rows.

    A row without an interval has a mark only, and one without a mark the interval.

    If `probabilities` and all intervals are within [0, 1], this is the scale.
    """
    ends = [x for x in (*lower, *upper, *marks) if x is not None]
    low, high = min(ends, default=0), max(ends, default=0)
    if probabilities and 0 <= low and high <= 1:
        low, high = 0, 1
    width = (high - low) or 1

    def place(value: float) -> str:
        return f"{2 + 96 * (value - low) / width:.1f}"

    def bar(a: float | None, b: float | None) -> str:
        if a is None or b is None:
            return ""
        return f'<path d="M{place(a)} 5H{place(b)}" stroke="#0b57a4" stroke-width="3"/>'

    def mark(x: float | None) -> str:
        if x is None:
            return ""
        return f'<path d="M{place(x)} 0V10" stroke="#1b1b1b" stroke-width="1"/>'

    return [
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" '
        'focusable="false"><path d="M0 5H100" stroke="#d0d0d0" stroke-width=".6"/>'
        f"{bar(a, b)}{mark(x)}</svg>"
        for a, b, x in zip(lower, upper, marks, strict=True)
    ]


def table(
    caption: str,
    columns: Mapping[str, Sequence[Any]],
    drawn: Iterable[str] = (),
    heading: str = "interval",
) -> str:
    """Return a table, with numbers in the columns whose names are of statistics.

    Args:
        caption: text above the table.
        columns: cells by name of the column.
        drawn: HTML for a last cell of each row; nothing for no such column.
        heading: name of the last column.
    """
    drawn = [*drawn]
    names = [*columns, *[heading][: len(drawn)]]
    head = "".join(
        f'<th scope="col"{_NUMBER * (name in _STATISTICS)}>{escape(name)}</th>'
        for name in names
    )
    rows = []
    for i, row in enumerate(zip(*columns.values(), strict=True)):
        cells = "".join(map(_cell, columns, row))
        last = f"<td>{drawn[i]}</td>" if drawn else ""
        rows.append(f"<tr>{cells}{last}</tr>")
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table>\n<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>"
        "\n<tbody>\n" + "\n".join(rows) + "\n</tbody>\n</table></div>\n"
    )


def _cell(name: str, value: Any) -> str:
    if name not in _STATISTICS:
        return f"<td>{escape(str(value))}</td>"
    if value is None:
        return "<td></td>"
    return f"<td{_NUMBER}>{_digits(value)}</td>"


def _digits(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    is_common = value == 0 or 0.001 <= abs(value) < 1  # as most probabilities are
    return f"{value:.4f}" if is_common else f"{value:.4g}"
