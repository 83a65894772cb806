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

from dpjax.reproductions.catalogue import names, reproduction
from dpjax.reproductions.reproduction import Claim, Reproduced, Reproduction, Setting
from dpjax.reproductions.statements.register import STATEMENTS, statements_table
from dpjax.reproductions.statements.register_entry import Statement
from dpjax.reproductions.write import Written, refuse_data, reproduce, write_page
