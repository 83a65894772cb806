"""Every figure, table and numbered statement of the two papers, made again.

A reproduction gives numbers, pictures, a paragraph, and the papers' claims in words,
put to the test on these numbers.
"""

__all__ = [
    "STATEMENTS",
    "Claim",
    "Reproduced",
    "Reproduction",
    "Setting",
    "Statement",
    "Written",
    "names",
    "refuse_data",
    "reproduce",
    "reproduction",
    "statements_table",
    "write_page",
]

from papers.catalogue import names, reproduction
from papers.reproduction import Claim, Reproduced, Reproduction, Setting
from papers.statements.register import STATEMENTS, statements_table
from papers.statements.register_entry import Statement
from papers.write import Written, refuse_data, reproduce, write_page
