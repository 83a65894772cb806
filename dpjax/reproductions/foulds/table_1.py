"""Table 1 of Foulds et al.: the Laplace mechanism beside one posterior sample."""

__all__ = ["TABLE_1"]

import math
from fractions import Fraction
from functools import partial

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from dpjax._types import Key
from dpjax.expfam import (
    Bernoulli,
    Categorical,
    Exponential,
    Family,
    Gaussian,
    GaussianMean,
    LinearRegression,
    MultivariateGaussian,
    Poisson,
    Truncation,
)
from dpjax.mechanisms import DiscreteLaplace
from dpjax.plots import Panel, Series, draw_panels
from dpjax.privacy import ADJACENCIES, REPLACE_ONE, Ledger, PureDP, advanced
from dpjax.private_chains import PaidChain, choice, latents, paid_chain
from dpjax.reproductions.foulds.efficiency import (
    COIN,
    EPSILON,
    TEMPERATURE,
    draw_counts,
    estimates,
    excess,
    ops_draws,
)
from dpjax.reproductions.numbers import mean_and_error, table
from dpjax.reproductions.reproduction import Claim, Reproduced, Reproduction, Setting
from dpjax.statistics import FamilyCounts

MANY, CLOSE = 100_000, 0.05
CASES: dict[str, tuple[Family, Truncation]] = {
    "Bernoulli": (Bernoulli(), {"probability": (0.025, 0.975)}),
    "categorical, 3 levels": (Categorical(3), {"probability": (0.025, 0.95)}),
    "Poisson, 0 to 10": (Poisson(10), {"rate": (0.5, 10)}),
    "exponential, 0 to 10": (Exponential(10.0), {"rate": (0.1, 2)}),
    "Gaussian mean, ± 3": (GaussianMean(-3.0, 3.0, 1.0), {"mean": (-3, 3)}),
    "Gaussian, ± 3": (
        Gaussian(-3.0, 3.0),
        {"mean": (-3, 3), "variance": (0.25, 9)},
    ),
    "2 Gaussians, ± 3": (
        MultivariateGaussian((-3.0, -3.0), (3.0, 3.0)),
        {"variance": (0.25, 9)},
    ),
    "regression": (
        LinearRegression.from_bounds((-1.0, -3.0), (1.0, 3.0)),
        {"norm": (0, 3), "precision": (0.25, 4)},
    ),
}
LIMITS = {
    "mean of the Laplace posterior": 1,
    "one sample of the Laplace posterior": 2,
    "OPS": 1 + TEMPERATURE,
}
UPDATE, SWEEPS, RECORDS = Fraction(1, 100), 200, 50


def _run(setting: Setting) -> Reproduced:
    key_efficiency, key_chain = jr.split(setting.key)
    repeats = 60_000 if setting.quick else 400_000
    found = _efficiencies(key_efficiency, setting.rng(), repeats)
    families = _families()
    chain, ledger = _paid(key_chain)
    sweeps = np.unique(np.geomspace(1, 1000, 13).round().astype(int))
    costs = _costs(sweeps)
    return Reproduced(
        _words(found, chain),
        {
            "": _table(found),
            "families": table(
                ("family", "adjacency", "L1_sensitivity", "OPS_sensitivity", "T"),
                families,
            ),
            "sweeps": table(("sweeps", *costs), zip(sweeps.tolist(), *costs.values())),
        },
        {
            "": partial(
                draw_panels,
                [_panel(families), _panel_of(found), _panel_of_costs(sweeps, costs)],
                columns=3,
            )
        },
        [*_claims_of_sensitivity(families), *_claims(found), *_claims_of_cost(ledger)],
    )


def _efficiencies(
    key: Key, rng: np.random.Generator, repeats: int
) -> dict[str, np.ndarray]:
    key_noise, key_ops = jr.split(key)
    counts = draw_counts(rng, np.array([MANY]), repeats)[:, 0]
    drawn = estimates(key_noise, rng, counts)
    drawn["OPS"] = ops_draws(key_ops, counts, np.full(repeats, TEMPERATURE))
    return {name: excess(drawn[name], counts) for name in LIMITS}


