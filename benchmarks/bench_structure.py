"""How good is a network learned with privacy, beside other private learners?

    python -m benchmarks.bench_structure --bif alarm.bif.gz --target BP

Scores of held-out records are those of `bench_peer_utility`, where modules of peers are
described. The seconds are those of one fit and its scores, compilation included. All
learners have the same ε, for a record that is added or removed. `dpjax ε` and `dpjax
zCDP` choose the degree by default. `dpjax …, all pairs` learns no network, but releases
the tables of all pairs of variables; this needs few variables, whose possible records
can be enumerated. `dpjax ε…` and PrivBayes are ε-private (PrivBayes takes the number of
records as public), the others are (ε, δ)-private with δ = 1e-9. AIM has two-way tables,
500 iterations, four rounds a variable and a model of at most 1 MB; its defaults are 16
rounds and 80 MB.

MST and AIM are scored by their Markov random fields, as Bayesian networks whose tables
are marginals of the junction tree, and PrivBayes by its network and as many synthetic
records as it gets. Each cell of the peers' tables, and of the exact ones of the
Chow–Liu tree, gets one more record, so that no probability is 0.
"""

import argparse
import contextlib
import importlib
import io
import itertools
import pathlib
import time
from collections.abc import Callable
from functools import partial, reduce
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from scipy.special import rel_entr

import dpjax as dp
from benchmarks import bench_peer_utility as peers
from dpjax._documents import read_text
from dpjax.data.probabilities import sample_records
from dpjax.noise.keys import study_key
from dpjax.privacy import zcdp_budget
from dpjax.statistics import MarginalContrasts


def cost(kind: str, epsilon: float) -> dict:
    """Arguments of a release that costs ε, or the ρ from which (ε, δ) follows."""
    if kind == "ε":
        return {"epsilon": epsilon, "adjacency": "add-remove"}
    budget = zcdp_budget("add-remove", epsilon=epsilon, delta=peers.DELTA)
    return {"budget": budget}


def ours(kind: str, degree: int | None, net, records, epsilon, rng) -> dict:
    """A network learned by dpjax, and its posterior by the default method."""
    released = dp.learn(net.schema, records, degree=degree, **cost(kind, epsilon))
    return {"net": released.net, "posterior": dp.posterior(released)}


def all_pairs(kind: str, net, records, epsilon, rng) -> dict:
    """The random field of all pairs of variables: no structure is learned."""
    statistic = MarginalContrasts.of_order(net.schema, 2, "add-remove")
    paid = cost(kind, epsilon)
    posterior = dp.posterior(dp.release(statistic, records, mechanism="auto", **paid))
    return {"net": posterior.net, "posterior": posterior}


def aim(net, records, epsilon, rng) -> None:
    """Run AIM, which chooses two-way tables one after the other."""
    prng = np.random.RandomState(rng.integers(1 << 31))
    small = {"max_model_size": 1, "max_iters": 500, "rounds": 4 * len(net.names)}
    workload = [(pair, 1.0) for pair in itertools.combinations(net.names, 2)]
    made = importlib.import_module("aim").AIM(epsilon, peers.DELTA, prng=prng, **small)
    made.run(peers._dataset(net, records), workload)


def as_network(run: Callable, net, records, epsilon, rng) -> dict:
    """The model from which MST or AIM draws records, as a Bayesian network."""
    mbi, mst = importlib.import_module("mbi"), importlib.import_module("mst")
    fields, undo = [], mock.Mock(wraps=mst.reverse_data)  # to all levels, of MST
    field, patch = mbi.MarkovRandomField, mock.patch.object

    def draw(made, **_):  # one record instead of many
        fields.append(made)
        return mbi.Dataset(dict.fromkeys(made.domain, np.zeros(1, int)), made.domain)

    with patch(field, "synthetic_data", draw), patch(mst, "reverse_data", undo):
        run(net, records, epsilon, rng)
    model, codes = fields[0], [np.arange(size) for size in net.sizes]
    if undo.called:  # the levels that MST does not keep have one code
        kept = [np.asarray(undo.call_args.args[1][name]) for name in net.names]
        codes = [np.where(x, np.cumsum(x) - 1, x.sum()) for x in kept]
    shares = [1 / np.bincount(x)[x] for x in codes]
    junction, order = mbi.junction_tree.make_junction_tree(model.domain, model.cliques)
    potentials = model.potentials.expand(list(junction.nodes))
    passed = mbi.marginal_oracles.message_passing_stable(potentials, model.total)
    parents: dict[str, list[str]] = {}
    for name in reversed(order):  # neighbours that are eliminated later are parents
        near = {x for clique in junction.nodes if name in clique for x in clique}
        parents[name] = sorted(near & set(parents))
    made, tables = dp.BayesNet.from_parents(net.schema, parents), []
    for group in made.layout.groups:
        table = passed.project(tuple(made.names[i] for i in group))
        table = np.asarray(table.datavector(flatten=False))
        share = reduce(np.multiply.outer, [shares[i] for i in group])
        tables.append(table[np.ix_(*(codes[i] for i in group))] * share)
    theta = made.layout.normalise(jnp.asarray(np.concatenate(tables, None)) + 1)
    return {"net": made, "theta": theta}


