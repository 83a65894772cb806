"""`dpjax verify`: check the consistency of a release file."""

import argparse

from dpjax.cli.options import saying, summary
from dpjax.cli.printing import print_json
from dpjax.privacy import in_words
from dpjax.releases.released import load


def run(options: argparse.Namespace) -> None:
    """Run `dpjax verify` with the given options."""
    with saying("verify", "deriving the content of the file again"):
        facts = summary(load(options.release))
    if options.json:
        print_json({"consistent": True, **facts})
        return
    print(f"{options.release}: consistent")
    unsaid = {"records": "private", "prior": "uniform"}
    if "implies" in facts:
        facts["implies"] = in_words(facts["implies"])
    width = max(12, *map(len, facts))
    for name, value in facts.items():
        print(f"  {name:<{width}} {unsaid.get(name) if value is None else value}")
