"""How well are new records predicted, beside other private learners at equal ε?

    python -m benchmarks.bench_peer_utility --table votes.csv --target party

A naive Bayes network of the target is learned from a random part of the records, and
predicts the target of the others. All learners see the same records and have the same
ε, for a record that is added or removed. mbi's Private-PGM gets Laplace noise on the
same tables. MST, AIM and PrivBayes choose their own tables and make synthetic records,
from which the same network is learned without noise; MST, AIM and our Gaussian noise
are (ε, δ)-private, with δ = 1e-9. `hierarchical` is the prior of our tables; without
it, each cell has the prior 1. AIM has four rounds a variable, which take minutes;
its default is 16. A peer that is not found gets a line that says so: MST and AIM are
mst.py and aim.py of mbi's repository, and PrivBayes is that of DataSynthesizer; give
their folders by PYTHONPATH.

With `--bif FILE --records N`, the tables of a known network are learned from records
that are drawn from it; the score is the loss of `bench_utility`, a divergence.
"""

import argparse
import contextlib
import importlib
import io
import itertools
import pathlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import dpjax as dp
from benchmarks.bench_fourier import Truth, draw, read as read_bif
from benchmarks.bench_utility import loss
from dpjax.data.probabilities import log_likelihood, predict
from dpjax.data.sources import Table
from dpjax.statistics import NetworkCounts
from dpjax.study.metrics import accuracy, log_loss
from dpjax.tables.counts import count

DELTA = 1e-9
SCORES = ("accuracy", "log loss", "log-likelihood")
LATENT, FEATURES, ROWS = 3, 16, 21_574  # of simulated records like those of NLTCS


def missing(names: Sequence[str]) -> str:
    """Why one of these modules cannot be imported, or an empty text."""
    try:
        for name in names:
            importlib.import_module(name)
    except ImportError as error:
        return str(error)
    return ""


def learned(net: dp.BayesNet, records) -> jnp.ndarray:
    """Tables of a network from records, without noise, by the prior 1."""
    counts = count(np.asarray(records, np.int32), NetworkCounts(net, "all").measured)
    return net.layout.normalise(counts.astype(float) + 1)


def released(
    mechanism: str, net, records, epsilon, rng, prior: float | str = 1.0
) -> dict[str, Any]:
    """Ours: a release, and its posterior by the default method."""
    near = "add-remove"
    budget = dp.privacy.budget_of(epsilon, near)
    if mechanism == "gaussian":
        budget = dp.privacy.zcdp_budget(near, epsilon=epsilon, delta=DELTA)
    one = dp.release(net, records, budget=budget, mechanism=mechanism)
    return {"posterior": dp.posterior(one, prior=prior)}


def private_pgm(net, records, epsilon, rng) -> dict[str, Any]:
    """mbi's graphical model, from Laplace noise on the same tables."""
    mbi, names = importlib.import_module("mbi"), list(net.names)
    layout = NetworkCounts(net).measured
    exact = np.asarray(count(records, layout), float)
    scale = len(layout.groups) / float(epsilon)
    noisy = exact + rng.laplace(scale=scale, size=exact.shape)
    measurements = [
        mbi.LinearMeasurement(part, tuple(names[i] for i in group), np.sqrt(2) * scale)
        for group, part in zip(
            layout.groups, np.split(noisy, layout.offsets[1:-1]), strict=True
        )
    ]
    domain = mbi.Domain(names, list(net.sizes))
    options = {"iters": 2500}
    model = mbi.estimation.MirrorDescent().estimate(domain, measurements, **options)
    tables = [
        model.project(tuple(names[i] for i in group)).datavector()
        for group in net.layout.groups
    ]
    return {"theta": net.layout.normalise(jnp.concatenate(tables) + 1)}


def mst(net, records, epsilon, rng) -> dict[str, Any]:
    """Synthetic records of a spanning tree of two-way tables."""
    np.random.seed(rng.integers(1 << 31))  # MST draws from NumPy's global generator
    made = importlib.import_module("mst").MST(_dataset(net, records), epsilon, DELTA)
    return {"theta": learned(net, _rows(net, made))}


