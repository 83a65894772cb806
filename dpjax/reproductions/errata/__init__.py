"""What the papers print and does not hold: counterexamples, and what does hold."""

__all__ = ["REPRODUCTIONS"]

from dpjax.reproductions.errata.algorithm_3 import ERRATUM_4, ERRATUM_7
from dpjax.reproductions.errata.asymptotics import ERRATUM_15, ERRATUM_16
from dpjax.reproductions.errata.corollary_3 import ERRATUM_1
from dpjax.reproductions.errata.exponential import ERRATUM_14
from dpjax.reproductions.errata.figure_1 import ERRATUM_6
from dpjax.reproductions.errata.lemma_1 import ERRATUM_17
from dpjax.reproductions.errata.lemma_2 import ERRATUM_3
from dpjax.reproductions.errata.metropolis import ERRATUM_9
from dpjax.reproductions.errata.months import ERRATUM_10
from dpjax.reproductions.errata.parallel import ERRATUM_11
from dpjax.reproductions.errata.random_scan import ERRATUM_5
from dpjax.reproductions.errata.remark_1 import ERRATUM_8
from dpjax.reproductions.errata.theorem_1 import ERRATUM_2
from dpjax.reproductions.errata.theorem_1_mean import ERRATUM_12, ERRATUM_13
from dpjax.reproductions.reproduction import Reproduction

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
)
