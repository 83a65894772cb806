"""Every figure, table and numbered statement of the two papers, made again.

A reproduction gives numbers, pictures, a paragraph, and the papers' claims in words,
put to the test on these numbers.
"""

__all__ = [
    "Claim",
    "Reproduced",
    "Reproduction",
    "Setting",
    "Written",
    "names",
    "reproduce",
    "reproduction",
    "write_page",
]

from dpjax.reproductions.catalogue import names, reproduction
from dpjax.reproductions.reproduction import Claim, Reproduced, Reproduction, Setting
from dpjax.reproductions.write import Written, reproduce, write_page