def aim(net, records, epsilon, rng) -> dict[str, Any]:
    """Synthetic records of adaptively chosen two-way tables, of a small model."""
    module = importlib.import_module("aim")
    prng = np.random.RandomState(rng.integers(1 << 31))
    small = {"max_model_size": 1, "max_iters": 500, "rounds": 4 * len(net.names)}
    workload = [(pair, 1.0) for pair in itertools.combinations(net.names, 2)]
    made = module.AIM(epsilon, DELTA, prng=prng, **small)
    _, synthetic = made.run(_dataset(net, records), workload)
    return {"theta": learned(net, _rows(net, synthetic))}


def privbayes(net, records, epsilon, rng) -> dict[str, Any]:
    """Synthetic records of a network of degree one with noisy tables."""
    module = importlib.import_module("DataSynthesizer.lib.PrivBayes")
    pandas = importlib.import_module("pandas")
    frame = pandas.DataFrame(np.asarray(records, int), columns=list(net.names))
    seed = int(rng.integers(1 << 31))
    arcs = module.greedy_bayes(frame, 1, epsilon / 2, seed)
    laws = module.construct_noisy_conditional_distributions(arcs, frame, epsilon / 2)
    root, n = arcs[0][1][0], len(records)
    made = {root: rng.choice(len(laws[root]), n, p=laws[root])}
    for child, (parent,) in arcs:
        made[child] = np.zeros(n, int)
        for level in range(net.sizes[net.index(parent)]):
            rows = made[parent] == level
            law = laws[child].get(str([level]), [1.0])
            made[child][rows] = rng.choice(len(law), rows.sum(), p=law)
    return {"theta": learned(net, np.stack([made[x] for x in net.names], axis=1))}


def _dataset(net, records):
    mbi = importlib.import_module("mbi")
    columns = np.asarray(records, int).T
    domain = mbi.Domain(list(net.names), list(net.sizes))
    return mbi.Dataset(dict(zip(net.names, columns, strict=True)), domain)


def _rows(net, made) -> np.ndarray:
    columns = made.to_dict()
    return np.stack([np.asarray(columns[name], int) for name in net.names], axis=1)


def learners() -> dict[str, Callable]:
    """All that can be imported, by name."""
    ours = ("laplace", "k-norm", "auto", "gaussian")
    every: dict[str, Callable] = {f"dpjax {x}": partial(released, x) for x in ours}
    prior = "hierarchical"
    every |= {f"dpjax {x}, {prior}": partial(released, x, prior=prior) for x in ours}
    peers = {
        "Private-PGM, Laplace": (("mbi",), private_pgm),
        "MST": (("mbi", "pandas", "mst"), mst),
        "AIM": (("mbi", "pandas", "aim"), aim),
        "PrivBayes": (("DataSynthesizer.lib.PrivBayes",), privbayes),
    }
    for name, (needed, learn) in peers.items():
        if why := missing(needed):
            print(f"{name}: no row, {why}")
        else:
            every[name] = learn
    return every


def scores(net, test, target: str, posterior=None, theta=None) -> list[float]:
    """Accuracy and log loss of the target, and mean log-likelihood of a record."""
    place = net.index(target)
    if posterior is not None:
        law = jnp.asarray(posterior.predict_proba(test, target))
        density = posterior.log_likelihood(test)
    else:
        law = predict(theta, jnp.asarray(test), net, place)
        density = log_likelihood(theta, jnp.asarray(test), net)
    levels = jnp.asarray(test[:, place], int)
    each = accuracy(law, levels), log_loss(law, levels), jnp.mean(density)
    return [float(x) for x in each]


def like_nltcs() -> tuple[dp.BayesNet, np.ndarray]:
    """Records of binary variables from a latent class model, of the size of NLTCS."""
    rng = np.random.default_rng(0)
    latent = rng.choice(LATENT, ROWS, p=[0.6, 0.3, 0.1])
    chances = np.sort(rng.beta(0.7, 1.5, (LATENT, FEATURES)), axis=0)
    records = rng.random((ROWS, FEATURES)) < chances[latent]
    levels = {f"x{i}": [0, 1] for i in range(FEATURES)}
    return dp.BayesNet.naive_bayes(levels, "x0"), records.astype(np.uint8)


def read(table: Table, target: str, leave: Sequence[str]):
    """The naive Bayes network of a table, with the levels that it has, and records."""
    frame = importlib.import_module("pandas").read_csv(
        table, dtype=str, keep_default_na=False
    )
    frame = frame.drop(columns=list(leave))
    columns = {x: sorted(frame[x].unique()) for x in frame if frame[x].nunique() > 1}
    net = dp.BayesNet.naive_bayes(columns, target)
    codes = [frame[x].map({v: i for i, v in enumerate(columns[x])}) for x in net.names]
    return net, np.stack(codes, axis=1).astype(np.uint8)


