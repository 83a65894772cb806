"""Public facts about a release that its steward states, for its readers."""

from typing import Any

from dpjax._documents import is_text

FACTS = {
    "title": "what the release is called",
    "description": "what it is about",
    "record": "what a row of the table is, such as a person or a visit",
    "period": "the time that the records are from",
    "region": "the place that the records are from",
    "steward": "who made the release and answers for it",
    "contact": "where to ask questions",
    "published": "the day of publication",
    "use": "what the release is meant for",
}
"""The facts that can be stated, by name, in the order of reports."""

_LONGEST = 2000  # characters


def about_of(facts: Any) -> tuple[tuple[str, str], ...]:
    """Return public facts as pairs of name and text, in the order of `FACTS`.

    Args:
        facts: a mapping from names, of `FACTS`, to text; pairs of both; or None.

    Raises:
        ValueError: if a name is another, or a value is not text of one line, from 1 to
            2,000 characters.
    """
    try:
        given = dict(facts or {})
    except (TypeError, ValueError):
        raise ValueError(
            "`about` must be a mapping from facts to text, such as {'title': 'Trips'}, "
            f"got {type(facts).__name__}."
        ) from None
    for name, text in given.items():
        if name not in FACTS:
            raise ValueError(
                f"`about` must have facts of {', '.join(FACTS)}, got {name!r:.80}."
            )
        filled = is_text(text) and text.strip() and text.isprintable()
        if not filled or len(text) > _LONGEST:
            raise ValueError(
                f"`about` must have text of one line for {name!r}, of at most "
                f"{_LONGEST} characters."
            )
    return tuple((name, given[name]) for name in FACTS if name in given)
