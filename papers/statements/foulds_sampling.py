"""Foulds et al., section 2.2: what one posterior sample costs, and the knob ε."""

__all__ = ["SECTION_2_2", "THEOREM_2", "THEOREM_3"]

import itertools
import math

import numpy as np
from scipy import stats

from dpjax.mechanisms import NetworkPosteriorSampler
from dpjax.privacy import REPLACE_ONE
from dpjax.theory import bernoulli_constant, posterior_sample_cost
from papers.networks import COIN
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting
from papers.statements.foulds_laws import largest, logs_of

OMEGA, ROUNDING = "0.2", 1e-9
GRID = np.arange(200, 801) / 1000  # of success probabilities: that of the library
SIZES = (1, 2, 5, 20, 100, 500, 2000)
PRIORS = {"uniform": (1, 1), "Beta(10, 10)": (10, 10), "Beta(30, 1)": (30, 1)}


def _theorem_2(setting: Setting) -> Reproduced:
    losses = {
        name: [_coin_loss(n, _beta(*prior)) for n in SIZES]
        for name, prior in PRIORS.items()
    }
    ends = np.where(np.isin(GRID, GRID[[0, -1]]), 0, -np.inf)[[0, -1]]
    two = [_coin_loss(n, ends, GRID[[0, -1]]) for n in SIZES]
    widths, found = _random_models(setting.rng())
    every = np.array([*losses.values(), two])
    claims = [
        Claim.certain(
            "one sample costs at most 2C: all random models and priors, 4 records",
            bool((found <= 2 * widths + ROUNDING).all()),
        ),
        *_claims_2(every),
    ]
    words = _words_2(widths, found, losses)
    rows = [
        (name, n, float(loss))
        for name, values in {**losses, "the two ends": two}.items()
        for n, loss in zip(SIZES, values, strict=True)
    ]
    return Reproduced(words, {"": table(("prior", "n", "loss"), rows)}, {}, claims)


def _claims_2(every: np.ndarray) -> list[Claim]:
    """On losses of beta-Bernoulli models: a row a prior, the uniform one first."""
    constant = float(bernoulli_constant(OMEGA))
    cost = float(posterior_sample_cost(bernoulli_constant(OMEGA), REPLACE_ONE).epsilon)
    uniform = every[0]
    law = NetworkPosteriorSampler.posterior(
        COIN.layout, "3", REPLACE_ONE, n=20, omega=OMEGA, temperature=1
    )
    return [
        Claim.certain(
            "and all beta-Bernoulli models of up to 2,000 records, C = ln((1 - a₀)/a₀)",
            bool((every <= cost + ROUNDING).all()),
        ),
        Claim.certain(
            "C itself is not enough", bool(uniform[2] > constant), by="dpjax"
        ),
        Claim.certain(
            "2C is tight in the limit: the exact loss rises with n, to within .2 %",
            bool((np.diff(every) >= -ROUNDING).all() and uniform[-1] > 0.998 * cost),
            by="dpjax",
        ),
        Claim.certain(
            "the library charges the exact loss at the public n",
            abs(float(law.loss) - float(uniform[SIZES.index(20)])) < 1e-6,
            by="dpjax",
        ),
    ]


def _words_2(
    widths: np.ndarray, found: np.ndarray, losses: dict[str, list[float]]
) -> str:
    cost, uniform = float(2 * bernoulli_constant(OMEGA)), losses["uniform"]
    return (
        f"{len(widths):,} random models of three records and four parameters, with "
        "random priors, on all tables of four records: the loss is at most "
        f"{(found / widths / 2).max():.3f} of 2C. Truncated beta-Bernoulli at a₀ = "
        f"{OMEGA}, 2C = {cost:.3f}: enumerated over all tables, on a grid of "
        f"thousandths, the loss with a uniform prior is {uniform[2]:.3f} at n = 5, "
        f"{uniform[3]:.3f} at 20 and {uniform[-1]:.3f} at 2,000; at n = 5 it is "
        f"{losses['Beta(10, 10)'][2]:.3f} with Beta(10, 10), "
        f"{losses['Beta(30, 1)'][2]:.3f} with Beta(30, 1)."
    )


