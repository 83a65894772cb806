"""`dpjax learn`: learn a network and its tables from a table of sensitive records."""

import argparse

from dpjax.cli.budgets import cost_of, ledger_of
from dpjax.cli.databases import file_of, opened
from dpjax.cli.options import saying
from dpjax.cli.outputs import refuse_outputs
from dpjax.cli.release import about_facts, write
from dpjax.data.schema import Schema
from dpjax.releases.learning import learn


def run(options: argparse.Namespace) -> None:
    """Run `dpjax learn` with the given options."""
    budget = cost_of(options)
    schema = Schema.from_json(options.schema)
    inputs = [options.schema, options.about, options.ledger]
    refuse_outputs([("out", options.out)], [file_of(options.data), *inputs], new=True)
    about = about_facts(options.about)
    ledger = ledger_of(options)
    doing = saying("learn", "choosing edges and drawing private tables")
    with opened(options.data) as table, doing:
        released = learn(
            schema,
            table,
            budget=budget,
            id=options.id,
            degree=options.degree,
            mechanism=options.mechanism,
            ledger=ledger,
            part=options.part,
            ignore=options.ignore,
            about=about,
        )
    write(released, options, ledger)
