"""Figure 2 of Zhang et al.: regression's error against the prior's precision b.

The paper's axis goes from b = 0 to 100, and its claims are about that. What is beyond
is ours.
"""

__all__ = ["FIGURE_2"]

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import jax.numpy as jnp
import numpy as np

from dpjax.data.intervals import Interval
from dpjax.mechanisms import DiscreteLaplace, RegressionSample
from dpjax.plots import Panel, Series, TopAxis, draw_panels
from dpjax.privacy import REPLACE_ONE
from dpjax.statistics import Sufficient
from dpjax.study.experiments import RegressionExperiment
from dpjax.study.experiments.learners import stacked
from dpjax.study.experiments.regression import (
    ReleasedWeights,
    SampledWeights,
    WeightLearner,
)
from dpjax.study.sweeps import sweep
from dpjax.theory import linear_regression_constant, posterior_sample_cost
from papers.numbers import mean_and_error, table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting
from papers.zhang.wages import Wages, own_wages, simulated_wages

AXIS = range(1, 11)  # of the paper: roots of b, so that ε is a fraction
ROOTS = (*AXIS, 20, 50, 100)
_TICKS = (1, 2, 5, 10, 20, 50, 100)
PRECISIONS = tuple(float(root**2) for root in ROOTS)
TRAINING_SHARE = 0.1
RECORDS = 300_000
PLAIN = "non-private posterior mean"
SAMPLE, NOISY = "one posterior sample, T = 1", "Laplace on the statistics, same ε"
COLD_SAMPLE, COLD_NOISY = (
    "one posterior sample, ε = 1",
    "Laplace on the statistics, ε = 1",
)
METHODS: tuple[str, ...] = (PLAIN, SAMPLE, NOISY, COLD_SAMPLE, COLD_NOISY)

Errors = dict[str, np.ndarray]  # by method: precision, repeat


def _run(setting: Setting) -> Reproduced:
    if setting.data is None or setting.schema is None:
        wages = simulated_wages(setting.rng(), RECORDS)
    else:
        wages = own_wages(setting.data, setting.schema)
    training = round(TRAINING_SHARE * len(wages.records))
    statistic = _statistic(wages.records.shape[1])
    epsilons = [_cost(root) for root in ROOTS]
    study = RegressionExperiment(statistic, training)
    result = sweep(
        setting.key,
        study,
        wages.records,
        epsilons=epsilons,
        mechanisms=_methods(statistic, training, epsilons),
        prepare=study.prepare,
        repeats=40 if setting.quick else 100,
    )
    scores = np.asarray(result["mse"], float) * wages.unit**2
    errors: Errors = dict(zip(METHODS, scores, strict=True))
    variance = float(wages.records[:, -1].var()) * wages.unit**2
    return Reproduced(
        _words(errors, wages, training, variance),
        {"": _table(errors, epsilons)},
        {"": partial(draw_panels, _panels(errors, epsilons, variance), columns=3)},
        _claims(errors, epsilons),
    )


def _cost(root: int) -> Fraction:
    """Of one sample with noise of precision 1, unit balls and weights within 10/√b."""
    constant = linear_regression_constant(1, 1, 1, Fraction(10, root), REPLACE_ONE)
    return posterior_sample_cost(constant, REPLACE_ONE).epsilon


def _statistic(columns: int) -> Sufficient:
    """Of features whose vector is in the unit ball, and a target within ± 1."""
    most = 1 / np.sqrt(columns - 1)
    features = [Interval(f"x{i}", -most, most) for i in range(columns - 1)]
    variables = (*features, Interval("y", -1, 1))
    return Sufficient.of("linear-regression", variables, REPLACE_ONE, intercept=False)


def _methods(
    statistic: Sufficient, n: int, epsilons: Sequence[Fraction]
) -> dict[str, WeightLearner]:
    """Stacked over prior precisions, each of which has its ε."""

    def samples(heats: Sequence[float]) -> SampledWeights:
        pairs = zip(heats, ROOTS, strict=True)
        laws = [
            RegressionSample(statistic, heat, 10 / root, float(root**2), n=n)
            for heat, root in pairs
        ]
        return SampledWeights(stacked(laws))

    precisions = jnp.array(PRECISIONS, float)

    def released(noise: DiscreteLaplace | None) -> ReleasedWeights:
        return ReleasedWeights(statistic, noise, precisions, 1.0, n)

    calibrate = partial(
        DiscreteLaplace.calibrate_many, sensitivity=statistic.sensitivity(REPLACE_ONE)
    )
    return {
        PLAIN: released(None),
        SAMPLE: samples([1.0] * len(epsilons)),
        NOISY: released(calibrate(epsilons)),
        COLD_SAMPLE: samples([float(x) for x in epsilons]),
        COLD_NOISY: released(calibrate([1] * len(epsilons))),
    }


