"""The study, figure, release and example files of `dpjax demo`."""

__all__ = ["EPSILONS", "demo"]

import csv
import io
import json
import os
import pathlib
from collections.abc import Mapping
from functools import partial

import jax
import jax.random as jr
import numpy as np
from jaxtyping import Array
from tqdm import tqdm

from dpjax import plots
from dpjax._checks import whole
from dpjax._documents import make_folder, write_atomically
from dpjax._types import Key
from dpjax.data import datasets
from dpjax.data.bayes_net import BayesNet
from dpjax.data.schema import Schema
from dpjax.mechanisms import DiscreteLaplace, Mechanism
from dpjax.mechanisms.recipes import RECIPES
from dpjax.noise.keys import study_key
from dpjax.posteriors.plug_in import PlugInPosterior, plug_in_posterior
from dpjax.privacy import REPLACE_ONE
from dpjax.releases.publish import release
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic
from dpjax.study import metrics
from dpjax.study.sweeps import sweep
from dpjax.tables.counts import count

EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "5", "10")
TARGET = "affair"
NOISE = ("laplace", "fourier")  # names of the mechanisms
TRAINING_FRACTION = 0.7


def demo(out: str | os.PathLike, *, repeats: int = 50, seed: int = 0) -> dict:
    """Fit naive Bayes to the Redbook survey, without privacy and at seven ε.

    Args:
        out: folder for `results.json`, `demo.png`, `release.json`, and the survey and a
            simulated event log with their schemas. It is created if necessary.
        repeats: number of random splits and draws of noise.
        seed: seed of splits and simulated noise, but not of the release.

    Returns:
        The content of `results.json`.

    Raises:
        ImportError: if an optional package is missing.
        ValueError: if the folder cannot be written or there are fewer than 2 repeats.
    """
    whole(2, repeats=repeats)  # for standard errors
    folder = make_folder(out)
    schema, table = datasets.fair()
    net, records = BayesNet.naive_bayes(schema, TARGET), schema.encode(table)
    results = []
    steps = [
        ("non-private", None),
        *((name, RECIPES[name]().statistic) for name in NOISE),
    ]
    for name, statistic in tqdm(
        steps, desc="dpjax demo", unit="mechanism", disable=None
    ):
        if statistic is None:
            scores = _study_exact(study_key(seed), net, records, repeats)
        else:
            chosen = statistic(net, REPLACE_ONE)
            scores = _study_private(study_key(seed), chosen, records, repeats)
        results += _summarise(name, scores)
    released = release(net, records, epsilon="1", adjacency=REPLACE_ONE)
    report = _report(results, table, repeats)
    _write(folder, report, released, table)
    return report


def table_of_results(report: dict) -> str:
    """Format the results as lines of text, mean ± standard error."""
    lines = [
        f"{'mechanism':<12} {'ε':>5} {'accuracy':>15} {'ROC AUC':>15} {'log loss':>15}"
    ]
    for row in report["results"]:
        scores = "".join(
            f" {row[score]:.4f} ± {row[f'{score}_se']:.4f}".rjust(16)
            for score in ("accuracy", "auc", "log_loss")
        )
        epsilon = "∞" if row["epsilon"] is None else f"{row['epsilon']:g}"
        lines.append(f"{row['mechanism']:<12} {epsilon:>5}{scores}")
    return "\n".join(lines)


def _study_private(
    key: Key, statistic: TableStatistic, records: Array, repeats: int
) -> Mapping[str, np.ndarray]:
    sensitivity = statistic.sensitivity(REPLACE_ONE)
    return sweep(
        key,
        partial(_private_scores, statistic),
        records,
        epsilons=EPSILONS,
        mechanisms=partial(DiscreteLaplace.calibrate_many, sensitivity=sensitivity),
        repeats=repeats,
    )


def _study_exact(
    key: Key, net: BayesNet, records: Array, repeats: int
) -> dict[str, Array]:
    keys = jr.split(key, repeats)
    score = jax.jit(
        lambda keys, records: jax.lax.map(partial(_exact_scores, net, records), keys)
    )
    return jax.tree.map(lambda leaf: leaf[None], score(keys, records))


def _private_scores(
    statistic: TableStatistic, key: Key, mechanism: Mechanism, records: Array
) -> dict[str, Array]:
    key_split, key_noise = jr.split(key)
    train, test = _split(key_split, records)
    values = mechanism.sample(key_noise, statistic.measure(train))
    released = Released(values, statistic, mechanism, len(train))
    return _scores(plug_in_posterior(released), test)


def _exact_scores(net: BayesNet, records: Array, key: Key) -> dict[str, Array]:
    train, test = _split(key, records)
    counts = count(train, net.layout)
    return _scores(PlugInPosterior.from_counts(net, counts), test)


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


def _summarise(name: str, scores: Mapping[str, Array | np.ndarray]) -> list[dict]:
    budgets = [float(e) for e in EPSILONS] if name in NOISE else [None]
    rows = []
    for i, epsilon in enumerate(budgets):
        row = {"mechanism": name, "epsilon": epsilon}
        for score, values in scores.items():
            repeats = np.asarray(values[i], np.float64)
            row[score] = float(repeats.mean())
            row[f"{score}_se"] = float(repeats.std(ddof=1) / np.sqrt(repeats.size))
        rows.append(row)
    return rows


def _report(results: list[dict], table: dict[str, np.ndarray], repeats: int) -> dict:
    positive = float(np.mean(table[TARGET]))
    return {
        "results": results,
        "adjacency": REPLACE_ONE,
        "data": "Redbook survey (statsmodels.datasets.fair)",
        "target": TARGET,
        "records": len(table[TARGET]),
        "training_fraction": TRAINING_FRACTION,
        "majority_accuracy": max(positive, 1 - positive),
        "repeats": repeats,
    }


def _write(
    folder: pathlib.Path, report: dict, released: Released, table: dict[str, np.ndarray]
) -> None:
    released.save(folder / "release.json")
    write_atomically(folder / "results.json", json.dumps(report, indent=2) + "\n")
    _write_table(folder, "schema.json", released.schema, "survey.csv", table)
    schema, events = datasets.simulated_events()
    _write_table(folder, "events.json", schema, "events.csv", events)
    plots.privacy_utility(
        report["results"],
        folder / "demo.png",
        majority=report["majority_accuracy"],
        adjacency=report["adjacency"],
        title=f"Naive Bayes on the {report['data']}, {report['repeats']} repeats",
    )


def _write_table(
    folder: pathlib.Path,
    schema_name: str,
    schema: Schema,
    name: str,
    table: dict[str, np.ndarray],
) -> None:
    declared = json.dumps(schema.to_json(), indent=2)
    write_atomically(folder / schema_name, declared + "\n")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    write_atomically(folder / name, text.getvalue())
