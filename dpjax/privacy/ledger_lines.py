"""What a ledger's file says: a line of JSON for the budget, and one for each charge.

Each charge has a hash of itself and of all lines before it, so that an edit shows.
"""

__all__ = ["FORMAT", "UNCHAINED", "Book", "read_on", "with_charge"]

import hashlib
from fractions import Fraction
from typing import Any, NamedTuple

from dpjax._checks import one_of
from dpjax._documents import canonical_json, parse_json
from dpjax.privacy.adjacency import ADJACENCIES
from dpjax.privacy.guarantee import exact_epsilon

FORMAT = "dpjax-ledger-2"
UNCHAINED = "dpjax-ledger-1"  # read and charged as it is


class Book(NamedTuple):
    """What a ledger says.

    Attributes:
        budget: the whole.
        adjacency: of all charges.
        spent: the sum of the charges.
        text: all lines; empty if there is no file.
        chain: what the next charge is hashed with; None: its format has no hashes.
        inode: the number of the file that the lines were written to; None likewise.
        held: descriptor of the locked file or, if there is none yet, of its folder.
    """

    budget: Fraction
    adjacency: str
    spent: Fraction = Fraction(0)
    text: bytes = b""
    chain: str | None = None
    inode: int | None = None
    held: int = -1


def with_charge(book: Book, epsilon: Fraction, purpose: str, inode: int) -> Book:
    """What a ledger says after a charge; the first one starts the file of that number.

    Raises:
        ValueError: if it could not be read again.
    """
    start, chain = "", book.chain
    if not book.text:
        facts = {"budget": str(book.budget), "adjacency": book.adjacency}
        chain = canonical_json({"format": FORMAT, "inode": inode, **facts})
        start = f"{chain}\n"
    lines = f"{start}{_charge(chain, str(epsilon), purpose)}\n"
    return read_on(book, book.text + lines.encode())


def read_on(book: Book, text: bytes) -> Book:
    """What a ledger says after lines were added to those that are known to be sound.

    Raises:
        ValueError, TypeError, LookupError or RecursionError: if they are not.
    """
    *lines, rest = text[len(book.text) :].decode().split("\n")
    if rest:
        raise ValueError("the last line is not whole")
    if not book.text:
        book = _header(lines.pop(0))
    chain, spent = book.chain, book.spent
    for line in lines:
        entry = _parsed(line)
        spent += exact_epsilon(entry["epsilon"])
        if chain is not None:
            if line != _charge(chain, entry["epsilon"], entry["purpose"]):
                raise ValueError("not what was written after the line before")
            chain = entry["chain"]
    return book._replace(spent=spent, text=text, chain=chain)


def _header(line: str) -> Book:
    facts = _parsed(line)
    one_of((UNCHAINED, FORMAT), format=facts["format"])
    one_of(ADJACENCIES, adjacency=facts["adjacency"])
    book = Book(exact_epsilon(facts["budget"]), facts["adjacency"])
    if facts["format"] == UNCHAINED:
        return book
    return book._replace(chain=line, inode=int(facts["inode"]))


def _charge(chain: str | None, epsilon: str, purpose: str) -> str:
    """The line of a charge; with a hash of the chain so far, if there is one."""
    content = {"epsilon": epsilon, "purpose": purpose}
    if chain is None:
        return canonical_json(content)
    data = (chain + canonical_json(content)).encode()
    return canonical_json({"chain": hashlib.sha256(data).hexdigest(), **content})


def _parsed(line: str) -> dict[str, Any]:
    parsed = parse_json(line, "ledger")
    if not isinstance(parsed, dict):
        raise ValueError("a line that is not an object")
    return parsed