def privbayes(degree: int, net, records, epsilon, rng) -> dict:
    """PrivBayes of DataSynthesizer, with a faster function for mutual information."""
    module = importlib.import_module("DataSynthesizer.lib.PrivBayes")
    module.mutual_information = lambda x, y: information(x, *(y[name] for name in y))
    pandas, seed = importlib.import_module("pandas"), int(rng.integers(1 << 31))
    frame = pandas.DataFrame(records, columns=list(net.names), dtype=int)
    arcs = module.greedy_bayes(frame, degree, epsilon / 2, seed)
    laws = module.construct_noisy_conditional_distributions(arcs, frame, epsilon / 2)
    made, tables = dp.BayesNet.from_parents(net.schema, dict(arcs)), []
    for *above, i in made.layout.groups:
        law = laws[made.names[i]]
        for levels in np.ndindex(*made.layout.shape(tuple(above))):
            row = law.get(str(list(levels)), []) if above else law
            tables.append(np.pad(row, (0, made.sizes[i] - len(row))))
    theta = made.layout.normalise(jnp.asarray(np.concatenate(tables)) + 1e-9)
    drawn = sample_records(study_key(seed), theta, made, len(records))
    return {"net": made, "theta": peers.learned(made, drawn)}


def chow_liu(net, records, epsilon, rng) -> dict:
    """The tree with the highest likelihood, and its tables, without privacy."""
    columns, names = records.T, net.names
    # A constant less for every edge: SciPy takes 0 for no edge.
    values = [[-1 - information(x, y) for x in columns] for y in columns]
    order, above = breadth_first_order(minimum_spanning_tree(values), 0, False)
    parents = {names[i]: [names[above[i]]] for i in order[1:]}
    made = dp.BayesNet.from_parents(net.schema, dict.fromkeys(names, ()) | parents)
    return {"net": made, "theta": peers.learned(made, records)}


def information(column, *others) -> float:
    """Mutual information of a column and some others, in nats."""
    factorize = importlib.import_module("pandas").factorize
    codes = [factorize(x)[0] for x in (*others, column)]
    law = np.zeros([x.max() + 1 for x in codes])
    np.add.at(law, tuple(codes), 1 / len(column))
    law = law.reshape(-1, law.shape[-1])
    return float(rel_entr(law, law.sum(0) * law.sum(1, keepdims=True)).sum())


def read(options):
    """The variables, and a training and a test part for each split."""
    if options.density:
        names = [f"{options.density}.{part}.data" for part in ("train", "test")]
        parts = [np.loadtxt(name, np.uint8, delimiter=",") for name in names]
        levels = {f"x{i}": [0, 1] for i in range(parts[0].shape[1])}
        net = dp.BayesNet.from_parents(levels, dict.fromkeys(levels, ()))
        return net, [parts] * options.splits
    table = options.table
    if options.bif:
        reader = importlib.import_module("pgmpy.readwrite").BIFReader
        model = reader(string=read_text(options.bif, "network")).get_model()
        frame = model.simulate(options.records, seed=0, show_progress=False)
        table = io.StringIO(frame.to_csv(index=False))
    net, records = peers.read(table, options.target, options.leave)
    rngs, rest = map(np.random.default_rng, range(options.splits)), len(records) // 5
    return net, [np.split(rng.permutation(records), [-rest]) for rng in rngs]


def measured(learn: Callable, net, splits, epsilon: float, target: str) -> str:
    """Mean scores of a learner over splits with their standard errors, and seconds."""
    results, start = [], time.perf_counter()
    for seed, (train, test) in enumerate(splits):
        with contextlib.redirect_stdout(io.StringIO()):  # of peers
            made = learn(net, train, epsilon, np.random.default_rng(seed))
        results.append(peers.scores(made.pop("net"), test, target, **made))
        jax.clear_caches()  # programs of many networks exhaust the system's mappings
    seconds = (time.perf_counter() - start) / len(splits)
    error = np.std(results, axis=0, ddof=1) / np.sqrt(len(splits))
    pairs = zip(np.mean(results, axis=0), error, strict=True)
    return "".join(f"{f'{a:.4f} ± {b:.4f}':>22}" for a, b in pairs) + f"{seconds:>8.1f}"


def main() -> None:
    """Print the scores of every learner at each ε, with standard errors of splits."""
    parser = argparse.ArgumentParser(description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--table", type=pathlib.Path, help="CSV")
    source.add_argument("--bif", type=pathlib.Path, help="network to draw records of")
    source.add_argument("--density", help="FOLDER/NAME of .train.data and .test.data")
    parser.add_argument("--records", type=int, default=10_000, help="of --bif")
    parser.add_argument("--target", default="x0", help="column to predict")
    parser.add_argument("--leave", nargs="*", default=[], help="columns to leave out")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--splits", type=int, default=3, help="or seeds, of --density")
    parser.add_argument("--only", nargs="+", help="names of learners")
    options = parser.parse_args()
    net, splits = read(options)
    print("{} records for training, {} held out".format(*map(len, splits[0])))
    print(f"{'ε':<6}{'learner':<24}{''.join(f'{x:>22}' for x in peers.SCORES)} seconds")
    kinds = itertools.product(("ε", "zCDP"), (1, 2, 3))
    every = {f"dpjax {x}": partial(ours, x, None) for x in ("ε", "zCDP")}
    every |= {f"dpjax {kind}, degree {x}": partial(ours, kind, x) for kind, x in kinds}
    every |= {f"dpjax {x}, all pairs": partial(all_pairs, x) for x in ("ε", "zCDP")}
    every |= {"MST": partial(as_network, peers.mst), "AIM": partial(as_network, aim)}
    every |= {f"PrivBayes, degree {x}": partial(privbayes, x) for x in (1, 2)}
    runs = [(x, y, every[y]) for x in options.epsilons for y in options.only or every]
    for epsilon, name, learn in [*runs, (np.inf, "Chow–Liu, no privacy", chow_liu)]:
        try:
            row = measured(learn, net, splits, epsilon, options.target)
        except Exception as error:  # a peer that is missing, or cannot have this ε
            row = f"  failed: {type(error).__name__}: {error!s:.60}"
        print(f"{epsilon:<6}{name:<24}{row}", flush=True)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)  # mbi needs it
    main()
