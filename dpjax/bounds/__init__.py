"""Utility theory: how far off a release can be, before any data is seen.

Theorem 1, Corollary 3 and Lemma 4 of the paper do not hold as printed: they are given
as printed and corrected, side by side. Where no adjacency is asked for, it is
replace-one.
"""

__all__ = [
    "CellNoise",
    "corollary_3",
    "lemma_4",
    "proposition_1",
    "remark_1",
    "stealth_probability",
    "table_1",
    "theorem_1",
    "theorem_3",
]

from dpjax.bounds.comparison import table_1
from dpjax.bounds.exponential import lemma_4
from dpjax.bounds.fourier import CellNoise, remark_1, theorem_3
from dpjax.bounds.laplace import proposition_1, theorem_1
from dpjax.bounds.stealth import corollary_3, stealth_probability
