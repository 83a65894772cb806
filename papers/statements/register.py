"""Every statement of both papers, its verdict, and the command that shows it."""

__all__ = ["STATEMENTS", "statements_table"]

from papers.statements.register_entry import Statement
from papers.statements.register_foulds import FOULDS_REGISTER
from papers.statements.register_zhang import ZHANG_REGISTER
from papers.statements.register_zhang_samples import ZHANG_SAMPLES_REGISTER

STATEMENTS: tuple[Statement, ...] = (
    *ZHANG_REGISTER,
    *ZHANG_SAMPLES_REGISTER,
    *FOULDS_REGISTER,
)

_HEAD = (
    "| | statement | the paper assumes | verdict | `python -m papers` | remark |",
    "|---|---|---|---|---|---|",
)


def statements_table() -> str:
    """All of them in Markdown, a heading and a table a paper."""
    papers = dict.fromkeys(one.paper for one in STATEMENTS)
    return "\n\n".join(_table(paper) for paper in papers)


def _table(paper: str) -> str:
    rows = (_row(one) for one in STATEMENTS if one.paper == paper)
    return "\n".join((f"## {paper}", "", *_HEAD, *rows))


def _row(one: Statement) -> str:
    commands = ", ".join(f"`{name}`" for name in one.shown_by) or "–"
    verdict = one.verdict if one.verdict == "holds" else f"**{one.verdict}**"
    label, says, assumes, remark = (
        text.replace("|", r"\|")
        for text in (one.label, one.says, one.assumes, one.remark)
    )
    return f"| {label} | {says} | {assumes} | {verdict} | {commands} | {remark} |"