def _claims(errors: Errors, epsilons: Sequence[Fraction]) -> list[Claim]:
    plain, sample, noisy, hot, cold = (errors[name] for name in METHODS)
    weak, strong = slice(len(AXIS)), len(AXIS) - 1  # of the axis, and its end
    falling = all(a > b for a, b in itertools.pairwise(epsilons[weak]))
    known = [epsilons[PRECISIONS.index(b)] for b in (1, 100)] == [121, 4]
    return [
        Claim.mean_positive(
            "a more concentrated prior (larger b) leads to worse MSE: non-private, at "
            "every step of the axis, b = 1 to 100",
            np.diff(plain[weak], axis=0),
        ),
        Claim.mean_positive(
            "a more concentrated prior leads to worse MSE: one sample, by the slope of "
            "a straight line over the axis, b = 1 to 100",
            _slopes(sample[weak]),
        ),
        Claim.mean_positive(
            "beyond the paper's axis too: one sample, at every step from b = 100 on",
            np.diff(sample[strong:], axis=0),
            by="dpjax",
        ),
        Claim.mean_positive(
            "private regression suffers only slightly worse MSE (our reading: one "
            "sample within 10 %, at every b of the axis, whose ε is 121 to 4)",
            (1.1 * plain - sample)[weak],
        ),
        Claim.mean_positive(
            "heated until it costs ε = 1 one sample is more than 10 % worse, at every "
            "b from 1 to 100",
            (hot - 1.1 * plain)[weak],
            by="dpjax",
        ),
        Claim.certain(
            "the sampler enjoys increasing privacy: ε falls as b grows from 1 to 100",
            falling,
        ),
        Claim.certain(
            "one sample costs ε = 121 at b = 1, and 4 at b = 100", known, by="dpjax"
        ),
        Claim.mean_positive(
            "at the same ε noise on the statistics is better than one sample, at b "
            "from 1 to 100 (ε from 121 to 4)",
            (sample - noisy)[weak],
            by="dpjax",
        ),
        Claim.mean_positive(
            "and so it is at ε = 1: the geometric mean of the MSE over b from 1 to 100",
            np.log(hot / cold)[weak].mean(axis=0),
            by="dpjax",
        ),
    ]


def _slopes(errors: np.ndarray) -> np.ndarray:
    """Of least squares over the axis, one a repeat."""
    b = np.array(PRECISIONS[: len(errors)])
    return (b - b.mean()) @ errors


def _table(errors: Errors, epsilons: Sequence[Fraction]) -> dict[str, list]:
    rows = [
        (name, b, float(epsilon), *mean_and_error(x))
        for name, values in errors.items()
        for b, epsilon, x in zip(PRECISIONS, epsilons, values, strict=True)
    ]
    return table(("method", "b", "epsilon", "mse", "standard_error"), rows)


def _panels(
    errors: Errors, epsilons: Sequence[Fraction], variance: float
) -> list[Panel]:
    def top(label: str, roots: Sequence[int]) -> TopAxis:
        names = [f"{float(epsilons[ROOTS.index(root)]):.3g}" for root in roots]
        return TopAxis(label, [float(root**2) for root in roots], names)

    x = "prior precision b of a weight (norm at most 10 / √b)"
    y = "held-out MSE, in squared units of the target"
    level = {"variance of the target": variance}
    return [
        Panel(
            [_series(name, errors[name][: len(AXIS)]) for name in (PLAIN, SAMPLE)],
            x,
            y,
            title="Zhang et al., Figure 2",
            top=top("privacy loss ε", (2, 4, 6, 8, 10)),
        ),
        Panel(
            [_series(name, errors[name]) for name in (PLAIN, SAMPLE, NOISY)],
            x,
            y,
            log_x=True,
            levels=level,
            top=top("privacy loss ε", _TICKS),
        ),
        Panel(
            [_series(name, errors[name]) for name in (PLAIN, COLD_SAMPLE, COLD_NOISY)],
            x,
            y,
            log_x=True,
            log_y=True,
            levels=level,
            top=top("temperature T of the sample", _TICKS),
        ),
    ]


def _series(name: str, errors: np.ndarray) -> Series:
    colour = {PLAIN: 2, SAMPLE: 0, COLD_SAMPLE: 0}.get(name, 1)
    means = np.array([mean_and_error(x) for x in errors]).T
    return Series(name, np.array(PRECISIONS[: len(errors)]), *means, colour=colour)


def _words(errors: Errors, wages: Wages, training: int, variance: float) -> str:
    means = {name: values.mean(axis=1) for name, values in errors.items()}
    plain, sample = means[PLAIN], means[SAMPLE]
    above = ", ".join(f"{x:.1%}" for x in sample / plain - 1)
    hot, cold = means[COLD_SAMPLE], means[COLD_NOISY]
    return (
        f"Held-out MSE of a regression on {wages.records.shape[1] - 1} features, a "
        f"constant one among them, learned from {training} of {len(wages.records)} "
        f"records; the target's variance is {variance:.3f}. Features are scaled into "
        "the unit ball, the target to ± 1 (errors are in its own unit), and the noise "
        "has precision 1, as in appendix D. With the norm bound 10 / √b one posterior "
        "sample at T = 1 costs ε = (1 + 10 / √b)², from 121 at b = 1 to 4 at b = "
        f"100: that is what its MSE, {above} above non-private at b = "
        f"{', '.join(f'{b:g}' for b in PRECISIONS)}, is paid with. "
        f"Heated until it costs ε = 1, one sample has {hot.min():.3f} at its best b, "
        f"{PRECISIONS[int(hot.argmin())]:g}, and {hot[0]:.3f} at b = 1; noise on the "
        f"sufficient statistics has {cold.min():.3f} at its best b, "
        f"{PRECISIONS[int(cold.argmin())]:g}. Non-private: {plain[0]:.3f} at b = 1."
    )


FIGURE_2 = Reproduction(
    "zhang-figure-2",
    "Error of private linear regression against the prior's precision",
    "Zhang et al., Figure 2",
    _run,
    data="a table of numbers with bounds, 100 records or more, the schema's last "
    "variable the target",
)
