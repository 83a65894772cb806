"""The network of Zhang et al.'s Figure 1, and relatives that errata need."""

__all__ = ["FEATURES", "NAIVE_BAYES", "TWO_ROOTS"]

from dpjax.graph import BayesNet

FEATURES = 16
_NAMES = [f"v{i}" for i in range(FEATURES + 1)]
_LEVELS = {name: [0, 1] for name in _NAMES}

NAIVE_BAYES = BayesNet.naive_bayes(_LEVELS, "v0")
TWO_ROOTS = BayesNet.from_parents(
    _LEVELS,
    {"v0": [], "v1": [], "v2": ["v0", "v1"], **{x: ["v0"] for x in _NAMES[3:]}},
)
"""Of 17 variables too, and with a row more."""
