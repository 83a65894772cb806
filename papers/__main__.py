"""`python -m papers`: figures, tables and statements of the two papers, made again."""

import argparse
import dataclasses
import json
import math
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from tqdm import tqdm

import papers
from dpjax import __version__
from papers.reproduction import NOT_CHECKABLE, UNDECIDED


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is asked for; returns the exit status.

    0: done. 1: a claim comes out otherwise than is known. 2: bad input. 130:
    interrupted by the user.
    """
    try:
        return _run(_parser().parse_args(arguments))
    except KeyboardInterrupt:
        print("papers: interrupted", file=sys.stderr)
        return 130
    except (ValueError, ImportError, OSError) as error:
        print(f"papers: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    command = _Parser(
        prog="python -m papers",
        description="Write numbers (CSV), a picture (PNG and SVG; a single statement "
        "has none) and a paragraph of what the papers show or state, with their claims "
        "put to the test on these numbers. Everything is simulated or enumerated, and "
        "seeded, but for times. Exit status 1 if a claim comes "
        "out otherwise than is known (docs/errata.md).",
    )
    command.add_argument("name", nargs="*", metavar="NAME", help="see --list")
    command.add_argument("--all", action="store_true", help="all, with a page of them")
    command.add_argument("--list", action="store_true", help="show the names")
    command.add_argument(
        "--statements",
        action="store_true",
        help="print what became of every statement of the papers, in Markdown",
    )
    command.add_argument(
        "--quick",
        action="store_true",
        help="fewer repeats: all in a few minutes",
    )
    command.add_argument(
        "--out",
        default="reproductions",
        metavar="DIR",
        help="folder for the files (%(default)s)",
    )
    command.add_argument(
        "--data",
        metavar="PATH",
        help="your own table in place of simulated data, where --list says so; what is "
        "written then shows exact facts of it",
    )
    command.add_argument(
        "--schema", metavar="PATH", help="JSON, the public facts about --data"
    )
    command.add_argument("--seed", type=int, default=0, help="of everything")
    command.add_argument("--json", action="store_true", help="print results as JSON")
    return command


def _run(options: argparse.Namespace) -> int:
    if bool(options.name) + options.all + options.list + options.statements != 1:
        raise ValueError(
            "`name` must be one or more of python -m papers --list, or else one of "
            "--all, --list and --statements be given."
        )
    if options.statements:
        facts = [dataclasses.asdict(one) for one in papers.STATEMENTS]
        print(json.dumps(facts) if options.json else papers.statements_table())
        return 0
    chosen = list(dict.fromkeys(options.name)) or papers.names()
    every = [papers.reproduction(name) for name in chosen]
    if options.list:
        _list(every, options.json)
        return 0
    if options.data and options.all:
        raise ValueError("`data` must come with the name of what is to be reproduced.")
    for one in every:  # all of them, before the first takes minutes
        papers.refuse_data(one, options.data, options.schema)
    start, written = time.monotonic(), []
    for name in tqdm(chosen, desc="papers", unit="", disable=None):
        began = time.monotonic()
        one = papers.reproduce(
            name,
            options.out,
            quick=options.quick,
            data=options.data,
            schema=options.schema,
            seed=options.seed,
        )
        written.append(one)
        if not options.json:
            tqdm.write(_line(one, time.monotonic() - began))
    if options.all:
        papers.write_page(
            options.out, written, _facts(options, time.monotonic() - start)
        )
    if options.json:
        print(json.dumps([_described(one) for one in written], ensure_ascii=False))
    return 0 if all(one.as_expected for one in written) else 1


def _list(every: list[papers.Reproduction], as_json: bool) -> None:
    if as_json:
        keys = ("name", "title", "source", "data")
        print(json.dumps([{k: getattr(one, k) for k in keys} for one in every]))
        return
    width = max(len(one.name) for one in every)
    for one in every:
        takes = f" · --data: {one.data}" if one.data else ""
        print(f"{one.name:<{width}}  {one.title} ({one.source}){takes}")


def _line(one: papers.Written, seconds: float) -> str:
    """What was found, in a line, and a line for each claim."""
    claims = [
        f"  {_mark(claim)} {claim.verdict}"
        f"{_margin(claim)}, by {claim.by}: {claim.words}"
        for claim in one.found.claims
    ]
    return "\n".join([f"{one.about.name}  ({seconds:.0f} s)", *claims])


def _mark(claim: papers.Claim) -> str:
    """Whether it came out as is known, if anything is."""
    if claim.expected in (UNDECIDED, NOT_CHECKABLE):
        return "·"
    return "✓" if claim.as_expected else "✗"


def _margin(claim: papers.Claim) -> str:
    if claim.verdict == NOT_CHECKABLE:  # as what is shown instead has it
        return f" ({claim.standard_errors:+.1f} s.e. here)"
    if math.isinf(claim.standard_errors):
        return " exactly"
    return f" by {abs(claim.standard_errors):.1f} s.e."


def _facts(options: argparse.Namespace, seconds: float) -> str:
    size = "quick" if options.quick else "full"
    return (
        f"By `python -m papers --all{' --quick' if options.quick else ''}`, dpjax "
        f"{__version__}, seed {options.seed}, {size} size, in {seconds / 60:.0f} min. "
        "A claim holds or fails if by three standard errors or more; one about several "
        "numbers is as sure as the least sure of them. What a paper says of data that "
        "are not here is not checkable here; the standard errors beside it are those "
        "by which it holds, or fails if negative, on the data that are shown."
    )


def _described(one: papers.Written) -> dict[str, object]:
    claims = [
        {
            "words": claim.words,
            "by": claim.by,
            "verdict": claim.verdict,
            "expected": claim.expected,
            "standard_errors": (
                None if math.isinf(claim.standard_errors) else claim.standard_errors
            ),
        }
        for claim in one.found.claims
    ]
    return {
        "name": one.about.name,
        "files": list(one.files),
        "paragraph": one.found.paragraph,
        "claims": claims,
    }


if __name__ == "__main__":
    sys.exit(main())
