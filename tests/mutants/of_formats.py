"""Faults of the canonical form of files: what other software hashes, and reads."""

from tests.mutants.mutant import Mutant

_DOCUMENTS, _LEVELS = "_documents.py", "releases/exact_levels.py"
_CHECKED = (
    "tests/test_checker.py::test_an_altered_ledger_is_refused_although_it_is_rechained"
)
_FORMAT, _LINES = "releases/file_format.py", "privacy/ledger_lines.py"
_HERE = "tests/test_canonical.py::"
_DOUBLE = f"{_HERE}test_a_double_is_written_as_the_standard_says"
_READ = f"{_HERE}test_levels_are_read_as_they_were_declared"

MUTANTS = tuple(
    Mutant("branch left out", what, file, old, new, (test,))
    for what, file, old, new, test in (
        (
            "RFC 8785: entries by code points",
            _DOCUMENTS,
            "key=_utf_16",
            "key=str",
            f"{_HERE}test_a_document_is_written_as_the_standard_says",
        ),
        (
            "RFC 8785: small numbers as Python writes them",
            _DOCUMENTS,
            "if -6 < point <= 0:",
            "if -4 < point <= 0:",
            f"{_DOUBLE}[3eb0c6f7a0b5ed8d-0.000001]",
        ),
        (
            "RFC 8785: large numbers as Python writes them",
            _DOCUMENTS,
            "if len(digits) <= point <= 21:",
            "if len(digits) <= point <= 16:",
            f"{_DOUBLE}[4430000000000000-295147905179352830000]",
        ),
        (
            "RFC 8785: integers that are no doubles",
            _DOCUMENTS,
            "max(map(abs, integers)) <= _LARGEST_INTEGER",
            "max(map(abs, integers)) <= 2 * _LARGEST_INTEGER",
            f"{_HERE}test_what_has_no_canonical_form_is_refused[9007199254740993]",
        ),
        (
            "release file: a name that no file can hold",
            _DOCUMENTS,
            "isinstance(value, str) and value.encode() is not None",
            "isinstance(value, str)",
            f"{_HERE}test_text_that_no_file_can_hold_is_no_name_and_no_level",
        ),
        (
            "release file: the hash leaves the version out",
            _FORMAT,
            'if key != "sha256"}',
            'if key == "content"}',
            f"{_HERE}test_the_hash_is_of_the_version[counts-all]",
        ),
        (
            "release file: an older one hashed by the newer rule",
            _FORMAT,
            'old = document["version"] < _CANONICAL',
            "old = False",
            f"{_HERE}test_the_hash_is_of_the_version[gaussian]",
        ),
        (
            "release file: a level in a second form",
            _FORMAT,
            "stated = stated if is_canonical else with_levels(stated, exact_level)",
            "stated = with_levels(content, exact_level)",
            f"{_HERE}test_a_level_has_one_form",
        ),
        (
            "release file: the level 1.0 becomes 1",
            _LEVELS,
            "whole = isinstance(level, float) and level.is_integer()",
            "whole = False",
            f"{_READ}[integers as floats]",
        ),
        (
            "release file: integers of levels are rounded",
            _LEVELS,
            '{"number": repr(level)}',
            '{"number": repr(float(level))}',
            f"{_READ}[beyond doubles]",
        ),
        (
            "release file: levels of impossible combinations",
            _LEVELS,
            'if "impossible" in content:',
            "if False:",
            f"{_READ}[text and a number of one look]",
        ),
        (
            "ledger: an older file goes on in the newer form",
            _LINES,
            "return canonical_json if book.format == _CANONICAL else",
            "return canonical_json if book.format else",
            "tests/test_recorded.py::"
            "test_a_ledger_with_hashes_is_read_and_goes_on_as_it_was[2]",
        ),
        (
            "ledger: a file may spend more than its budget",
            _LINES,
            "if min(book.budget.remaining(book.spent).values()) < 0:",
            "if False:",
            "tests/test_ledger_under_fire.py::"
            "test_a_ledger_that_was_made_to_overspend_is_refused",
        ),
        (
            "ledger: the first line may have any entry",
            _LINES,
            " or line != _first_line(book, inode):",
            ":",
            f"{_CHECKED}[an unknown entry of the first line]",
        ),
        (
            "release: there may be entries beside the content",
            _FORMAT,
            'if set(document) - {"format", "version", "content", "sha256"}:',
            "if False:",
            "tests/test_checker.py::test_an_entry_beside_the_content_is_refused",
        ),
    )
)
