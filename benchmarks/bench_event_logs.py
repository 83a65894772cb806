"""Hidden Markov models of event logs: noise-aware chains beside the plug-in method.

    python -m benchmarks.bench_event_logs
    python -m benchmarks.bench_event_logs --chains-agree
    python -m benchmarks.bench_event_logs --log LOG.csv.gz --schema SCHEMA.json \
        --where "country_code == 103 and t >= 264"

The first command simulates logs, and prints how many true values 95 % intervals have.
None of the values depends on the numbering of the states. The second prints R-hat,
and the modes of the posterior with their weights, on a simulated log of 50 regions, 36
months and 8 fields. The third holds out a tenth of the cells of a log, at random in
each split, and prints the log-likelihood of a held-out event. The schema's first
variable is the region, the second the month, and all others are fields.
"""

import argparse
import dataclasses
import pathlib
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd

import dpjax as dp
from dpjax.event_logs import (
    CellCounts,
    NoisyCells,
    cell_counts,
    event_counts,
    event_network,
    fit,
    sample_hidden_markov,
    weigh_modes,
)
from dpjax.mechanisms import DiscreteLaplace
from dpjax.statistics import NetworkCounts

REGIONS, MONTHS, FIELDS, STATES = 4, 24, (2, 3, 4), 2  # of each simulated log
LARGE = 50, 36, (2, 3, 4, 5, 6, 8, 2, 3), 5
STAY, MEAN, SHAPE = 0.9, 40.0, 1.5  # rates of events: a Gamma distribution
ENDS = 0.025, 0.975
CHAINS = 8  # of each simulated log