def _families() -> list[tuple]:
    """Sensitivities of both kinds in natural units, and the temperature at ε = 1."""
    rows = []
    for name, (family, limits) in CASES.items():
        for adjacency in ADJACENCIES:
            replaced = adjacency == REPLACE_ONE
            change = family.diameter() if replaced else family.radius()
            width = family.sampling_sensitivity(adjacency, limits).value
            heat = (2 if replaced else 1) * width / float(EPSILON)
            rows.append((name, adjacency, change.value, width, heat))
    return rows


def _paid(key: Key) -> tuple[PaidChain, Ledger]:
    """A chain of a label a record and one parameter, and the ledger it was charged to.

    Records are bits, which agree with label xor parameter with a chance of .9.
    """
    bounds, logs = ("-2.302585093", "-0.105360516"), (math.log(0.1), math.log(0.9))
    both = jnp.arange(2, dtype=jnp.int32)

    def fit(labels, record):
        return jnp.where(labels % 2 == record, logs[1], logs[0])

    steps = [
        latents(
            "labels",
            lambda state, record: fit(both + state["side"], record),
            bounds,
            UPDATE,
            log_prior=lambda _: jnp.zeros(2),
        ),
        choice(
            "side",
            lambda state, record, own: fit(both + own["labels"], record),
            bounds,
            UPDATE,
            adjacency=REPLACE_ONE,
            log_prior=lambda _: jnp.zeros(2),
            latents=("labels",),
        ),
    ]
    start = {"side": jnp.zeros((), jnp.int32), "labels": jnp.zeros(RECORDS, jnp.int32)}
    ledger = Ledger(10, adjacency=REPLACE_ONE)
    records = jnp.zeros(RECORDS, jnp.int32)
    chain = paid_chain(key, records, steps, start, sweeps=SWEEPS, ledger=ledger)
    return chain, ledger


def _costs(sweeps: np.ndarray) -> dict[str, list[float]]:
    """ε after so many sweeps of two updates of ε = .01, by how it is accounted for."""
    each = PureDP(UPDATE, REPLACE_ONE)
    later = [advanced(each, 2 * int(n), "1e-6") for n in sweeps]
    return {
        "OPS, per update": [2 * int(n) * float(UPDATE) for n in sweeps],
        "OPS, per update, δ = 1e-6": [float(x.epsilon) for x in later],
        "OPS, if converged": [float(UPDATE)] * len(sweeps),
        "Laplace, ε = 1 once": [1.0] * len(sweeps),
    }


def _claims_of_sensitivity(families: list[tuple]) -> list[Claim]:
    coin = int(FamilyCounts(COIN).sensitivity(REPLACE_ONE).value)
    finite = [x for _, _, *numbers in families for x in numbers]
    return [
        Claim.certain(
            "the L1 sensitivity of eight families within bounds is finite, with no "
            "bound on parameters; that of a Bernoulli count of both values is 2",
            all(math.isfinite(x) for x in finite) and coin == 2,
        ),
        Claim.certain(
            "the sensitivity of OPS is finite only where parameters are truncated: "
            "the library refuses the others",
            all(_refused(family) for family, _ in CASES.values()),
        ),
    ]


def _refused(family: Family) -> bool:
    try:
        family.sampling_sensitivity(REPLACE_ONE)
    except ValueError:
        return True
    return False


def _claims(found: dict[str, np.ndarray]) -> list[Claim]:
    words = {
        "mean of the Laplace posterior": "ARE of Laplace: 1, by its posterior mean",
        "OPS": f"ARE of OPS: 1 + T = {1 + TEMPERATURE:.2f}",
        "one sample of the Laplace posterior": "like for like, a sample of the Laplace "
        "posterior has 2",
    }
    claims = []
    for name, text in words.items():
        mean, error = mean_and_error(found[name])
        off = CLOSE - abs(mean / LIMITS[name] - 1)
        text = f"{text} (at N = 100,000 within {CLOSE:.0%})"
        claims.append(Claim.positive(text, off, error / LIMITS[name]))
    return claims


def _claims_of_cost(paid: Ledger) -> list[Claim]:
    once = Ledger(10, adjacency=REPLACE_ONE)
    noise = DiscreteLaplace.calibrate(
        EPSILON, FamilyCounts(COIN).sensitivity(REPLACE_ONE)
    )
    once.charge(noise.guarantee(), "release")
    return [
        Claim.certain(
            "Gibbs cost of Laplace: once, ε for the release, whatever runs on it",
            float(once.spent) == float(EPSILON),
        ),
        Claim.certain(
            "Gibbs cost of OPS: per update; 200 sweeps of two updates cost 400 ε",
            paid.spent == 400 * UPDATE,
        ),
    ]


