"""Names that options accept, so that their declaration imports no registry of classes.

A test compares them with the registries.
"""

import importlib.metadata

ADJACENCIES = ("replace-one", "add-remove")
AUDITED = (
    *("counts", "split-counts", "gaussian", "k-norm", "fourier", "fourier-mixed"),
    *("sums-poisson", "sums-gaussian", "k-norm-sums", "mixed-totals"),
    *("posterior-grid", "map-grid", "map-cells", "poisson-grid"),
    *("gaussian-grid", "regression-grid", "multivariate-grid", "hmm-candidates"),
    *("posterior-rho", "map-cells-rho", "poisson-rho", "hmm-rho"),
    *("posterior-sample", "regression-sample", "release-counts"),
    *("release-persons", "release-samples", "paid-chain", "paid-choice"),
    *("paid-barker", "paid-table", "paid-hmm", "simulated-laplace"),
)
SWEPT = ("bayes-net", "linear-regression", "hmm")
_FAMILIES = (
    *("bernoulli", "categorical", "poisson", "exponential", "gaussian-mean"),
    *("gaussian", "multivariate-gaussian", "linear-regression"),
)
_RECIPES = (
    *("auto", "fourier", "gaussian", "hidden-markov-sample", "k-norm", "laplace"),
    *("map", "map-cells", "posterior-sample", "zhang-algorithm-1", "zhang-algorithm-2"),
)


def models() -> tuple[str, ...]:
    """Return the models of `dpjax release`, with the families of other packages."""
    return ("bayes-net", "marginals", *_FAMILIES, *_installed("families"), "hmm")


def recipes() -> list[str]:
    """Return the names of all recipes, with those of other packages."""
    return sorted({*_RECIPES, *_installed("recipes")})


def _installed(kinds: str) -> list[str]:
    entries = importlib.metadata.entry_points(group=f"dpjax.{kinds}")
    return [entry.name for entry in entries]
