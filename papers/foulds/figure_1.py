"""Figure 1 of Foulds et al.: private posterior densities of a success probability."""

__all__ = ["FIGURE_1"]

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from dpjax._types import Key
from dpjax.mechanisms import DiscreteLaplace, NetworkPosteriorSampler
from dpjax.plots import Panel, Series, draw_panels
from dpjax.posteriors import Windows, rank_in, sums_of
from dpjax.privacy import REPLACE_ONE
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts
from papers.foulds.efficiency import EPSILON, OMEGA, TEMPERATURE, TRUTH
from papers.foulds.figure_1_laws import (
    CUT,
    EDGES,
    FINE,
    MIDDLES,
    ONES,
    TRUE,
    N,
    plain_law,
    sd_of_cells,
    tempered,
    widening,
)
from papers.networks import COIN
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

DRAWN, SHOWN, LEVEL = 30, 3, 0.95
STATISTIC = NetworkCounts(COIN)


class _Found(NamedTuple):
    """Releases of the figure's data, and what is inferred from them."""

    noisy: np.ndarray  # releases and two counts
    aware: np.ndarray  # noise-aware masses of cells, of the first releases
    covered: np.ndarray  # by the noise-aware and the plain interval, other data sets


def _run(setting: Setting) -> Reproduced:
    releases, studied = 4000, 200
    rng = setting.rng()
    chances = rng.uniform(size=releases)
    ones = np.concatenate([np.full(releases, ONES), rng.binomial(N, chances)])
    counts = np.stack([N - ones, ones], axis=-1).astype(np.int32)
    noise = DiscreteLaplace.calibrate(EPSILON, STATISTIC.sensitivity(REPLACE_ONE))
    noisy, ranks, masses = _inferred(
        setting.key, noise, counts, chances, EDGES[1:-1], studied
    )
    noisy = np.asarray(noisy)
    plain = plain_law(noisy[releases:]).cdf(chances)
    outside = (1 - LEVEL) / 2
    covered = [abs(np.asarray(x) - 0.5) < 0.5 - outside for x in (ranks, plain)]
    below = np.pad(np.asarray(masses, float), ((0, 0), (1, 1)), constant_values=(0, 1))
    found = _Found(noisy[:releases], np.diff(below, axis=1), np.stack(covered))
    return Reproduced(
        _words(found),
        {"": _table(found), "summary": _summary(found)},
        {"": partial(draw_panels, [_panel(found), _panel_aware(found)])},
        [*_claims(found), *_claims_aware(found)],
    )


@partial(jax.jit, static_argnames="studied")
def _inferred(
    key: Key,
    noise: DiscreteLaplace,
    counts: Int[ArrayLike, "r 2"],
    chances: Float[ArrayLike, " m"],
    edges: Float[ArrayLike, " j"],
    studied: int,
) -> tuple[Array, Array, Array]:
    """Releases; ranks of the chances, of the last; masses below edges, of the first."""
    windows = Windows(cells=N + 1, hub=N + 1, kept=N + 1, records=1)  # all of 0 to N
    noisy = noise.sample(key, jnp.asarray(counts))
    truths, places = jnp.asarray(chances, float), jnp.asarray(edges, float)

    def rank(values: Array, place: Array) -> Array:
        released = Released(values, STATISTIC, noise, N)
        return rank_in(sums_of(released, jnp.ones(2), windows), jnp.int32(1), place)[0]

    values = [noisy[-len(truths) :], jnp.repeat(noisy[:studied], len(places), axis=0)]
    at = jnp.concatenate([truths, jnp.tile(places, studied)])
    ranks = jax.vmap(rank)(jnp.concatenate(values), at)
    masses = ranks[len(truths) :].reshape(studied, -1)
    return noisy, ranks[: len(truths)], masses


def _claims(found: _Found) -> list[Claim]:
    ratios, weights = widening()
    laws = plain_law(found.noisy)
    means, true = laws.mean(), TRUE.mean()
    highest = tempered(np.array([ONES]))[0].max() / np.diff(FINE)[0]
    peak = TRUE.pdf(ONES / N)
    return [
        Claim.certain(
            "OPS is flatter than the true posterior: its density is nowhere as high",
            bool(highest < peak),
        ),
        Claim.certain(
            "and wider, on average over data sets, although it is cut",
            bool(weights @ ratios > 1),
        ),
        Claim.certain(
            f"OPS is cut at a₀ = {OMEGA}, below which the true posterior has mass",
            bool(TRUE.cdf(CUT) > 0.1),
        ),
        Claim.certain(
            "T = 2.7, to which the paper cuts 2.77, costs more than ε = 1 by its own "
            "formula",
            bool(2 * math.log((1 - CUT) / CUT) / 2.7 > float(EPSILON)),
            by="dpjax",
        ),
        Claim.positive(
            "Laplace posteriors scatter around the true one: their means are off by "
            "less than a quarter of their spread, on average",
            means.std() / 4 - abs(means.mean() - true),
            means.std() / np.sqrt(means.size),
        ),
        Claim.positive(
            "each is about as narrow as the true one: its standard deviation is within "
            "10 % on average",
            0.1 - abs(laws.std().mean() / TRUE.std() - 1),
            laws.std().std() / TRUE.std() / np.sqrt(means.size),
        ),
    ]


def _claims_aware(found: _Found) -> list[Claim]:
    aware, (covered, plain) = sd_of_cells(found.aware, EDGES), found.covered
    return [
        Claim.mean_positive(
            "noise-aware posteriors of the same releases are wider",
            aware - plain_law(found.noisy[: len(aware)]).std(),
            by="dpjax",
        ),
        Claim.positive(
            f"and cover: intervals of {LEVEL:.0%} hold the truth in {LEVEL:.0%} of "
            "data sets, within 3 points",
            0.03 - abs(covered.mean() - LEVEL),
            np.sqrt(LEVEL * (1 - LEVEL) / covered.size),
            by="dpjax",
        ),
        Claim.mean_positive(
            "more often than those of the Laplace posteriors, by more than 5 points",
            covered.astype(float) - plain - 0.05,
            by="dpjax",
        ),
    ]