def _table(found: dict[str, np.ndarray]) -> dict[str, list]:
    measured = {name: "{:.3f} ± {:.3f}".format(*mean_and_error(x)) for name, x in found.items()}
    laplace, sample, ops = (measured[name] for name in LIMITS)
    rows = [
        ("sensitivity", "sup ‖S(x') - S(x)‖₁", "sup |θᵀ(S(x') - S(x)) + …|"),
        ("Bernoulli, a₀ = .2", "2", f"{TEMPERATURE / 2 * float(EPSILON):.3f}"),
        ("S(X) is", "noised", "rescaled by 1 / T"),
        ("release", "statistics", "one sample"),
        ("ARE, paper", "1", "1 + T"),
        ("ARE, measured", laplace, ops),
        ("ARE of one sample, measured", sample, ops),
        ("Gibbs cost", "once", "per update (unless converged)"),
        ("200 sweeps of two updates", "ε", "400 ε"),
    ]
    return table(("property", "Laplace", "OPS"), rows)


def _panel(families: list[tuple]) -> Panel:
    names = [*CASES]
    series = [
        Series(
            adjacency,
            range(len(names)),
            [heat for _, kind, _, _, heat in families if kind == adjacency],
            style="points" if adjacency == REPLACE_ONE else "crosses",
        )
        for adjacency in ADJACENCIES
    ]
    return Panel(
        series,
        "",
        "temperature T of one sample at ε = 1",
        title="what truncated OPS must be heated to",
        log_y=True,
        categories=names,
    )


def _panel_of(found: dict[str, np.ndarray]) -> Panel:
    names = ["Laplace, mean", "Laplace, sample", "OPS, sample"]
    measured = np.array([mean_and_error(found[name]) for name in LIMITS]).T
    return Panel(
        [
            Series("measured, N = 100,000", range(3), *measured, style="points"),
            Series("theory", range(3), [*LIMITS.values()], style="crosses", colour=7),
        ],
        "",
        "mean square error / smallest variance",
        title=f"relative efficiency, T = {TEMPERATURE:.2f}",
        categories=names,
        limits=(0, 5),
    )


def _panel_of_costs(sweeps: np.ndarray, costs: dict[str, list[float]]) -> Panel:
    styles = ("line", "line", "dashed", "line")
    return Panel(
        [
            Series(name, sweeps, values, style=style)
            for (name, values), style in zip(costs.items(), styles, strict=True)
        ],
        "sweeps of two updates, ε = .01 each",
        "privacy loss ε of all that is shown",
        title="Gibbs cost (replace-one)",
        log_x=True,
        log_y=True,
    )


def _words(found: dict[str, np.ndarray], chain: PaidChain) -> str:
    means = [mean_and_error(found[name]) for name in LIMITS]
    texts = [f"{mean:.3f} ± {error:.3f}" for mean, error in means]
    later = chain.approximate("1e-6")
    return (
        "The two methods side by side, each column computed. *Sensitivity*: of eight "
        "exponential families within public bounds, under both adjacencies; the "
        "Laplace mechanism needs bounds on records alone, OPS a truncation of "
        "parameters too, and its temperature at ε = 1 follows from it. *S(X) is* "
        "noised by Laplace, divided by T by OPS. *Release*: statistics, hence a whole "
        "posterior under any prior, against one sample. *ARE*: measured "
        f"{texts[0]} for the mean of the Laplace posterior, {texts[1]} for a sample of "
        f"it, {texts[2]} for OPS, where theory has 1, 2 and {1 + TEMPERATURE:.2f}. "
        f"*Gibbs cost*: a chain of {chain.sweeps} sweeps over {RECORDS} labels and a "
        f"parameter, ε = {float(UPDATE):g} an update, was charged "
        f"{float(chain.cost.epsilon):g} by the ledger, that is 400 ε; with δ = 1e-6 it "
        f"is {float(later.epsilon):.2f} by advanced composition. “Unless converged” is "
        "one ε, and rests on what nobody can observe."
    )


TABLE_1 = Reproduction(
    "foulds-table-1",
    "The Laplace mechanism beside one posterior sample",
    "Foulds et al., Table 1",
    _run,
)