def divergence(truth: Truth, posterior=None, theta=None) -> list[float]:
    """The divergence of what was learned from the true tables."""
    if posterior is not None:
        mean = posterior.mean()
        theta = jnp.concatenate([jnp.ravel(mean[x]) for x in truth.net.names])
    return [float(loss(truth, theta))]


class Splits(NamedTuple):
    """Records of a table, and the part of them that is held out."""

    net: dp.BayesNet
    records: np.ndarray
    rest: int
    target: str
    names: Sequence[str] = SCORES

    def drawn(self, split: int, rng) -> tuple[np.ndarray, Callable]:
        """Return records to learn from, and the function that scores the result."""
        order = rng.permutation(len(self.records))
        test, train = self.records[order[: self.rest]], self.records[order[self.rest :]]
        return train, partial(scores, self.net, test, self.target)


class Known(NamedTuple):
    """A known network, and how many records are drawn from it."""

    truth: Truth
    n: int
    names: Sequence[str] = ("KL",)

    @property
    def net(self) -> dp.BayesNet:
        """The network."""
        return self.truth.net

    def drawn(self, split: int, rng) -> tuple[np.ndarray, Callable]:
        """Return records to learn from, and the function that scores the result."""
        records = draw(self.truth, 1, split + 1, self.n)[0]
        return np.asarray(records, np.uint8), partial(divergence, self.truth)


def measured(learn: Callable, study: Splits | Known, epsilon: float, splits) -> str:
    """Mean scores of a learner over splits with their standard errors, and seconds."""
    results, start = [], time.perf_counter()
    for split in range(splits):
        rng = np.random.default_rng(split)
        train, score = study.drawn(split, rng)
        with contextlib.redirect_stdout(io.StringIO()):  # of peers
            made = learn(study.net, train, epsilon, rng)
        results.append(score(**made))
    seconds = (time.perf_counter() - start) / splits
    mean = np.mean(results, axis=0)
    error = np.std(results, axis=0, ddof=1) / np.sqrt(splits)
    cells = [f"{a:.4f} ± {b:.4f}" for a, b in zip(mean, error, strict=True)]
    return "".join(f"{cell:>22}" for cell in cells) + f"{seconds:>8.1f}"


def main() -> None:
    """Print the scores of every learner at each ε, with standard errors of splits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=pathlib.Path, help="CSV; none: simulated")
    parser.add_argument("--target", help="column to predict")
    parser.add_argument("--leave", nargs="*", default=[], help="columns to leave out")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.3, 1.0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--test", type=float, default=0.2, help="share held out")
    parser.add_argument("--only", nargs="+", help="names of learners")
    parser.add_argument("--bif", type=pathlib.Path, help="a known network")
    parser.add_argument("--records", type=int, default=1000, help="drawn from --bif")
    options = parser.parse_args()
    study: Splits | Known
    if options.bif is not None:
        study = Known(read_bif(options.bif), options.records)
        print(f"{options.records} records of {options.bif.name}")
    else:
        if options.table is None:
            (net, records), options.target = like_nltcs(), "x0"
        else:
            net, records = read(options.table, options.target, options.leave)
        rest = int(options.test * len(records))
        study = Splits(net, records, rest, options.target)
        print(f"{len(records)} records of {len(net.names)} variables, {rest} held out")
    every = learners()
    chosen = options.only or every
    print(f"{'ε':<6}{'learner':<30}" + "".join(f"{x:>22}" for x in study.names), end="")
    print(" seconds")
    for epsilon in options.epsilons:
        for name in (x for x in every if x in chosen):
            try:
                row = measured(every[name], study, epsilon, options.splits)
            except Exception as error:  # a peer that cannot have so little data or ε
                row = f"  failed: {type(error).__name__}: {error!s:.60}"
            print(f"{epsilon:<6}{name:<30}{row}", flush=True)
    records, score = study.drawn(0, np.random.default_rng(0))
    plain = score(theta=learned(study.net, records))
    print(
        f"{'∞':<6}{'one split, no privacy':<30}" + "".join(f"{x:>22.4f}" for x in plain)
    )


if __name__ == "__main__":
    main()
