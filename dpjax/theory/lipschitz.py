r"""Lipschitz constants of log-likelihoods, and the cost of a posterior sample.

C is the largest $|\ln p(x|\theta) - \ln p(x'|\theta)|$ over records and parameters θ.
C' is the largest range of $\ln p(x|\theta)$ over θ. Both are exact or rounded up.
"""

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
    r"""Return the largest log-ratio of two entries of a conditional probability table.

    The log-ratio of entries of one row or of two rows is at most
    $$\ln \frac{1 - (r - 1)\omega}{\omega}$$ if every entry is at least ω.

    Args:
        levels: number of levels r of the variable, at least 2.
        omega: least probability ω in the support of the truncated prior, below 1/r. A
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
    r"""Return `row_constant` for 2 levels, $\ln((1 - \omega)/\omega)$, ω = `omega`."""
    return row_constant(2, omega)


def truncation(levels: int, constant: Epsilon) -> Fraction:
    r"""Return the truncation ω for a Lipschitz constant C, $1 / (r - 1 + e^C)$.

    The log-ratio of two probabilities of at least ω is at most C. For example, one
    posterior sample of naive Bayes with d binary attributes at temperature 1 has
    privacy loss ε under replace-one with `truncation(2, ε / (2 * (d + 1)))`, which is
    $1 / (1 + \exp(\epsilon / (2(d + 1))))$.

    Args:
        levels: number of levels r of the variable, at least 2.
        constant: Lipschitz constant C of `row_constant`, in nats, > 0.

    Returns:
        The least probability ω, rounded up so that `row_constant`, which is also
            rounded up, is at most `constant`; at least 1e-15 for every constant.

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
    r"""Return a Bayesian network's Lipschitz constant, $\sum_i C_i$ over variables i.

    The sum is attained if records can differ in every variable. So it is exact for
    discrete networks with constants of `row_constant`. `lemma_2` is the bound that
    Zhang et al. give.

    Args:
        constants: constant $C_i$ of each conditional probability table, at least one.

    Raises:
        ValueError: if there is no constant, or a constant is negative.
    """
    if not constants or min(constants) < 0:
        raise ValueError("`constants` must be one or more, none of them negative.")
    return sum(constants, Fraction(0))


def lemma_2(constants: Sequence[Fraction], distances: Sequence[float]) -> float:
    r"""Bound a Bayesian network's $|\ln p(x) - \ln p(y)|$ for two records x and y.

    The bound is $\max_i L_i \sum_i \rho_i$. For each variable i with parents π,
    $|\ln p(x_i|x_\pi) - \ln p(y_i|y_\pi)| \le L_i \rho_i$, where $\rho_i(x, y)$ is
    the distance of variable i **and its parents** in x and in y. Zhang et al.
    write $\rho_i(x_i, y_i)$, which is 0 if only the parents differ, although the
    log-ratio is not 0. For k variables with distances 0 or 1, the bound is at most
    $k \max_i L_i$, and `network_constant` is never larger.

    Args:
        constants: Lipschitz constant $L_i$ of each variable.
        distances: distance $\rho_i$, at least 0, of each variable with its parents.

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
    r"""Return the Lipschitz constant of the regression $y | x \sim N(w^T x, 1/\tau)$.

    For replace-one, it is $\frac{\tau}{2}(R_y + B R_x)^2$, the largest change of the
    log-likelihood between two records. For add-remove, it is the largest range over w,
    which is the same number if $R_y \le B R_x$ and $2 \tau R_y B R_x$ otherwise.

    Args:
        precision: known precision τ of the noise.
        features: bound $R_x$ of ‖x‖₂.
        target: bound $R_y$ of |y|.
        weights: bound B of ‖w‖₂, to which the prior is truncated.
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
    r"""Return the guarantee of posterior samples, from the Lipschitz constant C.

    The privacy loss of each sample is 2C/T under replace-one, and C/T under add-remove.

    Args:
        constant: largest change in nats of the log-likelihood between two records
            ("replace-one"), or its largest range over parameters ("add-remove").
        adjacency: "replace-one" or "add-remove".
        temperature: T > 0; the likelihood is raised to the power 1/T.
        samples: number of independent samples, at least 1.

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