def _beta(successes: int, failures: int) -> np.ndarray:
    return (successes - 1) * np.log(GRID) + (failures - 1) * np.log1p(-GRID)


def _coin_loss(n: int, prior: np.ndarray, grid: np.ndarray = GRID) -> float:
    """The largest over all tables of n records, and all values of the parameter."""
    ones = np.arange(n + 1)[:, None]
    logs = logs_of(prior + ones * np.log(grid) + (n - ones) * np.log1p(-grid))
    return float(np.abs(np.diff(logs, axis=0)).max())


def _random_models(
    rng: np.random.Generator, most: float = math.inf
) -> tuple[np.ndarray, np.ndarray]:
    """C, and the largest loss over tables of four records, of many random models."""
    scale = rng.exponential(size=(2000, 1, 1))
    likelihood = np.clip(rng.normal(size=(2000, 3, 4)) * scale, -most, most)
    prior = 3 * rng.normal(size=(2000, 1, 4))
    others = [*itertools.combinations_with_replacement(range(3), 3)]
    rest = np.stack([likelihood[:, list(x)].sum(axis=1) for x in others], axis=1)
    posterior = (prior + rest)[:, :, None] + likelihood[:, None]
    pairs = [*itertools.combinations(range(3), 2)]
    losses = [
        largest(posterior[:, :, a], posterior[:, :, b]).max(axis=1) for a, b in pairs
    ]
    widths = [np.abs(likelihood[:, a] - likelihood[:, b]).max(axis=1) for a, b in pairs]
    return np.max(widths, axis=0), np.max(losses, axis=0)


def _theorem_3(setting: Setting) -> Reproduced:
    bound = 0.5
    widths, found = _random_models(setting.rng(), bound)
    sizes = np.array([1, 2, 5, 20, 100])
    densities = np.array([_two_densities(bound, int(n)) for n in sizes])
    counts = [_coin_loss(int(n), _beta(1, 1)) for n in sizes]
    largest_log = -math.log(float(OMEGA))
    claims = [
        Claim.certain(
            "one sample costs at most 4B: all random models of |log p| up to B",
            bool((found <= 4 * bound + ROUNDING).all()),
        ),
        Claim.certain("since C is at most 2B", bool((widths <= 2 * bound).all())),
        Claim.certain(
            "4B is tight in the limit, for densities: to within .1 % at n = 20",
            bool(4 * bound * 0.999 < densities[3] <= 4 * bound + ROUNDING),
            by="dpjax",
        ),
        Claim.certain(
            "for probabilities, whose logarithms are not above 0, 2B is enough",
            bool(max(counts) <= 2 * largest_log),
            by="dpjax",
        ),
    ]
    words = (
        f"Random models with |log p| ≤ B = {bound}: losses up to "
        f"{found.max() / (4 * bound):.3f} of 4B. A density of e^B on a share "
        "1 / (1 + e^B) of the records' space and e^-B on the rest, at one end or the "
        f"other, loses {densities[0]:.3f} at n = 1 and {densities[3]:.3f} at n = 20 of "
        f"4B = {4 * bound:g}. Bernoulli at a₀ = {OMEGA} has B = {largest_log:.3f} and "
        f"C = {float(bernoulli_constant(OMEGA)):.3f}: below B, so that Theorem 2 "
        "promises less than half of 4B."
    )
    rows = [(int(n), float(x)) for n, x in zip(sizes, densities, strict=True)]
    return Reproduced(words, {"": table(("n", "loss"), rows)}, {}, claims)


def _two_densities(bound: float, n: int) -> float:
    """n records at one end, of which one goes to the other; either end is as likely."""
    left = np.array([n * bound, -n * bound])
    right = np.array([(n - 2) * bound, -(n - 2) * bound])
    return float(largest(left, right))


