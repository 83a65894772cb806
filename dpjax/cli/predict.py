"""`dpjax predict`: predict a variable of new records from a release."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import ArrayLike

from dpjax._documents import printable
from dpjax.cli.options import releases_of, saying
from dpjax.cli.printing import kept_of, print_rows
from dpjax.data.evidence import encode_evidence
from dpjax.data.intervals import Interval
from dpjax.mechanisms import ParameterMechanism
from dpjax.noise.keys import study_key
from dpjax.posteriors import posterior
from dpjax.posteriors.mixed.parts import network_of
from dpjax.releases.released import Released, load
from dpjax.statistics import FamilyStatistic, TableStatistic
from dpjax.theory.stealth import calibrated_increment, paper_increment

_CLASSIFIED, _REGRESSED = 1 << 13, 1 << 7  # records at once; intervals take longer


def run(options: argparse.Namespace) -> None:
    """Run `dpjax predict` with the given options."""
    released, kept = load(options.release), kept_of(options)
    statistic = released.statistic
    if isinstance(statistic, FamilyStatistic):
        found = _regression(released, statistic, options)
    else:
        found = _classification(released, options)
    print_rows(options, *found, kept)


def _classification(
    released: Released, options: argparse.Namespace
) -> tuple[str, list[str], np.ndarray]:
    net = network_of(released)
    target = net.variables[net.index(options.target)]
    if isinstance(target, Interval):
        return _leaf(released, options)
    if options.level is not None:
        raise ValueError("`level` must be left out: it is for a regression.")
    encoded = _evidence(released, options)
    if isinstance(released.mechanism, ParameterMechanism) and (
        options.prior is not None or options.increment != "none"
    ):
        raise ValueError(
            "`prior` and `increment` must be left out: this release holds samples, "
            "which have a prior of their own."
        )
    increment = _increment_of(options.increment, released)
    if increment and not options.no_noise_aware:
        raise ValueError(
            "`increment` must come with --no-noise-aware: noise-aware posteriors have "
            "no use for it."
        )
    with saying("predict", "inferring the posterior"):
        given, disjoint = releases_of(options, released)
        fitted: Any = posterior(
            given,
            options.prior,
            noise_aware=not options.no_noise_aware,
            increment=increment,
            disjoint=disjoint,
        )
    predict = partial(fitted.predict_proba, target=options.target)
    probabilities = _in_blocks(predict, encoded, _CLASSIFIED)
    return fitted.method, [f"p_{level}" for level in target.levels], probabilities


def _leaf(
    released: Released, options: argparse.Namespace
) -> tuple[str, list[str], np.ndarray]:
    """Predict a numeric leaf of a network."""
    if options.prior is not None or options.increment != "none":
        raise ValueError(
            "`prior` and `increment` must be left out: the target is a number."
        )
    encoded = _evidence(released, options)
    return _numbers(released, options, encoded, options.target)


def _numbers(
    released: Released, options: argparse.Namespace, rows: np.ndarray, *target: str
) -> tuple[str, list[str], np.ndarray]:
    """Predict numbers, with intervals; `target` is the leaf of a network."""
    with saying("predict", "inferring the posterior"):
        given, disjoint = releases_of(options, released)
        aware = not options.no_noise_aware
        fitted: Any = posterior(given, noise_aware=aware, disjoint=disjoint)
    level = 0.95 if options.level is None else options.level

    def predict(rows: np.ndarray) -> np.ndarray:
        lower, upper = fitted.interval(rows, *target, level)
        return np.stack([np.asarray(fitted.predict(rows, *target)), lower, upper], 1)

    columns = _in_blocks(predict, rows, _REGRESSED)
    return fitted.method, ["mean", "lower", "upper"], columns.astype(np.float32)


@saying("predict", "reading the records")
def _evidence(released: Released, options: argparse.Namespace) -> np.ndarray:
    """Encode the records, and say which variables have no value in any of them."""
    found = encode_evidence(options.data, released.schema, options.target)
    absent = [
        name
        for (name, variable), x in zip(released.schema.items(), found.T, strict=True)
        if np.all(np.isnan(x) if isinstance(variable, Interval) else x == -1)
        and name != options.target
    ]
    if absent and len(found):
        names = printable(", ".join(absent))
        print(f"dpjax predict: no record has a value of {names}", file=sys.stderr)
    return found


@saying("predict", "reading the records")
def _encoded(released: Released, options: argparse.Namespace) -> np.ndarray:
    data, target = options.data, options.target
    return np.asarray(released.schema.encode(data, ignore="*", absent=target))


def _regression(
    released: Released, statistic: FamilyStatistic, options: argparse.Namespace
) -> tuple[str, list[str], np.ndarray]:
    if not statistic.family.predicts:
        raise ValueError(
            f"`release` must be of a network or a regression to predict, got "
            f"{statistic.family.name}: see dpjax.posterior(dpjax.load(…)).mean() in "
            "Python."
        )
    if options.prior is not None or options.increment != "none":
        raise ValueError(
            "`prior` and `increment` must be left out: this release is of a regression."
        )
    target = statistic.variables[-1].name
    if options.target != target:
        raise ValueError(f"`target` must be {target!r}, got {options.target!r}.")
    return _numbers(released, options, _encoded(released, options)[:, :-1])


@saying("predict", "predicting the records")
def _in_blocks(
    predict: Callable[[np.ndarray], ArrayLike], rows: np.ndarray, size: int
) -> np.ndarray:
    """Predict blocks of `size` rows, so that all tables share their programs."""
    found = []
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        padding = (0, size - len(block)), (0, 0)
        predicted = predict(np.pad(block, padding, mode="edge"))
        found.append(np.asarray(predicted)[: len(block)])
    return np.concatenate(found) if found else np.asarray(predict(rows))


def _increment_of(spec: str, released: Released) -> float:
    """Return the number of records that --increment adds to each table's total."""
    kind, _, value = spec.partition(":")
    statistic, cost = released.statistic, released.mechanism.guarantee()
    if spec == "none" or not isinstance(statistic, TableStatistic):
        return 0.0
    try:
        amount = float(value or kind)
    except ValueError:
        amount = None
    if amount is None or (value and kind not in ("paper", "calibrated")):
        raise ValueError(
            f"`increment` must be none, a number, paper:T or calibrated:P, got {spec}."
        )
    if kind == "paper":
        return paper_increment(statistic, cost.bound, amount)
    if kind == "calibrated":
        key = study_key(0)  # the simulation uses no data, so the key is public
        return calibrated_increment(key, statistic, released.mechanism, amount)
    return amount
