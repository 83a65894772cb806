"""Event logs: noise on counts against one posterior sample, on cells that are held out.

`python -m benchmarks.bench_event_logs DATA SCHEMA REGION TIME` takes a log of events,
the schema of its fields, and which two of them make a cell. A tenth of all cells,
events in them or not, is held out, ten times over. Printed is the log-likelihood of a
held-out cell, on average, at each ε (replace-one; ε split evenly over fields), of naive
Bayes (one state) and of a hidden Markov model: after noise on the counts, averaged over
the draws of all chains, and of one posterior sample (OPS) from truncated tables, at the
ε that it would cost had its chain converged: nobody can check that it has. Naive Bayes
is fitted to counts of the whole log, with one noise for each; from the release by cell,
which has noise in every cell, it is the model of one state.

Every column is one compiled call over all ε and splits.
"""

import argparse
import time
from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import dpjax as dp
from dpjax.hidden_markov import (
    CellCounts,
    event_counts,
    event_network,
    log_variables,
    sample_hidden_markov,
)
from dpjax.mechanisms import DiscreteLaplace
from dpjax.private_chains import price_of, table_width
from dpjax.random import study_key

EPSILONS = ("0.1", "0.17", "0.28", "0.5", "0.8", "1", "2", "3.2", "5", "10")
BUDGETS = len(EPSILONS)
SPLITS, HELD_OUT, SWEEPS = 10, 0.1, 200
ADJACENCY = "replace-one"
TRUNCATIONS = (10, 100)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "schema", "region", "time"):
        parser.add_argument(name)
    parser.add_argument("--states", type=int, default=10)
    parser.add_argument("--chains", type=int, default=64)
    options = parser.parse_args(arguments)
    counts, fields = load(options)
    regions, months, _ = counts.shape
    events = counts[..., : fields[0]].sum(axis=-1)
    print(
        f"{events.sum()} events, {regions} regions × {months} times, "
        f"{np.mean(events > 0):.0%} of the cells with events, fields of {fields} levels"
    )
    rng = np.random.default_rng(0)
    order = rng.random((SPLITS, regions, months)).reshape(SPLITS, -1).argsort(axis=1)
    observed = order.argsort(axis=1) >= HELD_OUT * regions * months
    study = Study(counts, observed.reshape(SPLITS, regions, months), fields)
    columns = {}
    for states, label in ((1, "naive Bayes"), (options.states, "HMM")):
        columns[f"{label}, exact"] = study.exact(states, options.chains)
        columns[f"{label}, noise"] = study.noise(states, options.chains)
        for truncation in TRUNCATIONS:
            found = study.sample(states, truncation)
            columns[f"{label}, OPS, M = {truncation}"] = found
    columns["one state, noise in every cell"] = study.noise(1, options.chains, True)
    for name, (found, seconds) in columns.items():
        print(f"\n{name} ({seconds:.0f} s with compilation)")
        for epsilon, row in zip(EPSILONS, found, strict=False):
            error = row.std(ddof=1) / SPLITS**0.5
            cost = epsilon if len(found) > 1 else "∞"
            print(f"  ε = {cost:<5} {row.mean():9.2f} ± {error:.2f} a cell")
    print("\nnoise less OPS, differences of the same splits, ± s.e.")
    for label in ("naive Bayes", "HMM"):
        for truncation in TRUNCATIONS:
            less = columns[f"{label}, OPS, M = {truncation}"][0]
            gains = columns[f"{label}, noise"][0] - less
            shown = [
                f"{g.mean():.2f} ± {g.std(ddof=1) / SPLITS**0.5:.2f}" for g in gains
            ]
            print(f"  {label}, M = {truncation}: " + "; ".join(shown))


def load(options):
    """Exact counts of all levels of all fields in every cell: for evaluation."""
    schema = dp.Schema.from_json(options.schema)
    net = event_network(list(schema.values()), options.region, options.time)
    counts = event_counts(net, schema.encode(options.data, ignore="*"))
    _, _, fields = log_variables(net)
    return np.asarray(counts), tuple(field.size for field in fields)


class Study:
    """Held-out log-likelihoods of one log, by ε and split; non-private at the end."""

    def __init__(self, counts, observed, fields):
        self.counts = jnp.asarray(counts, jnp.int32)
        self.observed = jnp.asarray(observed)
        self.fields = fields
        sensitivity = dp.privacy.Sensitivity(2 * len(fields), ADJACENCY)
        self.mechanisms = DiscreteLaplace.calibrate_many(EPSILONS, sensitivity)

    def exact(self, states, chains):
        """No privacy: counts as they are."""
        return self.run(
            states, chains, lambda key, e, counts: counts.astype(float), budgets=1
        )

    def noise(self, states, chains, by_cell=False):
        """Noise on the counts, negative ones taken for 0."""

        def make(key, e, counts):
            mechanism = jax.tree.map(lambda leaf: jnp.asarray(leaf)[e], self.mechanisms)
            return jnp.maximum(mechanism.sample(key, counts), 0).astype(float)

        return self.run(states, chains, make, by_cell=by_cell)

    def sample(self, states, truncation):
        """The last draw of one chain: truncated tables, a tempered likelihood."""
        least = [f"1/{truncation * k}" for k in self.fields]
        width = sum(map(table_width, self.fields, least))
        prices = [price_of(width, epsilon, ADJACENCY) for epsilon in EPSILONS]
        heat = jnp.asarray([price.temperature for price in prices])
        return self.run(
            states,
            1,
            lambda key, e, counts: counts.astype(float) / heat[e],
            truncation=jnp.asarray(truncation, float),
        )

    def run(
        self, states, chains, make, truncation=None, budgets=BUDGETS, by_cell=False
    ):
        """Average log-likelihood of held-out cells, ε by split, and seconds."""
        one, whole = jnp.asarray(1.0), states == 1 and not by_cell

        def fit(key, e, observed):
            """Of naive Bayes all cells are one: counts of the whole log."""
            counts = jnp.where(observed[..., None], self.counts, 0)
            seen = observed
            if whole:
                counts = counts.sum(axis=(0, 1), keepdims=True, dtype=jnp.int32)
                seen = jnp.ones((1, 1), bool)
            key_noise, key_chains = jr.split(key)
            cells = CellCounts(
                make(key_noise, e, counts),
                jnp.ones_like(seen),
                seen,
                self.fields,
                states,
                one,
                one,
                truncation,
            )
            found = sample_hidden_markov(
                key_chains,
                cells,
                chains=chains,
                sweeps=SWEEPS,
                burn_in=SWEEPS // 2 if truncation is None else SWEEPS - 1,
            )
            if whole:
                draws, _, _, _ = found.paths.shape
                shape = (draws, observed.shape[1], chains, observed.shape[0])
                found = replace(
                    found,
                    paths=jnp.zeros(shape, jnp.int8),
                    declared=jnp.ones_like(observed),
                )
            logs = found.log_likelihood(self.counts)
            return jnp.where(observed, 0, logs).sum() / (~observed).sum()

        @jax.jit
        def every(keys, budget, split):
            def step(given):
                key, e, s = given
                return fit(key, e, self.observed[s])

            batch = SPLITS if chains == 1 else None
            return jax.lax.map(step, (keys, budget, split), batch_size=batch)

        pairs = np.divmod(np.arange(budgets * SPLITS, dtype=np.int32), SPLITS)
        start = time.perf_counter()
        found = every(
            jr.split(study_key(1), budgets * SPLITS), *map(jnp.asarray, pairs)
        )
        found = np.asarray(found).reshape(budgets, SPLITS)
        return found, time.perf_counter() - start


if __name__ == "__main__":
    main()
