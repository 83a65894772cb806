"""`dpjax report`: a report about a release, for its readers."""

import argparse

from dpjax.cli.options import saying
from dpjax.cli.outputs import refuse_outputs
from dpjax.cli.printing import print_json
from dpjax.exports.reports.report import ENDINGS, report
from dpjax.privacy import Ledger
from dpjax.releases.released import load


def run(options: argparse.Namespace) -> None:
    """Run `dpjax report` with the given options."""
    inputs = options.release, options.ledger
    refuse_outputs([("out", options.out)], inputs, {"out": ENDINGS})
    released = load(options.release)
    ledger = None if options.ledger is None else Ledger(path=options.ledger)
    with saying("report", "inferring the posterior"):
        made = report(released, ledger=ledger, level=options.level)
    made.save(options.out)
    title = made.content["title"]
    if options.json:
        print_json({"out": options.out, "title": title})
        return
    print(f"{options.out}: {title}")
