"""The statements of Zhang, Rubinstein & Dimitrakakis (AAAI-16), in their order."""

__all__ = ["ZHANG_STATEMENTS"]

from papers.reproduction import Reproduction
from papers.statements.zhang_consistency import CONSISTENCY
from papers.statements.zhang_counts import COROLLARY_1, LEMMA_1, PROPOSITION_1
from papers.statements.zhang_fourier import COROLLARY_2, THEOREM_2
from papers.statements.zhang_marginals import SECTION_5_1, THEOREM_3
from papers.statements.zhang_naive_bayes import APPENDIX_C, APPENDIX_C_1
from papers.statements.zhang_regression import APPENDIX_D, LEMMA_D_1
from papers.statements.zhang_sampling import FOOTNOTE_4, THEOREM_4
from papers.statements.zhang_smoothness import LEMMA_2, LEMMA_3, SECTION_4_1
from papers.statements.zhang_utility import LEMMA_A_1, THEOREM_1

ZHANG_STATEMENTS: tuple[Reproduction, ...] = (
    LEMMA_1,
    COROLLARY_1,
    PROPOSITION_1,
    THEOREM_1,
    THEOREM_2,
    COROLLARY_2,
    CONSISTENCY,
    THEOREM_3,
    SECTION_4_1,
    LEMMA_2,
    LEMMA_3,
    THEOREM_4,
    FOOTNOTE_4,
    SECTION_5_1,
    LEMMA_A_1,
    APPENDIX_C_1,
    APPENDIX_C,
    APPENDIX_D,
    LEMMA_D_1,
)
