"""Algorithms 1 and 2 side by side."""

__all__ = ["table_1"]

from dpjax.data.bayes_net import BayesNet
from dpjax.privacy import REPLACE_ONE, Epsilon, exact_epsilon
from dpjax.statistics import NetworkCounts
from dpjax.theory.fourier import theorem_3
from dpjax.theory.laplace import proposition_1, theorem_1
from dpjax.theory.stealth_bounds import corollary_3


def table_1(
    net: BayesNet, n: int, epsilon: Epsilon, delta: float, t: float, prior: float = 1.0
) -> list[dict[str, object]]:
    """Privacy and utility of Algorithms 1 and 2 as printed: a row each, fit for JSON.

    Entries and arguments are named after the other bounds; "theorem_1_printed" and
    "corollary_3" are the paper's statements that do not hold.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Table 1.
    """
    privacy = {"epsilon": float(exact_epsilon(epsilon)), "delta": 0.0}
    counts = NetworkCounts(net, "all")
    laplace = {
        "proposition_1": proposition_1(counts, epsilon, REPLACE_ONE, delta),
        "theorem_1": theorem_1(net, n, delta, prior),
        "theorem_1_printed": theorem_1(net, n, delta, prior, printed=True),
    }
    fourier = {
        "theorem_3": theorem_3(net, epsilon, delta, t),
        "corollary_3": corollary_3(t),
    }
    return [
        {"mechanism": "laplace", "privacy": privacy, **laplace},
        {"mechanism": "fourier", "privacy": privacy, **fourier},
    ]
