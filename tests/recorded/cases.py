"""Everything whose result is recorded, reached through public names."""

import contextlib
import io
import json
import pathlib
import random
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import dpjax as dp
from dpjax.cli.main import main

# ---- The names: a change of names changes these lines, and nothing else that follows.

HERE = pathlib.Path(__file__).parent
release, load, posterior = dp.release, dp.load, dp.posterior
sweep, Interval = dp.sweep, dp.Interval
read_schema, read_network = dp.Schema.from_json, dp.BayesNet.from_json
read_bif, CellCounts = dp.BayesNet.from_bif, dp.event_logs.CellCounts
sample_hidden_markov = dp.event_logs.sample_hidden_markov
cell_counts = dp.event_logs.cell_counts
Ledger, PureDP = dp.Ledger, dp.privacy.PureDP
study_key, release_key = dp.study_key, dp.noise.keys.release_key
FAMILIES = dp.families.FAMILIES
KINDS = {  # the strings are the format's, not the classes'
    part: {*registry}
    for part, registry in {
        "statistic": dp.statistics.STATISTICS,
        "mechanism": dp.mechanisms.MECHANISMS,
    }.items()
}
LAWS = {
    "TruncatedBeta": lambda: dp.distributions.TruncatedBeta(2.0, 3.0, 0.1, 0.6),
    "TruncatedDirichlet": lambda: dp.distributions.TruncatedDirichlet(
        jnp.array([1.5, 2.0, 3.0]), 0.05
    ),
    "GaussianInBall": lambda: dp.distributions.GaussianInBall(
        jnp.array([1.0, -0.5]), jnp.array([[2.0, 0.3], [0.3, 1.0]]), 1.2
    ),
    "Dirichlet": lambda: dp.distributions.Dirichlet(jnp.array([0.5, 2.0, 3.0])),
}
MECHANISMS = {  # by the release file that has one, or whose statistic it is for
    "DiscreteLaplace": ("counts-all", lambda x: x.mechanism),
    "SplitLaplace": ("split-maximal", lambda x: x.mechanism),
    "GridPosterior": ("samples-many-of-all", lambda x: x.mechanism),
    "GridPosterior.map": ("map", lambda x: x.mechanism),
    "CellMass": ("cells", lambda x: x.mechanism),
    "FamilyPosterior": ("poisson-samples-truncation", lambda x: x.mechanism),
    "FamilyPosterior of two": ("gaussian-samples", lambda x: x.mechanism),
    "PosteriorSample": ("samples-omega", lambda x: x.mechanism.in_reals()),
    "Laplace": (
        "fourier-triangle",
        lambda x: dp.mechanisms.Laplace(0.5, x.statistic.sensitivity(x.adjacency)),
    ),
}
EXACT = ("GridPosterior", "GridPosterior.map", "FamilyPosterior of two")
IMPLEMENTATIONS = {
    "JAX": lambda: jr.key(7),
    "study": lambda: study_key(7),
    "release": lambda: jr.key(7, impl=jr.key_impl(release_key())),
}

# ---- What is recorded.

FORMATS = HERE / "formats"
RELEASES = {path.stem: path for path in HERE.glob("format_[123]/*.json")}
ALL = sorted(RELEASES)
DEFAULT = [  # one of each method of the default posterior
    "bernoulli-add-remove",
    "categorical",
    "counts-maximal",
    "counts-maximal-chain",
    "counts-maximal-mixed-add-remove",
    "fourier-triangle",
    "gaussian",
    "poisson",
    "split-all-add-remove",
]


def released(name):
    return load(RELEASES[name])


