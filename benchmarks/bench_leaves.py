"""Numeric leaves of a network: do intervals cover, and does a classifier gain?

`python -m benchmarks.bench_leaves` draws records of a variable with many levels and of
a normal number, whose mean and variance are drawn from the prior for each level. Each
level is a repeat. It prints how often 95 % intervals from one release contain the mean
and the variance.

With `--adult TABLE DOMAIN`, it prints the accuracy of naive Bayes for the income in the
Adult table: with age, years of education and hours as normal leaves, and in bins, at
equal ε. DOMAIN says the bins of the table, within which numbers are drawn uniformly.
"""

import argparse
import json

import numpy as np

import dpjax as dp
from dpjax.data import MixedNet
from dpjax.data.sources import parts
from dpjax.families import NormalInverseGammaParameters

ADJACENCY = "replace-one"
PRIOR = NormalInverseGammaParameters(0.5, 2.0, 5.0, 0.03)
ENDS = {"age": (17, 90), "hours-per-week": (1, 99), "education-num": (1, 16)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--levels", type=int, default=300, help="default: 300")
    parser.add_argument("--repeats", type=int, default=5, help="default: 5, of Adult")
    parser.add_argument("--adult", nargs=2, metavar=("TABLE", "DOMAIN"))
    options = parser.parse_args()
    if options.adult:
        adult(*options.adult, options.repeats)
    else:
        coverage(options.levels)


def coverage(levels: int) -> None:
    print(f"{levels} levels, ε = 1, {ADJACENCY}; standard error "
          f"{np.sqrt(0.95 * 0.05 / levels):.3f}")  # fmt: skip
    print(f"{'records of a level':<20}{'':<14}{'mean':>8}{'variance':>10}{'width':>8}")
    for each in (50, 200, 1000):
        rng = np.random.default_rng(each)
        net = MixedNet.naive_bayes(
            {"y": [*range(levels)], "x": {"lower": 0, "upper": 1}}, "y"
        )
        variance = PRIOR.scale / rng.gamma(PRIOR.shape, size=levels)
        mean = rng.normal(PRIOR.mean, np.sqrt(variance / PRIOR.strength))
        y = rng.integers(0, levels, each * levels)
        table = {"y": y, "x": rng.normal(mean[y], np.sqrt(variance[y]))}
        made = dp.release(net, table, epsilon=1, adjacency=ADJACENCY)
        for aware in (True, False):
            leaf = dp.posterior(made, {"x": PRIOR}, noise_aware=aware).leaves["x"]
            low, high = leaf.quantile(0.025), leaf.quantile(0.975)
            covered = [
                np.mean((low[name] <= truth) & (truth <= high[name]))
                for name, truth in (("mean", mean), ("variance", variance))
            ]
            width = np.mean(high["mean"] - low["mean"])
            name = "noise-aware" if aware else "plug-in"
            print(f"{each:<20}{name:<14}{covered[0]:>8.3f}{covered[1]:>10.3f}"
                  f"{width:>8.3f}", flush=True)  # fmt: skip


def adult(path: str, domain: str, repeats: int) -> None:
    with open(domain, encoding="utf-8") as file:
        facts = json.load(file)
    rng = np.random.default_rng(0)
    codes = columns_of(path, [*facts, "split"])
    numbers = {name: drawn(rng, codes[name].astype(int), facts[name], ends)
               for name, ends in ENDS.items()}  # fmt: skip
    levels = {name: [*map(str, range(x["size"]))] for name, x in facts.items()}
    bounds = {x: {"lower": low, "upper": high} for x, (low, high) in ENDS.items()}
    nets = {
        "in bins": dp.BayesNet.naive_bayes(levels, "income"),
        "normal leaves": MixedNet.naive_bayes({**levels, **bounds}, "income"),
    }
    train = codes["split"] == "train"
    print(f"{train.sum()} records, {(~train).sum()} to predict, {ADJACENCY}; accuracy, "
          "log-loss, with standard errors over repeats of the noise")  # fmt: skip
    for epsilon in ("0.01", "0.1", "1"):
        for name, net in nets.items():
            table = {**codes, **(numbers if name != "in bins" else {})}
            table = {x: table[x] for x in facts}
            found = [scores(net, table, train, epsilon) for _ in range(repeats)]
            mean, error = np.mean(found, 0), np.std(found, 0, ddof=1) / repeats**0.5
            print(f"ε = {epsilon:<6}{name:<16}{mean[0]:.4f} ± {error[0]:.4f}   "
                  f"{mean[1]:.4f} ± {error[1]:.4f}", flush=True)  # fmt: skip


def scores(net, table, train, epsilon: str) -> tuple[float, float]:
    """Accuracy and mean log-loss of a classifier from one release."""
    known = {name: column[train] for name, column in table.items()}
    new = {name: column[~train] for name, column in table.items()}
    made = dp.release(net, known, epsilon=epsilon, adjacency=ADJACENCY)
    found = dp.posterior(made)
    chances = np.asarray(found.predict_proba(new, "income"), float)
    truth = new["income"].astype(int)
    loss = -np.log(np.maximum(chances[np.arange(len(truth)), truth], 1e-12))
    return float((chances.argmax(axis=1) == truth).mean()), float(loss.mean())


def columns_of(path: str, names: list[str]) -> dict[str, np.ndarray]:
    """The columns of a CSV file, as arrays of text."""
    blocks = [block for part in parts(path) for block in part.read(names)]
    return {
        name: np.concatenate([np.asarray(block[name], str) for block in blocks])
        for name in names
    }


def drawn(rng, codes: np.ndarray, fact: dict, ends: tuple) -> np.ndarray:
    """Numbers in the bins of a column, whole ones where it has no edges."""
    if "edges" not in fact:
        return codes + ends[0]
    edges = np.array([ends[0], *fact["edges"], ends[1]], float)
    return rng.uniform(edges[codes], edges[codes + 1])


if __name__ == "__main__":
    main()
