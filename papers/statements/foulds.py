"""Statements of Foulds, Geumlek, Welling & Chaudhuri (UAI-16), in their order."""

__all__ = ["FOULDS_STATEMENTS"]

from papers.reproduction import Reproduction
from papers.statements.foulds_basics import PROPOSITION_3, SECTION_2_1, THEOREM_1
from papers.statements.foulds_convergence import COROLLARY_2, LEMMA_1
from papers.statements.foulds_families import SECTION_3_1, SECTION_3_2
from papers.statements.foulds_gibbs import METROPOLIS, SECTION_4_1, SECTION_4_2
from papers.statements.foulds_runtime import RUNTIME
from papers.statements.foulds_sampling import SECTION_2_2, THEOREM_2, THEOREM_3

FOULDS_STATEMENTS: tuple[Reproduction, ...] = (
    SECTION_2_1,
    THEOREM_1,
    SECTION_2_2,
    THEOREM_2,
    THEOREM_3,
    SECTION_3_1,
    SECTION_3_2,
    LEMMA_1,
    COROLLARY_2,
    PROPOSITION_3,
    SECTION_4_1,
    SECTION_4_2,
    METROPOLIS,
    RUNTIME,
)
