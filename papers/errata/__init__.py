"""What the papers print and does not hold: counterexamples, and what does hold."""

__all__ = ["REPRODUCTIONS"]

from papers.errata.algorithm_3 import ERRATUM_4, ERRATUM_7
from papers.errata.asymptotics import ERRATUM_15, ERRATUM_16
from papers.errata.corollary_3 import ERRATUM_1
from papers.errata.exponential import ERRATUM_14
from papers.errata.figure_1 import ERRATUM_6
from papers.errata.lemma_1 import ERRATUM_17
from papers.errata.lemma_2 import ERRATUM_3
from papers.errata.metropolis import ERRATUM_9
from papers.errata.months import ERRATUM_10
from papers.errata.orders import ERRATUM_18, ERRATUM_19
from papers.errata.parallel import ERRATUM_11
from papers.errata.random_scan import ERRATUM_5
from papers.errata.remark_1 import ERRATUM_8
from papers.errata.theorem_1 import ERRATUM_2
from papers.errata.theorem_1_mean import ERRATUM_12, ERRATUM_13
from papers.reproduction import Reproduction

REPRODUCTIONS: tuple[Reproduction, ...] = (
    ERRATUM_1,
    ERRATUM_2,
    ERRATUM_3,
    ERRATUM_4,
    ERRATUM_5,
    ERRATUM_6,
    ERRATUM_7,
    ERRATUM_8,
    ERRATUM_9,
    ERRATUM_10,
    ERRATUM_11,
    ERRATUM_12,
    ERRATUM_13,
    ERRATUM_14,
    ERRATUM_15,
    ERRATUM_16,
    ERRATUM_17,
    ERRATUM_18,
    ERRATUM_19,
)
