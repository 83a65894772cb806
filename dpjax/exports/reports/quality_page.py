"""The HTML page that compares synthetic records with a release."""

from collections.abc import Mapping
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

_PRIVACY = (
    "The synthetic records are compared with the release that they are drawn from, not "
    "with the original records. The page shows whether the synthetic records say what "
    "the release says. It does not show how close the release is to the original "
    "records: the intervals in the report of the release do. The comparison costs no "
    "privacy."
)
_DISTANCE = (
    "A distance is a total variation distance, which is between 0 and 1. For one "
    "variable, the share of synthetic records with any of its levels, or with any set "
    "of them, differs by at most the distance from the probability under the "
    "posterior means of the release. For a pair of variables, this holds for all sets "
    "of pairs of levels."
)


def quality_page(content: Mapping[str, Any]) -> str:
    """Return the page of a comparison with this content (see `quality`)."""
    facts, tables = content["compared"], dict(content["results"]["tables"])
    of_variables, of_pairs = tables.pop("Variables"), tables.pop("Pairs of variables")
    sections = (
        _what(facts),
        _meaning(facts, of_variables, of_pairs),
        section("Variables", _distances("Distances of single variables", of_variables)),
        _pairs(of_pairs),
        _levels(facts, tables),
    )
    return document(content["title"], sections)


def _what(facts: Mapping[str, Any]) -> str:
    given = ", ".join(f"{name} = {level}" for name, level in facts["given"].items())
    return section(
        "What is compared",
        paragraphs([_PRIVACY])
        + listed(
            {
                "Synthetic records": f"{facts['records']:,}",
                **({"Levels of all records": given} if given else {}),
                "Method of inference": facts["method"],
                "Software": facts["made_with"],
            }
        ),
    )


def _meaning(facts: Mapping[str, Any], of_variables: Mapping, of_pairs: Mapping) -> str:
    n, k = facts["records"], facts["tables"]
    expected = (
        "Records are drawn at random, so that distances are not 0. The column "
        f"“sampling” has the expected distance of {n:,} records that are drawn from "
        "the posterior means themselves. Synthetic records differ more: the release "
        "does not determine the parameters exactly, and each synthetic table has "
        "parameters that are drawn from their posterior distribution. The columns "
        f"“usual” and “largest” show how much: they have the mean and the largest of "
        f"the distances of {k} further tables of {n:,} records, which are drawn from "
        "the release in the same manner. Drawings go from “sampling” to “largest”, and "
        "the mark is the distance."
    )
    counts = (
        f"A distance is above “largest” by chance in at most 1 of {k + 1} cases. Here "
        f"it is so for {_above(of_variables)} variables and {_above(of_pairs)} pairs, "
        "whose distances depend on each other. If it is so for many, the records are "
        "not drawn from this posterior, or were changed."
    )
    return section("What the figures mean", paragraphs([_DISTANCE, expected, counts]))


def _above(columns: Mapping[str, list]) -> str:
    pairs = zip(columns["distance"], columns["largest"], strict=True)
    return f"{sum(a > b for a, b in pairs):,} of {len(columns['distance']):,}"


def _distances(caption: str, columns: Mapping[str, list]) -> str:
    drawn = bars(
        columns["sampling"],
        columns["largest"],
        columns["distance"],
        probabilities=False,
    )
    return table(caption, columns, drawn, "drawing")


def _pairs(columns: Mapping[str, list]) -> str:
    rows = len(columns["distance"])
    if not rows:
        return ""
    shown = {name: cells[:LONGEST] for name, cells in columns.items()}
    body = _distances("Distances of pairs, the least expected ones first", shown)
    if rows > LONGEST:
        more = f"The page has {LONGEST} of {rows:,} pairs; the JSON file has all."
        body = paragraphs([more]) + body
    return section("Pairs of variables", body)


def _levels(facts: Mapping[str, Any], tables: Mapping[str, Mapping]) -> str:
    k = facts["tables"]
    text = (
        "The column “release” has the probability of each level under the posterior "
        "means, “records” the share of the synthetic records. The shares of the "
        f"{k} further tables lie between “lower” and “upper”, outside of which a share "
        f"is by chance in at most 2 of {k + 1} cases. Drawings show the difference "
        "from the release: the line goes from “lower” to “upper”, and the mark is of "
        "the synthetic records."
    )
    parts = [paragraphs([text])]
    for caption, columns in tables.items():
        rows = len(columns["level"])
        if rows > LONGEST:
            more = f"“{caption}” has {rows:,} rows, which are in the JSON file."
            parts.append(paragraphs([more]))
            continue
        base = columns["release"]
        moved = [
            [x - y for x, y in zip(columns[name], base, strict=True)]
            for name in ("lower", "upper", "records")
        ]
        drawn = bars(*moved, probabilities=False)
        parts.append(table(caption, columns, drawn, "difference"))
    return section("Shares of all levels", "\n".join(parts))
