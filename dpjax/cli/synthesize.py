"""`dpjax synthesize`: draw synthetic tables of records from a release."""

__all__ = ["run"]

import argparse
import pathlib
from typing import Any

import jax.random as jr
import numpy as np

from dpjax._checks import whole
from dpjax.cli.options import pair_of, refuse_unwritable_file, releases_of, saying
from dpjax.cli.printing import print_json
from dpjax.exports.tables import check_table_path, write_table
from dpjax.noise.keys import study_key
from dpjax.posteriors import posterior
from dpjax.posteriors.mixed.parts import network_of
from dpjax.releases.released import Released, load


def run(options: argparse.Namespace) -> None:
    """Run `dpjax synthesize` with the given options."""
    whole(1, copies=options.copies)
    paths = _paths(options.out, options.copies)
    for path in paths:
        check_table_path(path, "out")
        refuse_unwritable_file(path)
    released = load(options.release)
    network_of(released)  # refuses other releases
    n = _number_of(options.n, released)
    key, given = study_key(options.seed), dict(pair_of(x) for x in options.given)
    with saying("synthesize", "inferring the posterior and drawing records"):
        several, disjoint = releases_of(options, released)
        fitted: Any = posterior(several, disjoint=disjoint)
        tables = []
        for i in range(options.copies):
            keys = jr.split(jr.fold_in(key, i))
            records = fitted.sample_records(keys[0], n, given)
            tables.append(released.schema.decode(np.asarray(records), keys[1]))
    for path, table in zip(paths, tables, strict=True):
        write_table(path, table)
    if options.json:
        print_json({"out": paths, "records": n, "method": fitted.method})
        return
    print(f"{', '.join(paths)}: {n} records each, by method {fitted.method}")


def _paths(out: str, copies: int) -> list[str]:
    if copies == 1:
        return [out]
    path = pathlib.Path(out)
    width = len(str(copies))
    return [
        str(path.with_name(f"{path.stem}-{i:0{width}}{path.suffix}"))
        for i in range(1, copies + 1)
    ]


def _number_of(n: int | None, released: Released) -> int:
    if n is not None:
        whole(0, n=n)
        return n
    if released.n is None:
        raise ValueError(
            "`n` must be given for a release whose number of records is private: --n N."
        )
    return int(released.n)
