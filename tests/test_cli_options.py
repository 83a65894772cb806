"""Options of one name mean one thing, in the same words, in all commands."""

import argparse
from collections import defaultdict

import pytest

from dpjax.cli.arguments.parser import COMMON, Parser
from dpjax.cli.main import declare

DIFFERENT = {
    "data": {
        "nargs": "query and sweep need no records",
        "required": "query and sweep need no records",
    },
    "--epsilon": {
        "default": "audit uses invented data, which cost nothing",
        "required": "as for its default; and three commands may have rho in its place",
    },
    "--level": {"default": "predict refuses a level where there is no interval"},
    "--mechanism": {
        "action": "plan and audit compare several",
        "choices": "audit has more, plan those that cost ε, coverage those on counts",
        "default": "plan and audit compare several; learn has one for each budget",
    },
    "--model": {"choices": "no study of every model, and no plan of marginals"},
    "--n": {"required": "synthesize takes that of the release"},
    "--network": {"required": "coverage has no other model"},
    "--out": {
        "default": "demo asks for nothing",
        "help": "demo writes a folder",
        "metavar": "demo writes a folder",
        "required": "sample, sweep and demo print results too",
    },
    "--prior": {"type": "predict learns one; a release states it exactly"},
    "--repeats": {"default": "a repeat takes longer in some commands"},
    "--schema": {"required": "BIF files declare the variables of coverage"},
    "--target": {
        "action": "query asks for several variables at once",
        "required": "predict and query need one",
    },
}
"""By option: what differs between commands, and why."""

KEPT = ("metavar", "type", "choices", "default", "required", "nargs")


def commands():
    adding = Parser(prog="dpjax").add_subparsers()
    declare(adding)
    return adding.choices


def declared():
    """By option, or positional argument: its declaration in each command."""
    found = defaultdict(dict)
    for command, parser in commands().items():
        for action in parser._actions:
            name = action.option_strings[-1] if action.option_strings else action.dest
            found[name][command] = action
    return found


OPTIONS = declared()
SHARED = sorted(
    name for name, found in OPTIONS.items() if len(found) > 1 and name != "--help"
)


def differences(actions, words):
    """Names of properties that are not the same in all declarations."""
    found = {x for x in KEPT if len({repr(getattr(a, x)) for a in actions}) > 1}
    if len({type(action) for action in actions}) > 1:
        found.add("action")
    return found if all(words in a.help for a in actions) else {*found, "help"}


@pytest.mark.parametrize("name", SHARED)
def test_an_option_is_the_same_in_all_commands(name):
    actions = [*OPTIONS[name].values()]
    found = differences(actions, COMMON[name]["help"])
    assert found == {*DIFFERENT.get(name, ())}


def test_what_is_common_is_what_several_commands_have():
    assert sorted(COMMON) == SHARED


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_a_default_is_said_in_one_way(name):
    for command, action in OPTIONS[name].items():
        if action.default not in (None, False, [], argparse.SUPPRESS):
            assert action.help.endswith("(default: %(default)s)"), command
        assert action.help.count("default: ") <= 1, command


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_an_option_that_may_be_repeated_says_so(name):
    for command, action in OPTIONS[name].items():
        repeated = isinstance(action, argparse._AppendAction)
        assert repeated == ("may be repeated" in action.help), command


def test_a_difference_is_noticed():
    one, other = Parser(), Parser()
    pair = [
        one.add_argument("--n", help="for x: number of records"),
        other.add_argument("--n", type=int, help="how many records"),
    ]
    assert differences(pair, "number of records") == {"type", "help"}
    assert differences(pair[:1], "number of records") == set()
