"""`dpjax synthesize`: draw synthetic tables of records from a release."""

__all__ = ["run"]

import argparse
import csv
import io
import pathlib
from typing import Any

import jax.random as jr
import numpy as np

from dpjax._checks import whole
from dpjax._documents import write_atomically
from dpjax.cli.options import pair_of, refuse_unwritable_file, releases_of, saying
from dpjax.noise.keys import study_key
from dpjax.posteriors import posterior
from dpjax.posteriors.mixed.parts import network_of
from dpjax.releases.released import Released, load


def run(options: argparse.Namespace) -> None:
    """Run `dpjax synthesize` with the given options."""
    whole(1, copies=options.copies)
    paths = _paths(options.out, options.copies)
    for path in paths:
        refuse_unwritable_file(path, endings=(".csv",))
    released = load(options.release)
    network_of(released)  # refuses other releases
    n = _number_of(options.records, released)
    key, given = study_key(options.seed), dict(pair_of(x) for x in options.given)
    with saying("synthesize", "inferring the posterior and drawing records"):
        several, disjoint = releases_of(options, released)
        fitted: Any = posterior(several, disjoint=disjoint)
        texts = []
        for i in range(options.copies):
            keys = jr.split(jr.fold_in(key, i))
            records = fitted.sample_records(keys[0], n, given)
            columns = released.schema.decode(np.asarray(records), keys[1])
            texts.append(_text(columns))
    for path, text in zip(paths, texts, strict=True):
        write_atomically(path, text)
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


def _number_of(records: int | None, released: Released) -> int:
    if records is not None:
        whole(0, records=records)
        return records
    if released.n is None:
        raise ValueError(
            "`records` must be given for a release whose number of records is private: "
            "--records N."
        )
    return int(released.n)


def _text(columns: dict[str, np.ndarray]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(x.tolist() for x in columns.values()), strict=True))
    return text.getvalue()