def facts(name):
    """What the command line says of a file."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert main(["verify", "--json", str(RELEASES[name])]) == 0
    return json.loads(shown.getvalue())


def mean(name, noise_aware=False):
    """Of the posterior; of a release that is of no model, its tables."""
    what = released(name)
    if name.startswith(("fourier-order", "marginals")):
        return what.counts()
    aware = noise_aware or name.startswith("learned-pairs")  # has no other posterior
    made = posterior(what, noise_aware=aware)
    found = made.mean() if callable(made.mean) else made.mean
    return {"mean": found}


def records_of(what):
    """As many as the release says, if it says it; of all levels, inside all bounds."""
    number, columns = what.n or 30, []
    for i, x in enumerate(what.statistic.variables):
        steps = np.arange(number) * (2 * i + 3) // 2
        if isinstance(x, Interval):
            columns.append(x.lower + steps % 11 / 16 * (x.upper - x.lower))
        else:
            columns.append(steps % x.size)
    kind = np.float32 if isinstance(what.statistic.variables[0], Interval) else np.int32
    return np.stack(columns, axis=1).astype(kind)


def measured(name):
    """A mechanism, and the exact numbers that it is to make private."""
    file, make = MECHANISMS[name]
    what = released(file)
    return make(what), jax.jit(what.statistic.measure)(records_of(what))


def sample(name, implementation="study"):
    mechanism, exact = measured(name)
    drawn = jax.jit(lambda key, exact: mechanism.sample(key, exact))
    return drawn(IMPLEMENTATIONS[implementation](), exact)


def draw(name):
    """What is published, had the operating system given these bits."""
    mechanism, exact = measured(name)
    return np.asarray(mechanism.draw_with(random.Random(2).getrandbits, exact))


def keys(implementation):
    root = IMPLEMENTATIONS[implementation]()
    other, *rest = jr.split(root, 5)
    widths = (8, 16, 32, 64) if jax.config.jax_enable_x64 else (8, 16, 32)
    bits = {
        f"{width}": jr.bits(key, (3, 5), f"uint{width}")
        for width, key in zip(widths, rest, strict=False)
    }
    return {**bits, "fold_in": jr.key_data(jr.fold_in(other, 9))}


def law(name):
    made = LAWS[name]()
    draws = made.sample(study_key(3), (4,))
    return {"draws": draws, "log_prob": made.log_prob(draws)}


def swept(names):
    """Two numbers a release of every mechanism, in a sweep of all."""
    cases = {
        name: jax.tree.map(lambda x: jnp.stack([x, x]), measured(name))
        for name in names
    }

    def experiment(key, case, _):
        mechanism, exact = case
        return jnp.ravel(mechanism.sample(key, exact))[:2].astype(float)

    options = {"epsilons": ["1/2", 1], "repeats": 2, "mechanisms": cases}
    return sweep(study_key(4), experiment, np.zeros(1, np.int32), **options)["value"]


def calibrated():
    """What is chosen for a budget, whatever is drawn then."""
    options = {
        "split-maximal": {"mechanism": "laplace", "split": {"x": "1/3", "z": 1}},
        "samples-many-of-all": {"mechanism": "posterior-sample", "samples": 2},
        "map": {"mechanism": "map", "prior": "3/2"},
        "cells": {"mechanism": "map-cells", "omega": "0.15"},
        "exponential": {"mechanism": "posterior-sample", "points": 30},
    }
    chosen = {}
    for name, given in options.items():
        what = released(name)
        public = {"epsilon": "4/3", "adjacency": what.adjacency}
        recipe = dp.mechanisms.recipes.recipe_of(given.pop("mechanism"), given)
        made = release(what.statistic, records_of(what), **public, mechanism=recipe)
        chosen[name] = {
            "cost": str(made.guarantee().epsilon),
            **made.mechanism.describe(),
        }
    return chosen


def encoded():
    schema = read_schema(FORMATS / "schema.json")
    table = {
        "t": ["no", "yes", "yes"],
        "é x": [2, 9, 1],
        "age": [30.0, 999.0, -1.0],
        "height": [1.0, np.nan, 2.25],
    }
    return {
        "levels": schema.select(["t", "é x"]).encode(table, ignore="*"),
        "numbers": schema.select(["age", "height"]).encode(table, ignore="*"),
    }


def states():
    counts = cell_counts(released("events").statistic, released("events").values)
    cells = CellCounts.of(released("events").net, jnp.maximum(counts, 0), 2)
    found = sample_hidden_markov(study_key(5), cells, chains=2, sweeps=6)
    return {"paths": found.paths, "emissions": found.emissions()}


THOROUGH = [  # slow
    "calibrate",
    "sample SplitLaplace",
    "sample GridPosterior",
    "sample GridPosterior.map",
    "sample PosteriorSample",
    "sample DiscreteLaplace, release",
    *(f"law {name}" for name in LAWS),
    "keys release",
    "sweep",
    "hidden states",
]
DRAWS = {
    **{f"sample {name}": partial(sample, name) for name in MECHANISMS},
    **{f"draw {name}": partial(draw, name) for name in EXACT},
    **{f"keys {name}": partial(keys, name) for name in IMPLEMENTATIONS},
    **{f"law {name}": partial(law, name) for name in LAWS},
    "sample DiscreteLaplace, release": partial(sample, "DiscreteLaplace", "release"),
    "sweep": partial(swept, tuple(MECHANISMS)),
    "sweep of few": partial(swept, ("Laplace", "FamilyPosterior")),
    "calibrate": calibrated,
    "encode": encoded,
    "hidden states": states,
}
