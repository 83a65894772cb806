"""The HTML page of a report about a release."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from dpjax.exports.reports.elements import (
    LONGEST,
    bars,
    document,
    listed,
    paragraphs,
    section,
    table,
)
from dpjax.privacy import in_words

_MOST_CODES = 100
_HEADINGS = {"record": "What a row is", "use": "Intended use"}


def page_of(content: Mapping[str, Any]) -> str:
    """Return the page of a report with this content (see `Report`)."""
    sections = (
        _published(content),
        _protection(content["protection"]),
        _dictionary(content["variables"]),
        _results(content["results"]),
        _budget(content["budget"]),
        _verification(content["verification"]),
    )
    return document(content["title"], sections)


def _published(content: Mapping[str, Any]) -> str:
    facts = content["published"]
    about: Mapping[str, str] = content["about"]
    records = facts["records"]
    return section(
        "What is published",
        listed(
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
    body = paragraphs(facts["sentences"])
    chances = facts["chances"]
    if chances:
        columns = {
            "before the release": [f"{x['before']:.0%}" for x in chances],
            "after it, at most": [f"{x['after']:.1%}" for x in chances],
        }
        body += table("The chance that an attacker gives to a guess", columns)
    return section("Who is protected, and how well", body)


def _dictionary(variables: Mapping[str, Mapping[str, Any]]) -> str:
    columns = {
        "variable": [*variables],
        "values": [_values(declared) for declared in variables.values()],
    }
    return section("Data dictionary", table("Variables and their values", columns))


def _values(declared: Mapping[str, Any]) -> str:
    if "levels" in declared and not isinstance(declared["levels"], int):
        text = ", ".join(map(str, declared["levels"]))
        rest = {k: x for k, x in declared.items() if k != "levels" and x}
    else:
        text, rest = "", {k: x for k, x in declared.items() if x is not None}
    noted = "; ".join(f"{name}: {_flat(value)}" for name, value in rest.items())
    return "; ".join(filter(None, (text, noted)))


def _flat(value: Any) -> str:
    if isinstance(value, Mapping) and len(value) > _MOST_CODES:
        return f"{len(value):,}, which are in the report's JSON file"
    if isinstance(value, Mapping):
        return ", ".join(f"{k} = {_flat(x)}" for k, x in value.items())
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return ", ".join(map(_flat, value)) if listed else str(value)


def _results(results: Mapping[str, Any]) -> str:
    parts = [f"<p>{escape(results['intervals'])}</p>"]
    for heading, columns in results["tables"].items():
        rows = max(map(len, columns.values()))
        if rows > LONGEST:
            parts.append(
                f"<p>The table “{escape(heading)}” has {rows:,} rows, which are in the "
                "report's CSV and JSON files.</p>"
            )
        else:
            middle = columns.get("mean") or columns["count"]
            drawn: Iterable[str] = ()
            if "lower" in columns:  # a single draw has no interval
                drawn = bars(columns["lower"], columns["upper"], middle)
            parts.append(table(heading, columns, drawn))
    return section("Results", "\n".join(parts))


def _budget(facts: Mapping[str, Any] | None) -> str:
    if facts is None:
        return ""
    period = "" if facts["period"] is None else f", of this {facts['period']}"
    body = listed(
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
    return section("The privacy budget", body + table("All charges", columns))


def _verification(facts: Mapping[str, Any]) -> str:
    body = (
        "<p>Whoever has the release file and the dpjax package can check it: "
        "<code>dpjax verify FILE</code> derives its cost again, without any record. "
        "Compare the SHA-256 hash in the file with this one:</p>"
        f"<p><code>{escape(facts['sha256'])}</code></p>"
    )
    return section("How to verify the release", body)