def _table(found: _Found) -> dict[str, list]:
    rows = [("posterior", 0, x, TRUE.pdf(x)) for x in MIDDLES]
    masses = tempered(np.array([ONES]))[0] / np.diff(FINE)
    centres = (FINE[1:] + FINE[:-1]) / 2
    rows += [
        ("OPS", 0, *pair) for pair in zip(centres[::10], masses[::10], strict=True)
    ]
    for i, law in enumerate(found.noisy[:DRAWN]):
        rows += [("Laplace", i, x, y) for x, y in zip(*_curve(law), strict=True)]
    for i, cells in enumerate(found.aware[:SHOWN]):
        density = cells / np.diff(EDGES)
        rows += [
            ("noise-aware", i, *pair) for pair in zip(MIDDLES, density, strict=True)
        ]
    return table(("law", "draw", "p", "density"), rows)


def _curve(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return MIDDLES, plain_law(counts).pdf(MIDDLES)


def _summary(found: _Found) -> dict[str, list]:
    laws, studied = plain_law(found.noisy), len(found.aware)
    covered, plain = found.covered.mean(axis=1)
    rows = [
        ("posterior", TRUE.mean(), TRUE.std(), LEVEL),
        ("Laplace, on average", laws.mean().mean(), laws.std().mean(), plain),
        (
            "noise-aware, on average",
            (found.aware @ MIDDLES).mean(),
            sd_of_cells(found.aware, EDGES)[:studied].mean(),
            covered,
        ),
    ]
    names = ("law", "mean", "sd", "coverage")
    return table(names, [(name, *map(float, x)) for name, *x in rows])


def _panel(found: _Found) -> Panel:
    lines = [
        Series(
            "Laplace mechanism, 30 releases" if i == 0 else "",
            *_curve(counts),
            style="thin",
            colour=1,
        )
        for i, counts in enumerate(found.noisy[:DRAWN])
    ]
    return Panel(
        [*lines, *_references()],
        "success probability p",
        "posterior density",
        title=f"N = {N}, {ONES} successes, ε = {EPSILON} (replace-one), a₀ = {OMEGA}",
        limits=(0.0, 7.0),
    )


def _references() -> list[Series]:
    """The true posterior, and OPS with its edges."""
    heights = tempered(np.array([ONES]))[0] / np.diff(FINE)
    x = np.concatenate([[0, CUT], (FINE[1:] + FINE[:-1]) / 2, [1 - CUT, 1]])
    label = f"OPS, T = {TEMPERATURE:.2f}"
    return [
        Series("true posterior", MIDDLES, TRUE.pdf(MIDDLES), style="plain", colour=7),
        Series(label, x, np.pad(heights, 2), style="plain", colour=0),
    ]


def _panel_aware(found: _Found) -> Panel:
    series = []
    for i, (counts, cells) in enumerate(
        zip(found.noisy[:SHOWN], found.aware[:SHOWN], strict=True)
    ):
        failures, successes = map(int, counts)
        name = f"{successes} successes and {failures} failures released"
        series.append(
            Series(name, MIDDLES, cells / np.diff(EDGES), style="plain", colour=1 + i)
        )
        series.append(Series("", *_curve(counts), style="thin", colour=1 + i))
    return Panel(
        [_references()[0], *series],
        "success probability p",
        "posterior density",
        title="three of the releases: noise-aware (thick), at their word (thin)",
        limits=(0.0, 7.0),
    )


def _words(found: _Found) -> str:
    ratios, weights = widening()
    laws, aware = plain_law(found.noisy), sd_of_cells(found.aware, EDGES)
    covered, plain = found.covered.mean(axis=1)
    exact = NetworkPosteriorSampler.posterior(
        COIN.layout, EPSILON, REPLACE_ONE, n=N, omega=OMEGA
    ).temperature
    return (
        f"Densities of a success probability after {ONES} successes in {N} "
        "observations, uniform prior. OPS has the temperature 2 ln((1 - a₀)/a₀) / ε = "
        f"{TEMPERATURE:.2f} (the paper prints 2.7, cut and not rounded); it depends on "
        f"neither N nor the data. As N is public, {float(exact):.2f} is enough at this "
        f"N, by its exact loss. The mass of the true posterior below a₀ = {OMEGA} is "
        f"{TRUE.cdf(CUT):.2f}, that of OPS 0. Over all data sets of the true p = "
        f"{TRUTH:g} the standard deviation of OPS is {weights @ ratios:.2f} times that "
        "of the posterior on average, from "
        f"{ratios.min():.2f} to {ratios.max():.2f} times: flattened by T, narrowed by "
        "the cut. The standard deviation of a Laplace posterior is "
        f"{laws.std().mean():.3f} on average, of the true one {TRUE.std():.3f}, but "
        f"the means of Laplace posteriors have a spread of {laws.mean().std():.3f} of "
        "their own, of which they know nothing. The noise-aware posteriors of the same "
        f"releases do, with {aware.mean():.3f}; their intervals of {LEVEL:.0%} cover "
        f"{covered:.1%} of truths drawn from the prior, those of the Laplace "
        f"posteriors {plain:.1%}."
    )


FIGURE_1 = Reproduction(
    "foulds-figure-1",
    "Private posterior densities of a success probability",
    "Foulds et al., Figure 1",
    _run,
)
