"""What an installation with one extra, or none, must do and must politely refuse.

Run by the environment's own Python: `python .ci/smoke.py EXTRA`, or `core`.
"""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

import jax.random as jr
import numpy as np

import dpjax as dp
from dpjax.cli.main import main
from dpjax.privacy import PureDP, Sensitivity, accounting, exact_epsilon

VARIABLES = {"t": {"levels": [0, 1]}, "x": {"levels": [0, 1]}}
TABLE = {"t": [0, 1, 1], "x": [1, 1, 0]}
NET = dp.BayesNet.naive_bayes({"t": [0, 1], "x": [0, 1]}, "t")


def command(line: str) -> tuple[int, str]:
    """Exit status of a command of `dpjax`, and the errors that it printed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = main(line.split())
    return status, said.getvalue()


def core() -> None:
    """A release, charged for, saved, verified and learned from: nothing optional."""
    ledger = dp.Ledger(2, adjacency="add-remove", path="ledger.jsonl")
    released = dp.release(NET, TABLE, epsilon=1, adjacency="add-remove", ledger=ledger)
    released.save("release.json")
    dp.posterior(dp.load("release.json"), noise_aware=False).mean()
    assert ledger.spent == 1
    assert command("verify release.json") == (0, "")


def files() -> None:
    """A release by the command line, from a file."""
    line = "release table.csv --schema schema.json --network naive-bayes:t --epsilon 1"
    status, said = command(f"{line} --adjacency replace-one --out file.json")
    if status == 2:
        raise ImportError(said.strip().removeprefix("dpjax release: "))
    assert status == 0, said
    assert command("verify file.json") == (0, "")


def frames() -> None:
    """A sweep as a data set of xarray."""
    swept().to_xarray()


def tables() -> None:
    """A sweep as a frame of pandas, and as a file."""
    swept().to_dataframe()
    swept().save("sweep.parquet")


def swept() -> dp.study.SweepResult:
    """The smallest sweep."""
    noise = dp.mechanisms.DiscreteLaplace.calibrate_many(
        ["1"], Sensitivity(1, "add-remove", tight=True)
    )
    zeros = np.zeros(1, np.int32)
    return dp.sweep(
        dp.study_key(0),
        lambda key, mechanism, exact: {"noisy": mechanism.sample(key, exact).sum()},
        zeros,
        epsilons=["1"],
        mechanisms={"laplace": noise},
        repeats=2,
    )


def arviz() -> None:
    """Draws for ArviZ."""
    posterior = dp.posterior(dp.load("release.json"), noise_aware=False)
    dp.exports.to_arviz(jr.key(0), posterior, draws=5)


def graph() -> None:
    """A network as a graph of networkx."""
    dp.exports.to_networkx(NET)


def estimator() -> None:
    """A classifier of scikit-learn."""
    made = dp.sklearn.PrivateNaiveBayes(
        {"x": [0, 1]}, classes=[0, 1], epsilon=1, adjacency="replace-one"
    )
    made.fit(np.array([TABLE["x"]]).T, TABLE["t"]).predict([[0]])


def picture() -> None:
    """A plot."""
    dp.plots.privacy_utility(
        [], "x.png", majority=0.5, adjacency="replace-one", title=""
    )


def budget() -> None:
    """Several releases under (ε, δ)."""
    accounting.total_epsilon([PureDP(exact_epsilon(1), "add-remove")], 1e-6)


def words() -> None:
    """What a shell completes."""
    asked = {"COMP_LINE": "dpjax rel", "COMP_POINT": "9", "_ARGCOMPLETE": "1"}
    asked["_ARGCOMPLETE_STDOUT_FILENAME"] = "words.txt"
    command = [sys.executable, "-m", "dpjax"]
    subprocess.run(command, env={**os.environ, **asked}, check=True)
    assert "release" in pathlib.Path("words.txt").read_text(encoding="utf-8")


# By feature: the extras that promise it.
OPTIONAL: dict[Callable[[], object], set[str]] = {
    files: {"data", "demo", "sklearn", "sweep"},
    tables: {"data", "demo", "sklearn", "sweep"},
    frames: {"sweep", "arviz"},
    picture: {"plots", "demo"},
    dp.data.datasets.fair: {"demo"},
    budget: {"accounting"},
    arviz: {"arviz"},
    graph: {"networks"},
    estimator: {"sklearn"},
}


def refusal(feature: Callable[[], object]) -> str | None:
    """None if the feature works, else the error that says what it needs."""
    try:
        feature()
    except ImportError as error:
        return str(error)
    return None


def check(extra: str) -> None:
    """Everything that this extra promises works; all else names an extra, or works."""
    core()
    for feature, extras in OPTIONAL.items():
        said = refusal(feature)
        if extra == "all" or extra in extras:
            assert said is None, (feature.__name__, said)
        elif said is not None:
            assert "\n" not in said, said
            named = [x for x in extras if f'pip install "dpjax[{x}]"' in said]
            assert named, (feature.__name__, said)
    if extra in ("all", "completion"):
        words()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        document = json.dumps({"variables": VARIABLES})
        pathlib.Path("schema.json").write_text(document, encoding="utf-8")
        rows = zip(TABLE["t"], TABLE["x"], strict=True)
        lines = ["t,x", *(f"{t},{x}" for t, x in rows)]
        pathlib.Path("table.csv").write_text("\n".join(lines), encoding="utf-8")
        check(sys.argv[1])
