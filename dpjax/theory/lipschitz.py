r"""Lipschitz constants of log-likelihoods, and the cost of a posterior sample.

C is the largest $|\ln p(x|\theta) - \ln p(x'|\theta)|$ over records and parameters, C'
the largest range of $\ln p(x|\theta)$ over parameters. Both are exact or rounded up.
"""

__all__ = [
    "bernoulli_constant",
    "lemma_2",
    "linear_regression_constant",
    "network_constant",
    "posterior_sample_cost",
    "row_constant",
    "truncation",
]

from collections.abc import Sequence
from fractions import Fraction

from dpjax._checks import one_of, whole
from dpjax.privacy import (
    ADJACENCIES,
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Guarantee,
    budget_of,
    exact_epsilon,
    exponential_above,
    logarithm_above,
    rounded_up,
)

_LARGEST_CONSTANT = Fraction(34)  # e^-34 is about 1e-15


def row_constant(levels: int, omega: Epsilon) -> Fraction:
    r"""C of one conditional table whose entries are all at least ω; C' is the same.

    $$\ln \frac{1 - (r - 1)\omega}{\omega}$$ is the largest log-ratio of two entries, in
    one row or in two, for r levels.

    Args:
        levels: r, at least 2.
        omega: least probability in the support of the truncated prior, below 1/r. A
            posterior sample that is only clipped afterwards is not private.

    Returns:
        The constant in nats, rounded up.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Assumption 1 and appendix C.2.
    """
    whole(2, levels=levels)
    least = exact_epsilon(omega, "omega")
    if least * int(levels) >= 1:
        raise ValueError(
            f"`omega` must be below 1/{levels} for {levels} levels, got {omega}."
        )
    return rounded_up(logarithm_above((1 - (int(levels) - 1) * least) / least))


def bernoulli_constant(omega: Epsilon) -> Fraction:
    r"""`row_constant` of two levels: $\ln((1 - \omega)/\omega)$ on [ω, 1 - ω]."""
    return row_constant(2, omega)


def truncation(levels: int, constant: Epsilon) -> Fraction:
    r"""The ω at which `row_constant` is at most `constant`: $1 / (r - 1 + e^C)$.

    Naive Bayes with d binary attributes and a budget ε for one sample at temperature 1
    under replace-one: `truncation(2, ε / (2 * (d + 1)))`, which is
    $1 / (1 + \exp(\epsilon / (2(d + 1))))$.

    Args:
        levels: r, at least 2.
        constant: C in nats, > 0.

    Returns:
        ω, rounded up so far that `row_constant`, which is also rounded up, is at most
            `constant`; at least 1e-15 for every constant.

    Raises:
        ValueError: if an argument is outside its range, or C is so small that the
            support is empty.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), appendix C.2.
    """
    whole(2, levels=levels)
    limit = min(exact_epsilon(constant, "constant"), _LARGEST_CONSTANT)
    inverse = exponential_above(-limit)
    spare = 1 + max(limit, Fraction(1)) / 10**11  # ten times what C is rounded up by
    omega = rounded_up(spare * inverse / (1 + (int(levels) - 1) * inverse))
    if omega * int(levels) >= 1:
        raise ValueError(
            f"`constant` must be larger to leave any support, got {constant}."
        )
    return omega


def network_constant(constants: Sequence[Fraction]) -> Fraction:
    r"""C of a Bayesian network, $\sum_i C_i$ over its variables; likewise C'.

    The sum is attained if records can differ in every variable. So it is exact for
    discrete networks with constants of `row_constant`. The paper's form is `lemma_2`.

    Args:
        constants: constants C_i of the conditional tables, at least one.

    Raises:
        ValueError: if there is no constant, or a constant is negative.
    """
    if not constants or min(constants) < 0:
        raise ValueError("`constants` must be one or more, none of them negative.")
    return sum(constants, Fraction(0))


def lemma_2(constants: Sequence[Fraction], distances: Sequence[float]) -> float:
    r"""The paper's bound of a network's log-ratio: $\|L\|_\infty \sum_i \rho_i$.

    It holds if the distance $\rho_i(x, y)$ is taken on variable i **and its parents**,
    as in $|\ln p(x_i|x_\pi) - \ln p(y_i|y_\pi)| \le L_i \rho_i$. The paper writes
    $\rho_i(x_i, y_i)$, which is 0 where only the parents differ, but the log-ratio is
    not 0. With 0-1 distances this is at most $k \max_i L_i$, and `network_constant` is
    never larger.

    Args:
        constants: L_i, one for each variable.
        distances: ρ_i, at least 0, one for each variable with its parents.

    Raises:
        ValueError: if the lengths differ, or a number is negative.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Lemma 2.
    """
    network_constant(constants)
    if len(distances) != len(constants) or min(distances) < 0:
        raise ValueError(
            f"`distances` must be {len(constants)} numbers of at least 0, one for each "
            "of `constants`."
        )
    return float(max(constants)) * sum(distances)


def linear_regression_constant(
    precision: Epsilon,
    features: Epsilon,
    target: Epsilon,
    weights: Epsilon,
    adjacency: Adjacency,
) -> Fraction:
    r"""C or C' of $y | x \sim N(w^T x, 1/\tau)$ on bounded records and weights.

    For replace-one, $C = \frac{\tau}{2}(R_y + B R_x)^2$. For add-remove, C' = C if
    $R_y \le B R_x$, and $C' = 2 \tau R_y B R_x$ otherwise.

    Args:
        precision: τ, the known precision of the noise.
        features: R_x, bound of ‖x‖₂.
        target: R_y, bound of |y|.
        weights: B, bound of ‖w‖₂, to which the prior is truncated (the paper: 10/√b).
        adjacency: "replace-one" or "add-remove".

    Returns:
        The constant in nats, exact.

    Raises:
        ValueError: if a bound is not a finite number > 0, or `adjacency` is unknown.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), section 5.2 and appendix D.
    """
    one_of(ADJACENCIES, adjacency=adjacency)
    tau = exact_epsilon(precision, "precision")
    prediction = exact_epsilon(features, "features") * exact_epsilon(weights, "weights")
    outcome = exact_epsilon(target, "target")
    if adjacency == REPLACE_ONE or outcome <= prediction:
        return tau * (outcome + prediction) ** 2 / 2
    return 2 * tau * outcome * prediction


def posterior_sample_cost(
    constant: Fraction, adjacency: Adjacency, temperature: Epsilon = 1, samples: int = 1
) -> Guarantee:
    r"""Cost of posterior samples: 2C/T each under replace-one, C'/T under add-remove.

    Args:
        constant: C for "replace-one", C' for "add-remove", in nats.
        adjacency: "replace-one" or "add-remove".
        temperature: T; the likelihood is raised to the power 1/T.
        samples: number of independent samples, at least 1; each costs the same.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Theorem 4, part 1, with C = ‖L‖∞ ρ;
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), Theorem 2.
    """
    one_of(ADJACENCIES, adjacency=adjacency)
    whole(1, samples=samples)
    factor = (2 if adjacency == REPLACE_ONE else 1) * int(samples)
    loss = factor * constant / exact_epsilon(temperature, "temperature")
    return budget_of(rounded_up(loss), adjacency)
