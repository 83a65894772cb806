"""`dpjax demo`: try mechanisms on real data, and write example files."""

import argparse
import csv
import io
import json
import os
import pathlib
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.random as jr
import numpy as np
from jaxtyping import Array

from dpjax import data
from dpjax._checks import whole
from dpjax._documents import make_folder, write_atomically
from dpjax._types import Key
from dpjax.cli.options import plots, progress
from dpjax.cli.printing import print_json
from dpjax.cli.sweep import rows_of, table_of
from dpjax.data import BayesNet, Schema
from dpjax.mechanisms import DiscreteLaplace, Mechanism
from dpjax.mechanisms.recipes import RECIPES
from dpjax.noise.keys import study_key
from dpjax.posteriors.plug_in import PlugInPosterior, plug_in_posterior
from dpjax.privacy import REPLACE_ONE
from dpjax.releases.publish import release
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic
from dpjax.study import metrics
from dpjax.study.sweeps import SweepResult, sweep
from dpjax.tables.counts import count

EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "5", "10")
TARGET = "affair"
TRAINING_FRACTION = 0.7

Scores = Mapping[str, Array | np.ndarray]


def run(options: argparse.Namespace) -> None:
    """Run `dpjax demo` with the given options."""
    report = demo(options.out, repeats=options.repeats)
    if options.json:
        print_json(report)
        return
    titles = {"accuracy": "accuracy", "auc": "ROC AUC", "log_loss": "log loss"}
    print(table_of(report["results"], titles))
    print(f"majority level: {report['majority_accuracy']:.4f}; chance AUC: 0.5")
    print(f"figure, results, release and example data: {options.out}/")


def demo(out: str | os.PathLike, *, repeats: int = 50, seed: int = 0) -> dict:
    """Fit naive Bayes to the Redbook survey, without privacy and at seven ε.

    Args:
        out: folder for `results.json`, `demo.png`, `release.json`, and the survey and a
            simulated event log with their schemas. It is created if necessary.
        repeats: number of random splits and draws of noise, at least 2.
        seed: seed of the splits and of simulated noise. The release ignores it.

    Returns:
        The content of `results.json`.

    Raises:
        ImportError: if an optional package is missing.
        ValueError: if the folder cannot be written or there are fewer than 2 repeats.
    """
    whole(2, repeats=repeats)  # for standard errors
    schema, table = data.datasets.fair()
    plots().require_matplotlib()
    folder = make_folder(out)
    net, records = BayesNet.naive_bayes(schema, TARGET), schema.encode(table)
    results = []
    for name in progress("demo", "mechanism")(("non-private", "laplace", "fourier")):
        key, budgets = study_key(seed), [None]
        if name == "non-private":
            scores = _study_exact(key, net, records, repeats)
        else:
            statistic: Any = RECIPES[name]().statistic(net, REPLACE_ONE)
            scores = _study_private(key, statistic, records, repeats)
            budgets = [float(epsilon) for epsilon in EPSILONS]
        axes = {"mechanism": [name], "epsilon": budgets, "repeat": [*range(repeats)]}
        arrays = {score: np.asarray(x)[None] for score, x in scores.items()}
        results += rows_of(SweepResult(arrays, axes))
    released = release(net, records, epsilon="1", adjacency=REPLACE_ONE)
    positive = float(np.mean(table[TARGET]))
    report = {
        "results": results,
        "adjacency": REPLACE_ONE,
        "data": "Redbook survey (statsmodels.datasets.fair)",
        "target": TARGET,
        "records": len(table[TARGET]),
        "training_fraction": TRAINING_FRACTION,
        "majority_accuracy": max(positive, 1 - positive),
        "repeats": repeats,
    }
    _write(folder, report, released, table)
    return report


def _study_private(
    key: Key, statistic: TableStatistic, records: Array, repeats: int
) -> Scores:
    def experiment(key: Key, mechanism: Mechanism, records: Array) -> Scores:
        key_split, key_noise = jr.split(key)
        train, test = _split(key_split, records)
        values = mechanism.sample(key_noise, statistic.measure(train))
        released = Released(values, statistic, mechanism, len(train))
        return _scores(plug_in_posterior(released), test)

    sensitivity = statistic.sensitivity(REPLACE_ONE)
    return sweep(
        key,
        experiment,
        records,
        epsilons=EPSILONS,
        mechanisms=partial(DiscreteLaplace.calibrate_many, sensitivity=sensitivity),
        repeats=repeats,
    )


def _study_exact(key: Key, net: BayesNet, records: Array, repeats: int) -> Scores:
    @jax.jit
    def score(keys, records):
        def one(key):
            train, test = _split(key, records)
            counts = count(train, net.layout)
            return _scores(PlugInPosterior.from_counts(net, counts), test)

        return jax.lax.map(one, keys)

    found = score(jr.split(key, repeats), records)
    return {name: values[None] for name, values in found.items()}


def _split(key: Key, records: Array) -> tuple[Array, Array]:
    size = round(TRAINING_FRACTION * records.shape[0])
    shuffled = jr.permutation(key, records)
    return shuffled[:size], shuffled[size:]


def _scores(fitted: PlugInPosterior, test: Array) -> dict[str, Array]:
    probabilities = fitted.predict_proba(test, TARGET)
    levels = test[:, fitted.net.index(TARGET)]
    return {
        "accuracy": metrics.accuracy(probabilities, levels),
        "auc": metrics.roc_auc(probabilities[:, 1], levels),
        "log_loss": metrics.log_loss(probabilities, levels),
    }


def _write(
    folder: pathlib.Path, report: dict, released: Released, table: Mapping
) -> None:
    released.save(folder / "release.json")
    write_atomically(folder / "results.json", json.dumps(report, indent=2) + "\n")
    events_schema, events = data.datasets.simulated_events()
    _write_table(folder, "schema.json", released.schema, "survey.csv", table)
    _write_table(folder, "events.json", events_schema, "events.csv", events)
    plots().privacy_utility(
        report["results"],
        folder / "demo.png",
        majority=report["majority_accuracy"],
        adjacency=report["adjacency"],
        title=f"Naive Bayes on the {report['data']}, {report['repeats']} repeats",
    )


def _write_table(
    folder: pathlib.Path, schema_name: str, schema: Schema, name: str, table: Mapping
) -> None:
    declared = json.dumps(schema.to_json(), indent=2)
    write_atomically(folder / schema_name, declared + "\n")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    write_atomically(folder / name, text.getvalue())