def _section_2_2(setting: Setting) -> Reproduced:
    grid = np.arange(4, 17) / 20
    joint = 5 * np.log(grid) + 9 * np.log1p(-grid)  # and a uniform prior
    delta = math.log(grid[-1] / grid[0])
    budgets = np.array([1e-3, 0.1, 0.5, 1, 2, 2 * delta, 5, 10, 100, 1e4])
    laws = np.exp([logs_of(joint * epsilon / (2 * delta)) for epsilon in budgets])
    density = stats.beta.pdf(grid, 1 + 5, 1 + 9)
    posterior = density / density.sum()
    entropy = -(laws * np.log(np.maximum(laws, 1e-300))).sum(axis=1)
    uniform = np.abs(laws[0] - 1 / grid.size).sum() / 2
    at_map = laws[:, posterior.argmax()]
    hot = NetworkPosteriorSampler.map(
        COIN.layout, "1", REPLACE_ONE, omega=OMEGA, units=20
    )
    many, short = _samples(3)
    claims = [
        Claim.certain("as ε → 0 the draw becomes uniform", bool(uniform < 1e-3)),
        Claim.certain(
            "at ε = 2Δ it is a draw from the posterior",
            bool(np.allclose(laws[5], posterior, rtol=1e-9)),
        ),
        Claim.certain(
            "as ε → ∞ it tends to the most probable value",
            bool((np.diff(at_map) > -ROUNDING).all() and at_map[-1] > 1 - 1e-6),
        ),
        Claim.certain(
            "equation 10: less ε is more heat, T = 2Δ / ε, and a flatter law",
            bool((np.diff(entropy) < 0).all())
            and 0 <= float(hot.temperature) - 2 * delta < 1e-3,  # rounded up
        ),
        Claim.certain(
            "2qΔ pays for q posterior samples, and no less does", many and not short
        ),
    ]
    words = _words_knob(delta, uniform, at_map)
    rows = zip(budgets.tolist(), entropy.tolist(), at_map.tolist(), strict=True)
    found = table(("epsilon", "entropy", "chance_of_the_mode"), rows)
    return Reproduced(words, {"": found}, {}, claims)


def _words_knob(delta: float, uniform: float, at_map: np.ndarray) -> str:
    return (
        "The exponential mechanism of equation 6 on a grid of success probabilities, "
        f"5 successes in 14 records, Δ = {delta:.3f}. Distance to the uniform law at ε "
        f"= 0.001: {uniform:.1e}. Chance of the most probable value: "
        f"{at_map[0]:.3f} there, {at_map[5]:.3f} at ε = 2Δ, {at_map[-1]:.6f} at 10,000."
        " It is uniform at ε = 0 only because the prior is tempered with the "
        "likelihood; if the likelihood alone is, what is left is the prior, at no cost."
    )


def _samples(q: int) -> tuple[bool, bool]:
    """Whether the library gives q samples for 2qΔ, and for 1 % less, at T = 1."""
    cost = float(2 * q * bernoulli_constant(OMEGA))
    given = []
    for budget in (cost, 0.99 * cost):
        try:
            NetworkPosteriorSampler.posterior(
                COIN.layout,
                round(budget, 6) + 1e-6,
                REPLACE_ONE,
                omega=OMEGA,
                temperature=1,
                samples=q,
            )
            given.append(True)
        except ValueError:
            given.append(False)
    return given[0], given[1]


THEOREM_2 = Reproduction(
    "foulds-theorem-2",
    "One posterior sample costs 2C",
    "Foulds et al., Theorem 2",
    _theorem_2,
)
THEOREM_3 = Reproduction(
    "foulds-theorem-3",
    "One posterior sample costs 4B",
    "Foulds et al., Theorem 3 (of Wang et al.)",
    _theorem_3,
)
SECTION_2_2 = Reproduction(
    "foulds-section-2-2",
    "ε as a knob between no information, the posterior, and its mode",
    "Foulds et al., section 2.2, equations 6-10",
    _section_2_2,
)