def main(arguments=None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epsilons", nargs="+", default=["0.1", "1"])
    parser.add_argument("--releases", type=int, default=500, help="default: 500")
    parser.add_argument("--chains-agree", action="store_true")
    parser.add_argument("--log", type=pathlib.Path, help="CSV file, an event a row")
    parser.add_argument("--schema", type=pathlib.Path)
    parser.add_argument("--where", help="rows of the log, as pandas.DataFrame.query")
    parser.add_argument("--states", type=int, nargs="+", default=[3])
    parser.add_argument("--splits", type=int, default=10, help="default: 10")
    parser.add_argument("--sweeps", type=int, default=400, help="default: 400")
    options = parser.parse_args(arguments)
    for epsilon in options.epsilons:
        if options.log is not None:
            held_out(options, epsilon)
        elif options.chains_agree:
            agreement(options, epsilon)
        else:
            coverage(epsilon, options.releases, options.sweeps)


def coverage(epsilon: str, number: int, sweeps: int) -> None:
    """Print the coverage of intervals for values of `number` simulated logs."""
    rng = np.random.default_rng(7)
    logs = [simulated(rng, REGIONS, MONTHS, FIELDS, STATES) for _ in range(number)]
    exact, truth = (np.stack(x) for x in zip(*logs, strict=True))
    # One log has the regions of all, so that all have tables of the same size.
    released = release_of(exact.reshape(-1, *exact.shape[2:]), FIELDS, epsilon)
    counts = cell_counts(released.counted, jnp.asarray(released.values))
    cells = CellCounts.of(released.net, counts, STATES)
    noisy = NoisyCells.of(released, cells)
    keys = jr.split(dp.study_key(1), number)
    for name, given in (
        ("noise-aware", noisy),
        ("plug-in", dataclasses.replace(cells, counts=jnp.maximum(counts, 0))),
    ):
        ends = np.asarray(intervals(keys, given, sweeps))
        hits = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        width = (ends[:, 1] - ends[:, 0]).mean(axis=0)
        for what, values in (
            ("shares of levels in all cells", slice(0, sum(FIELDS))),
            ("shares of levels in one cell", slice(sum(FIELDS), 2 * sum(FIELDS))),
            ("probability to stay in a state", slice(-1, None)),
        ):
            each = hits[:, values].mean(axis=1)
            print(
                f"ε = {epsilon}, {what}, {name}: {each.mean():.3f} ± "
                f"{each.std() / number**0.5:.3f} (width {width[values].mean():.3f})"
            )


def simulated(
    rng: np.random.Generator, regions: int, months: int, fields: tuple, states: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return exact counts and true values; all fields count the same events."""
    tables = [rng.dirichlet(np.ones(k), states) for k in fields]
    moves = np.stack([rng.dirichlet(np.ones(states)) for _ in range(states)])
    paths = np.zeros((regions, months), int)
    paths[:, 0] = rng.integers(0, states, regions)
    for month in range(1, months):
        above = moves[paths[:, month - 1]].cumsum(axis=1)
        paths[:, month] = (above[:, :-1] < rng.random((regions, 1))).sum(axis=1)
    events = rng.poisson(rng.gamma(SHAPE, MEAN / SHAPE, (regions, months)))
    counts = [rng.multinomial(events, table[paths]) for table in tables]
    shares = np.concatenate(tables, axis=1)[paths]
    stays = np.diag(moves)[paths].mean()
    values = [*shares.mean(axis=(0, 1)), *shares[0, 0], stays]
    return np.concatenate(counts, axis=-1), np.array(values)


def release_of(exact: np.ndarray, fields: tuple, epsilon: str) -> dp.Released:
    """Release counts with noise under replace-one, from a fixed key."""
    regions, months, _ = exact.shape
    levels = {"region": range(regions), "month": range(months)}
    levels |= {f"field {i}": range(k) for i, k in enumerate(fields)}
    schema = dp.Schema({name: tuple(x) for name, x in levels.items()})
    statistic = NetworkCounts(event_network(schema, "region", "month"))
    noise = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity("replace-one"))
    parts = np.split(exact, np.cumsum(fields)[:-1], axis=-1)
    values = jnp.asarray(np.concatenate([part.ravel() for part in parts]), jnp.int32)
    drawn = noise.sample(dp.study_key(0), values)
    return dp.Released(drawn, statistic, noise, int(parts[0].sum()))


@partial(jax.jit, static_argnums=2)
def intervals(keys: jax.Array, cells: CellCounts | NoisyCells, sweeps: int):
    """Return central 95 % intervals of every log's values, (logs, ends, values)."""
    chosen = {"places": 1, "first_rates": 1, "counts": 0, "declared": 0, "observed": 0}
    number = len(keys)

    def axis_of(path, _):
        return chosen.get(path[-1].name)

    def stacked(leaf, axis):
        if axis is None:
            return leaf
        return leaf.reshape(
            *leaf.shape[:axis], number, REGIONS, *leaf.shape[axis + 1 :]
        )

    axes = jax.tree_util.tree_map_with_path(axis_of, cells)
    each = jax.tree.map(stacked, cells, axes, is_leaf=lambda x: x is None)
    one = partial(_interval, sweeps=sweeps)
    return jax.vmap(one, in_axes=(0, axes))(keys, each)


def _interval(key: jax.Array, cells: CellCounts | NoisyCells, *, sweeps: int):
    aware = isinstance(cells, NoisyCells)
    found = sample_hidden_markov(
        key, cells, chains=CHAINS, sweeps=sweeps, annealed=aware
    )

    def values(paths, emission, transition):  # of one draw and chain
        shares = emission[paths.T.astype(jnp.int32)]
        stays = jnp.diagonal(transition)[paths.astype(jnp.int32)].mean()
        return jnp.concatenate([shares.mean(axis=(0, 1)), shares[0, 0], stays[None]])

    over_chains = jax.vmap(values, in_axes=(1, 0, 0))
    drawn = jax.vmap(over_chains)(found.paths, found.emission, found.transition)
    return jnp.quantile(drawn.reshape(-1, drawn.shape[-1]), jnp.array(ENDS), axis=0)


def agreement(options: argparse.Namespace, epsilon: str) -> None:
    """Print R-hat and the modes of both methods, and without noise."""
    exact, _ = simulated(np.random.default_rng(3), *LARGE)
    released = release_of(exact, LARGE[2], epsilon)
    key = dp.study_key(2)
    for states in options.states:
        plain = CellCounts.of(released.net, exact, states)

        def without_noise(key, sweeps, cells=plain):
            run = sample_hidden_markov(key, cells, sweeps=sweeps, annealed=True)
            return weigh_modes(jr.fold_in(key, 1), cells, run)

        for name, run in (
            ("noise-aware", partial(fit, released=released, states=states)),
            ("plug-in",
             partial(fit, released=released, states=states, noise_aware=False)),
            ("exact", without_noise),
        ):  # fmt: skip
            found = run(jr.clone(key), sweeps=options.sweeps)
            ratios = found.diagnostics().items()
            shown = ", ".join(f"{k} {v['r_hat']:.2f}" for k, v in ratios)
            print(f"ε = {epsilon}, {states} states, {name}: R-hat of {shown}")
            for mode in found.modes:
                print(
                    f"    a mode of {len(mode.chains)} chains: weight "
                    f"{mode.weight:.3f} ± {mode.error:.3f}, log-likelihood "
                    f"{mode.log_likelihood:.0f}, R-hat inside {mode.r_hat:.2f}"
                )


def held_out(options: argparse.Namespace, epsilon: str) -> None:
    """Print the held-out log-likelihood of a log's events, and the gain."""
    schema = dp.Schema.from_json(options.schema)
    region, month, *_ = schema
    net = event_network(schema, region, month)
    table = pd.read_csv(options.log)
    table = table.query(options.where) if options.where else table
    records = schema.encode(table, ignore="*")
    for states in options.states:
        scores = [
            _split(net, records, states, epsilon, split, options.sweeps)
            for split in range(options.splits)
        ]
        aware, plug_in, plain = np.array(scores).T
        for name, found in (
            ("noise-aware", aware),
            ("plug-in", plug_in),
            ("exact counts, not private", plain),
            ("noise-aware minus plug-in", aware - plug_in),
        ):
            error = found.std(ddof=1) / len(found) ** 0.5
            print(
                f"ε = {epsilon}, {states} states, {name}: {found.mean():.4f} ± "
                f"{error:.4f} nats an event"
            )


def _split(net, records, states: int, epsilon: str, split: int, sweeps: int):
    """Return the scores of both methods, and of exact counts, for one split."""
    statistic, exact = NetworkCounts(net), np.asarray(event_counts(net, records))
    observed = np.random.default_rng(split).random(exact.shape[:2]) >= 0.1
    noise = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity("replace-one"))
    key_noise, key_chains = jr.split(dp.study_key(split))
    drawn = noise.sample(key_noise, statistic.measure(records))
    released = dp.Released(drawn, statistic, noise, len(records))
    given = {"observed": observed, "chains": 4, "sweeps": sweeps}
    events = exact[~observed].sum() / (len(net.variables) - 2)
    plain = CellCounts.of(net, exact, states, observed=observed)
    return [
        np.asarray(found.log_likelihood(exact))[~observed].sum() / events
        for found in (
            fit(jr.clone(key_chains), released, states, **given),
            fit(jr.clone(key_chains), released, states, noise_aware=False, **given),
            sample_hidden_markov(key_chains, plain, chains=4, sweeps=sweeps),
        )
    ]


if __name__ == "__main__":
    main()
