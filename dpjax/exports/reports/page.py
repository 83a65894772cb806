"""The HTML page of a report: one file without scripts, images or links to load."""

__all__ = ["page_of"]

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from dpjax.privacy import in_words

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
_STATISTICS = {"mean", "count", "sd", "lower", "upper"}
_NUMBER = ' class="number"'
_HEADINGS = {"record": "What a row is", "use": "Intended use"}
_LONGEST = 400  # rows of a table on the page


def page_of(content: Mapping[str, Any]) -> str:
    """Return the page of a report with this content (see `Report`)."""
    title = escape(content["title"])
    sections = (
        _published(content),
        _protection(content["protection"]),
        _dictionary(content["variables"]),
        _results(content["results"]),
        _budget(content["budget"]),
        _verification(content["verification"]),
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n" + "\n".join(filter(None, sections)) + "\n</main>\n"
        "</body>\n</html>\n"
    )


def _published(content: Mapping[str, Any]) -> str:
    facts = content["published"]
    about: Mapping[str, str] = content["about"]
    records = facts["records"]
    return _section(
        "What is published",
        _list(
            {
                **{_HEADINGS.get(x) or x.capitalize(): about[x] for x in about},
                "Content": facts["what"],
                "Noise": facts["mechanism"],
                "Published numbers": f"{facts['numbers']:,}",
                "Records": "private" if records is None else f"{records:,}",
                "Software": facts["made_with"],
            }
        ),
    )


def _protection(facts: Mapping[str, Any]) -> str:
    body = "".join(f"<p>{escape(text)}</p>\n" for text in facts["sentences"])
    chances = facts["chances"]
    if chances:
        columns = {
            "before the release": [f"{x['before']:.0%}" for x in chances],
            "after it, at most": [f"{x['after']:.1%}" for x in chances],
        }
        body += _table("The chance that an attacker gives to a guess", columns)
    return _section("Who is protected, and how well", body)


def _dictionary(variables: Mapping[str, Mapping[str, Any]]) -> str:
    columns = {
        "variable": [*variables],
        "values": [_values(declared) for declared in variables.values()],
    }
    return _section("Data dictionary", _table("Variables and their values", columns))


def _values(declared: Mapping[str, Any]) -> str:
    if "levels" in declared and not isinstance(declared["levels"], int):
        text = ", ".join(map(str, declared["levels"]))
        rest = {k: x for k, x in declared.items() if k != "levels" and x}
    else:
        text, rest = "", {k: x for k, x in declared.items() if x is not None}
    noted = "; ".join(f"{name}: {_flat(value)}" for name, value in rest.items())
    return "; ".join(filter(None, (text, noted)))


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} = {_flat(x)}" for k, x in value.items())
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return ", ".join(map(_flat, value)) if listed else str(value)


def _results(results: Mapping[str, Any]) -> str:
    parts = [f"<p>{escape(results['intervals'])}</p>"]
    for heading, columns in results["tables"].items():
        rows = len(columns["sd"])
        if rows > _LONGEST:
            parts.append(
                f"<p>The table “{escape(heading)}” has {rows:,} rows, which are in the "
                "report's CSV and JSON files.</p>"
            )
        else:
            parts.append(_table(heading, columns, _bars(columns)))
    return _section("Results", "\n".join(parts))


def _bars(columns: Mapping[str, list]) -> list[str]:
    """Return a drawing of each row's interval, on one scale for the whole table."""
    low, high = min(columns["lower"]), max(columns["upper"])
    if 0 <= low and high <= 1:
        low, high = 0, 1  # probabilities
    width = (high - low) or 1
    middle = columns.get("mean") or columns["count"]

    def place(value: float) -> str:
        return f"{2 + 96 * (value - low) / width:.1f}"

    return [
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" '
        'focusable="false"><path d="M0 5H100" stroke="#d0d0d0" stroke-width=".6"/>'
        f'<path d="M{place(a)} 5H{place(b)}" stroke="#0b57a4" stroke-width="3"/>'
        f'<path d="M{place(x)} 0V10" stroke="#1b1b1b" stroke-width="1"/></svg>'
        for a, b, x in zip(columns["lower"], columns["upper"], middle, strict=True)
    ]


def _budget(facts: Mapping[str, Any] | None) -> str:
    if facts is None:
        return ""
    period = "" if facts["period"] is None else f", of this {facts['period']}"
    body = _list(
        {
            "Budget": in_words(facts["budget"]),
            f"Spent{period}": in_words(facts["spent"]),
            "Left": in_words(facts["left"]),
        }
    )
    charges = facts["charges"]
    columns = {
        "date": [charge["date"] or "" for charge in charges],
        "cost": [in_words(charge["cost"]) for charge in charges],
        "part of the table": [charge["part"] or "all" for charge in charges],
        "purpose": [charge["purpose"] for charge in charges],
    }
    return _section("The privacy budget", body + _table("All charges", columns))


def _verification(facts: Mapping[str, Any]) -> str:
    body = (
        "<p>Whoever has the release file can check it: <code>pip install dpjax</code>, "
        "then <code>dpjax verify FILE</code> derives its cost again, without any "
        "record. Compare the SHA-256 hash in the file with this one:</p>"
        f"<p><code>{escape(facts['sha256'])}</code></p>"
    )
    return _section("How to verify the release", body)


def _section(heading: str, body: str) -> str:
    return f"<section>\n<h2>{escape(heading)}</h2>\n{body}\n</section>"


def _list(facts: Mapping[str, str]) -> str:
    pairs = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>\n"
        for name, text in facts.items()
    )
    return f"<dl>\n{pairs}</dl>\n"


def _table(
    caption: str, columns: Mapping[str, Sequence[Any]], drawn: Iterable[str] = ()
) -> str:
    """Return a table; each of `drawn` is HTML for a last cell of a row."""
    drawn = [*drawn]
    names = [*columns, *["interval"][: len(drawn)]]
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
    return f"<td{_NUMBER}>{_digits(value)}</td>"


def _digits(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    is_common = value == 0 or 0.001 <= abs(value) < 1  # as most probabilities are
    return f"{value:.4f}" if is_common else f"{value:.4g}"
