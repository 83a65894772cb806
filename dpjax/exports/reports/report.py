"""`report`: what a release contains and promises, for people and for programs."""

import csv
import html
import io
import json
import os
import pathlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpjax._checks import of_type, probability
from dpjax._documents import write_atomically
from dpjax._version import __version__
from dpjax.exports.reports.budget import budget_of, texts
from dpjax.exports.reports.page import page_of
from dpjax.exports.reports.registry import entry_of, yaml_of
from dpjax.exports.reports.results import results_of
from dpjax.exports.reports.words import (
    CHANCES,
    few_names,
    mechanism_in_words,
    most_after,
    promises,
    what_in_words,
)
from dpjax.privacy import Guarantee, Ledger
from dpjax.releases.released import Released

ENDINGS = (".html", ".json", ".csv", ".yaml")


@dataclass(frozen=True, repr=False)
class Report:
    """The content of a report about a release, as plain data.

    Attributes:
        content: mappings, lists, text and numbers, which JSON can hold. The parts of
            `report` are `title`, `about`, `published`, `protection`, `variables`,
            `results`, `budget` (None without a ledger), `verification` and `registry`;
            those of `quality` are `title`, `compared` and `results`.
        page: function that makes the page from the content.
    """

    content: Mapping[str, Any]
    page: Callable[[Mapping[str, Any]], str] = page_of

    def to_html(self) -> str:
        """Return one page of HTML, which needs no network and no script."""
        return self.page(self.content)

    def __repr__(self) -> str:
        return f"Report({self.content['title']!r}: {', '.join(self.content)})"

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="600"></iframe>'

    def to_csv(self) -> str:
        """Return the results as one table in CSV, with a row for each number."""
        tables = self.content["results"]["tables"]
        names = dict.fromkeys(name for columns in tables.values() for name in columns)
        text = io.StringIO()
        writer = csv.DictWriter(text, ["table", *names], lineterminator="\n")
        writer.writeheader()
        for heading, columns in tables.items():
            for row in zip(*columns.values(), strict=True):
                writer.writerow(
                    {"table": heading, **dict(zip(columns, row, strict=True))}
                )
        return text.getvalue()

    def save(self, path: str | os.PathLike) -> None:
        """Write the report to a file, in the form that the name of the file says.

        Args:
            path: a name that ends in .html, for the page; in .json, for the whole
                content; in .csv, for the results; or in .yaml, for the draft of an
                entry in the public registry of deployments, which `report` has.

        Raises:
            ValueError: if the name ends otherwise, or the file cannot be written.
        """
        ending = pathlib.Path(path).suffix.lower()
        endings = ENDINGS if "registry" in self.content else ENDINGS[:-1]
        if ending not in endings:
            raise ValueError(f"`path` must end in {' or '.join(endings)}, got {path}.")
        if ending == ".html":
            text = self.to_html()
        elif ending == ".csv":
            text = self.to_csv()
        elif ending == ".yaml":
            text = yaml_of(self.content["registry"])
        else:
            text = json.dumps(self.content, indent=1, ensure_ascii=False) + "\n"
        write_atomically(path, text)


def report(
    released: Released, *, ledger: Ledger | None = None, level: float = 0.95
) -> Report:
    """Describe a release for the people who approve or read it.

    Args:
        released: any release that can be saved.
        ledger: the ledger that was charged; None to say nothing about the budget.
        level: probability of the intervals.

    Returns:
        What is published, who is protected and how well, all variables, all results
        with intervals, the ledger, and how to verify the release.

    Privacy:
        Post-processing of a release has no privacy cost. The purposes in a ledger are
        public notes.

    Raises:
        ValueError: if `level` is not between 0 and 1, the ledger has no charge that can
            be that of the release, or the release cannot be saved, or has neither a
            posterior nor noise of a known law.
    """
    of_type(Released, "give one of `dpjax.release` or `dpjax.load`", released=released)
    probability(level=level)
    cost, facts = released.guarantee(), dict(released.about)
    if ledger is not None:
        _refuse_uncharged(ledger, cost)
    few = few_names([variable.name for variable in released.statistic.variables])
    title = facts.get("title", f"A private release of {few}")
    epsilon = cost.numbers.get("epsilon")
    found = results_of(released, level)
    content = {
        "title": title,
        "about": {name: text for name, text in facts.items() if name != "title"},
        "published": {
            "what": what_in_words(released),
            "mechanism": mechanism_in_words(released.mechanism),
            "numbers": int(released.values.size),
            "records": None if released.n is None else int(released.n),
            "made_with": f"dpjax {__version__}",
        },
        "protection": {
            "adjacency": cost.adjacency,
            "unit": cost.unit,
            "kind": cost.kind,
            "guarantee": texts(cost.numbers),
            "sentences": promises(cost),
            "chances": []
            if epsilon is None
            else [{"before": p, "after": most_after(p, epsilon)} for p in CHANCES],
        },
        "variables": released.schema.to_json()["variables"],
        "results": {"level": level, **found._asdict()},
        "budget": None if ledger is None else budget_of(ledger),
        "verification": {"sha256": released.sha256},
        "registry": entry_of(released, title),
    }
    return Report(content)


def _refuse_uncharged(ledger: Ledger, cost: Guarantee) -> None:
    """Raise `ValueError` if a ledger has no charge of this cost."""
    of_type(Ledger, "open it with `dpjax.Ledger(path=…)`", ledger=ledger)
    if cost not in [charge.cost for charge in ledger.charges]:
        raise ValueError(
            "`ledger` must be the one that was charged for the release, but no charge "
            f"in it is of {cost} for {cost.unit} under {cost.adjacency}."
        )
