"""Table 1 of Foulds et al.: the Laplace mechanism beside one posterior sample."""

__all__ = ["TABLE_1"]

from functools import partial

import jax.random as jr
import numpy as np

from dpjax._types import Key
from dpjax.chains import ChargedChain
from dpjax.plots import Panel, Series, draw_panels
from papers.foulds.efficiency import (
    EPSILON,
    TEMPERATURE,
    draw_counts,
    estimates,
    excess,
    ops_draws,
)
from papers.foulds.gibbs_cost import (
    RECORDS,
    UPDATE,
    claims_of_cost,
    costs_of_sweeps,
    paid,
    panel_of_costs,
)
from papers.foulds.sensitivities import (
    claims_of_sensitivity,
    panel_of_heats,
    sensitivities,
)
from papers.numbers import mean_and_error, table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

MANY, CLOSE = 100_000, 0.05
LIMITS = {
    "mean of the Laplace posterior": 1,
    "one sample of the Laplace posterior": 2,
    "OPS": 1 + TEMPERATURE,
}


def _run(setting: Setting) -> Reproduced:
    key_efficiency, key_chain, key_free = jr.split(setting.key, 3)
    repeats = 100_000 if setting.quick else 400_000
    found = _efficiencies(key_efficiency, setting.rng(), repeats)
    families = sensitivities()
    chain, ledger = paid(key_chain)
    sweeps = np.unique(np.geomspace(1, 1000, 13).round().astype(int))
    costs = costs_of_sweeps(sweeps)
    panels = [
        panel_of_heats(families),
        _panel(found),
        panel_of_costs(sweeps, costs),
    ]
    names = ("family", "adjacency", "truncation", "L1", "OPS", "T")
    lines = zip(sweeps.tolist(), *costs.values(), strict=True)
    return Reproduced(
        _words(found, chain),
        {
            "": _table(found),
            "sensitivities": table(names, families),
            "sweeps": table(("sweeps", *costs), lines),
        },
        {"": partial(draw_panels, panels, columns=3)},
        [
            *claims_of_sensitivity(families),
            *_claims(found),
            *claims_of_cost(key_free, ledger),
        ],
    )


def _efficiencies(
    key: Key, rng: np.random.Generator, repeats: int
) -> dict[str, np.ndarray]:
    key_noise, key_ops = jr.split(key)
    counts = draw_counts(rng, np.array([MANY]), repeats)[:, 0]
    drawn = estimates(key_noise, rng, counts)
    drawn["OPS"] = ops_draws(key_ops, counts, np.full(repeats, TEMPERATURE))
    return {name: excess(drawn[name], counts) for name in LIMITS}


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


def _measured(found: dict[str, np.ndarray]) -> list[str]:
    pairs = [mean_and_error(found[name]) for name in LIMITS]
    return [f"{mean:.4f} ± {error:.4f}" for mean, error in pairs]


def _table(found: dict[str, np.ndarray]) -> dict[str, list]:
    laplace, sample, ops = _measured(found)
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


def _panel(found: dict[str, np.ndarray]) -> Panel:
    names = ["Laplace, mean", "Laplace, sample", "OPS, sample"]
    measured = np.array([mean_and_error(found[name]) for name in LIMITS]).T
    return Panel(
        [
            Series("measured, N = 100,000", np.arange(3), *measured, style="points"),
            Series(
                "theory",
                np.arange(3),
                np.array([*LIMITS.values()]),
                style="crosses",
                colour=7,
            ),
        ],
        "",
        "mean square error / smallest variance",
        title=f"relative efficiency, T = {TEMPERATURE:.2f}",
        categories=names,
        limits=(0.0, 5.0),
    )


def _words(found: dict[str, np.ndarray], chain: ChargedChain) -> str:
    texts = _measured(found)
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
