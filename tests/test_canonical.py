"""The canonical form of files: RFC 8785, and how files of each version hold to it."""

import json
import struct

import numpy as np
import pytest

import dpjax as dp
from dpjax._documents import canonical_json, parse_json
from dpjax.mechanisms import DiscreteLaplace
from dpjax.privacy import budget_of
from dpjax.releases import Released, file_format
from dpjax.releases.entries import InconsistentRelease, UnreadableRelease
from dpjax.statistics import NetworkCounts
from tests.helpers.release_files import rehashed
from tests.recorded.cases import RELEASES

DOUBLES = {  # the samples of RFC 8785, appendix B
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), DOUBLES.items())
def test_a_double_is_written_as_the_standard_says(bits, text):
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(number) == text
    assert float(text) == number


def test_a_document_is_written_as_the_standard_says():
    """Sections 3.2.2 and 3.2.3, and a key beyond the basic plane before U+FB33."""
    text = r"""{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 1e-27],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]}"""
    wanted = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,'
        '1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical_json(parse_json(text, "sample")) == wanted
    keys = ["\r", "1", "\x80", "ö", "€", "\U0001f600", "\ufb33"]
    written = canonical_json(dict.fromkeys(sorted(keys)))
    assert [*json.loads(written)] == keys


@pytest.mark.parametrize(
    "value",
    [2**53 + 1, [1, -(2**53) - 1], float("inf"), float("nan"), "\ud800", {"\ud800": 1}],
)
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(ValueError, match=r"must|surrogates"):
        canonical_json(value)


def test_many_integers_are_written_as_each_of_them():
    whole = [*range(-5, 5), 2**53, -(2**53)]
    assert canonical_json(whole) == f"[{','.join(map(canonical_json, whole))}]"
    assert canonical_json([True, 1]) == "[true,1]"


@pytest.mark.parametrize("name", sorted(RELEASES))
def test_a_file_of_an_older_version_is_the_same_release_in_the_newest(name):
    first = Released.from_text(RELEASES[name].read_text("utf-8"))
    text = first.to_text()
    document = json.loads(text)
    assert document["version"] == file_format.VERSION == 3
    assert canonical_json(document) + "\n" == text
    again = Released.from_text(text)
    assert again.to_text() == text
    assert parts(again) == parts(first)  # also of equal types


def parts(one):
    made = one.statistic, one.mechanism, one.n, one.hidden_states
    return repr((*made, one.contributions, one.about))


def read(text):
    """A release; None if its file is refused."""
    try:
        return Released.from_text(text)
    except (InconsistentRelease, UnreadableRelease):
        return None


def saved(variables, values, **more):
    """The text of a release of counts of one node, and what it is read as."""
    net = dp.BayesNet.from_parents(dp.Schema(variables, **more), {"t": [], "x": ["t"]})
    statistic = NetworkCounts(net)
    noise = DiscreteLaplace.of(statistic, budget_of(1, "add-remove"))
    exact = np.array(values, np.int64)
    return Released(exact, statistic, noise, None).to_text()


ODD = {
    "integers as floats": [1.0, 2.5],
    "minus zero": [-0.0, 1],
    "beyond doubles": [2**53 + 1, 2**53],
    "text and a number of one look": ["1", 1.0],
    "small": [1e-7, 1e-6],
    "large": [1e21, 123456789012345680000.0],
    "other planes": ["\U0001f600", "\ufb33"],
}


@pytest.mark.parametrize("levels", ODD.values(), ids=ODD)
def test_levels_are_read_as_they_were_declared(levels):
    missing = {"levels": levels, "missing": 3.0, "missing_values": [-9.0]}
    codes = {"levels": levels, "codes": {"z": levels[0], "y": levels[1]}}
    excluded = [{"t": levels[0], "x": [levels[1]]}]
    for variables in ({"t": missing, "x": levels}, {"t": codes, "x": levels}):
        cells = len(variables["t"]["levels"]) + ("missing" in variables["t"])
        zero = np.zeros(2 * cells)
        for more in ({}, {"impossible": excluded}):
            made = read(saved(variables, zero, **more))
            assert made is not None
            net = made.net
            wanted = dp.Schema(variables, **more)
            assert repr(net.schema.to_json()) == repr(wanted.to_json())
            assert net.schema == wanted


def test_a_level_has_one_form():
    text = saved({"t": [1.0, 2.0], "x": [0, 5]}, [0] * 4)
    document = json.loads(text)
    assert document["content"]["variables"][0]["levels"][0] == {"number": "1.0"}
    for other in ({"number": "1.00"}, {"number": "1"}, {"number": '"1.0"'}, 1.0, {}):
        altered = json.loads(text)
        altered["content"]["variables"][0]["levels"][0] = other
        with pytest.raises(InconsistentRelease):
            Released.from_text(json.dumps(rehashed(altered)))


@pytest.mark.parametrize("name", ["counts-all", "gaussian", "categorical-samples"])
def test_the_hash_is_of_the_version(name):
    """An older file is hashed by its own rule, and a newer one over its version too."""
    old = json.loads(RELEASES[name].read_text("utf-8"))
    made = read(json.dumps(old))
    assert made is not None
    new = json.loads(made.to_text())
    for document in (old, new):
        assert read(json.dumps(document)) is not None
        assert rehashed(document) == document  # as the standard and the page say
        for version in {1, 2, 3} - {document["version"]}:
            with pytest.raises(InconsistentRelease, match=r"hash|version"):
                Released.from_text(json.dumps({**document, "version": version}))


def test_text_that_no_file_can_hold_is_no_name_and_no_level():
    for half in ("\ud800", "a\udfff"):
        with pytest.raises(ValueError, match="must be text"):
            dp.Schema({"t": ["a", half]})
        with pytest.raises(ValueError, match="must be text"):
            dp.Schema({half: ["a", "b"]})
        with pytest.raises(ValueError, match="must be text"):
            dp.Interval(half, 0, 1)
