import gzip
import json

import pytest

from dpjax import BayesNet, Schema
from dpjax.tables.layout import maximal_groups
from tests.helpers.networks import random_network

LEVELS = {"a": [0, 1], "b": [0, 1, 2], "c": ["x", "y"]}

BIF = """
network "demo" { property "made by hand"; }
variable a { type discrete [ 2 ] { yes, no }; }
variable "b" { // a comment { with braces }
  type discrete[3] { low, "mid", high };
  property p = 1;
}
variable c { type discrete [ 2 ] { True, False }; }
probability ( a ) { table 0.5, 0.5; }
probability ( b | a ) { (yes) 0.1, 0.2, 0.7; (no) 0.3, 0.3, 0.4; }
probability ( c | b, a ) { default 0.5, 0.5; }
"""


def test_a_network_keeps_the_order_of_the_schema():
    net = BayesNet.from_parents(LEVELS, {"c": ["b", "a"]})
    assert net.names == ("a", "b", "c")
    assert net.families == ((0,), (1,), (1, 0, 2))
    assert net.layout.shape(net.families[2]) == (3, 2, 2)
    assert net.parent_names() == {"a": [], "b": [], "c": ["b", "a"]}
    assert repr(net) == "BayesNet(a; b; c | b, a)"


def test_only_mentioned_variables_are_in_the_network():
    assert BayesNet.from_parents(LEVELS, {"c": ["a"]}).names == ("a", "c")


def test_naive_bayes_has_one_parent():
    net = BayesNet.naive_bayes(Schema(LEVELS), "b")
    assert net.parents == ((1,), (), (1,))
    with pytest.raises(ValueError, match="`target` must be a variable of the schema"):
        BayesNet.naive_bayes(LEVELS, "z")


def test_a_cycle_is_named():
    parents = {"a": ["b"], "b": ["c"], "c": ["a"]}
    with pytest.raises(ValueError, match=r"acyclic, got \w -> \w -> \w -> \w"):
        BayesNet.from_parents(LEVELS, parents)
    with pytest.raises(ValueError, match="acyclic, got a -> a"):
        BayesNet.from_parents(LEVELS, {"a": ["a"]})


def test_a_parent_must_exist_and_come_once():
    with pytest.raises(ValueError, match="use only variables of the schema, got 'z'"):
        BayesNet.from_parents(LEVELS, {"a": ["z"]})
    with pytest.raises(ValueError, match="`parents` of 'a' must all differ"):
        BayesNet.from_parents(LEVELS, {"a": ["b", "b"]})


def test_tables_too_large_are_refused_at_once():
    levels = {f"x{i}": list(range(10)) for i in range(30)}
    with pytest.raises(ValueError, match="cells in all tables"):
        _ = BayesNet.from_parents(levels, {"x0": list(levels)[1:]}).layout


def test_bif_gives_names_states_and_parents(tmp_path):
    (tmp_path / "net.bif").write_text(BIF)
    (tmp_path / "net.bif.gz").write_bytes(gzip.compress(BIF.encode()))
    net = BayesNet.from_bif(tmp_path / "net.bif")
    assert net == BayesNet.from_bif(tmp_path / "net.bif.gz")
    assert [v.levels for v in net.variables] == [
        ("yes", "no"),
        ("low", "mid", "high"),
        ("True", "False"),
    ]
    assert net.parent_names() == {"a": [], "b": ["a"], "c": ["b", "a"]}


def test_the_schemas_order_of_levels_rules_over_the_bif_files(tmp_path):
    (tmp_path / "net.bif").write_text(BIF)
    schema = Schema(
        {"c": [False, True], "b": ["high", "low", "mid"], "a": ["no", "yes"]}
    )
    net = BayesNet.from_bif(tmp_path / "net.bif", schema)
    assert net.names == ("c", "b", "a")
    assert net.variables[0].levels == (False, True)
    other = Schema({"c": ["t", "f"], "b": ["high", "low", "mid"], "a": ["no", "yes"]})
    with pytest.raises(ValueError, match="must give 'c' the levels that the schema"):
        BayesNet.from_bif(tmp_path / "net.bif", other)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (BIF, "", "must be BIF"),
        (BIF, "{}" * 1000, "must be BIF"),
        (
            "discrete [ 2 ] { yes, no }",
            "discrete [ 3 ] { yes, no }",
            "declares, 3, got 2",
        ),
        ("discrete [ 2 ] { yes, no }", "real", "must be BIF with blocks `variable"),
        ("( a )", "( a", "must be BIF with blocks `probability"),
        ("( b | a )", "( b | z )", "must declare every variable, 'z' is not"),
        (BIF, "variable " * 20_000, "must be BIF"),
        ("( b | a )", "( c | a )", "every variable and table once"),
        ("( a )", "( d )", "must declare every variable, 'd' is not"),
    ],
)
def test_a_bad_bif_file_is_refused_in_one_line(old, new, message, tmp_path):
    (tmp_path / "net.bif").write_text(BIF.replace(old, new))
    with pytest.raises(ValueError, match=message) as error:
        BayesNet.from_bif(tmp_path / "net.bif")
    assert "\n" not in str(error.value)


def test_json_gives_parents(tmp_path):
    path = tmp_path / "net.json"
    path.write_text(json.dumps({"parents": {"c": ["b", "a"]}}))
    assert BayesNet.from_json(path, LEVELS) == BayesNet.from_parents(
        LEVELS, {"c": ["b", "a"]}
    )
    for text in ("[]", "{}", '{"parents": {"a": "b"}}', '{"parents": {"a": [1]}}', "{"):
        path.write_text(text)
        with pytest.raises(ValueError, match="`network` must be"):
            BayesNet.from_json(path, LEVELS)


def test_maximal_groups_equal_the_definition(rng):
    for _ in range(50):
        families = random_network(rng, variables=7).families
        kept = maximal_groups(families)
        sets = [frozenset(f) for f in families]
        assert {*map(frozenset, kept)} == {
            s for s in sets if not any(s < t for t in sets)
        }
        assert len({*map(frozenset, kept)}) == len(kept)
        assert {*kept} <= {*families}
