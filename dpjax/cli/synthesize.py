"""`dpjax synthesize`: draw synthetic tables of records from a release."""

import argparse
import pathlib
from typing import Any

import jax.random as jr

from dpjax._checks import whole
from dpjax.cli.options import given_of, releases_of, saying
from dpjax.cli.outputs import refuse_outputs
from dpjax.cli.printing import print_json
from dpjax.exports import quality
from dpjax.exports.reports.report import ENDINGS
from dpjax.exports.synthetic import draw_columns
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
    pages = [] if options.quality is None else _paths(options.quality, options.copies)
    inputs = [options.release, *options.also]
    refuse_outputs([("out", path) for path in paths], inputs, new=True)  # or records
    compared = [("quality", path) for path in pages]
    refuse_outputs(compared, [*inputs, *paths], {"quality": ENDINGS[:-1]})
    released = load(options.release)
    names = network_of(released).names
    n = _number_of(options.n, released)
    key, given = study_key(options.seed), given_of(options.given, names)
    with saying("synthesize", "inferring the posterior and drawing records"):
        several, disjoint = releases_of(options, released)
        fitted: Any = posterior(several, disjoint=disjoint)
        keys = [jr.fold_in(key, i) for i in range(options.copies)]
        tables = [draw_columns(own, fitted, n, given) for own in keys]
    with saying("synthesize", "comparing the records with the release"):
        key_further = jr.fold_in(key, options.copies)
        reports = [
            quality(jr.fold_in(key_further, i), fitted, records, given)
            for i, (records, _) in enumerate(tables[: len(pages)])
        ]
    for path, (_, table) in zip(paths, tables, strict=True):
        write_table(path, table)
    for page, made in zip(pages, reports, strict=True):
        made.save(page)
    if options.json:
        facts = {"out": paths, "records": n, "method": fitted.method, "quality": pages}
        print_json(facts)
        return
    each = " each" if len(paths) > 1 else ""
    print(f"{', '.join(paths)}: {n} records{each}, by method {fitted.method}")
    if pages:
        print(f"{', '.join(pages)}: {reports[0].content['title']}")


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
