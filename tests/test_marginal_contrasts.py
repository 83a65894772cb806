"""K-norm noise on marginal tables without a network: its loss and its files."""

import itertools
import json
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.mechanisms import KNorm, recipes
from dpjax.mechanisms.laplace import Laplace
from dpjax.privacy import PureDP, budget_of
from dpjax.releases.entries import InconsistentRelease
from dpjax.releases.released import consistent
from dpjax.statistics import FourierCoefficients, MarginalContrasts
from dpjax.statistics.blocks import Block
from tests.helpers.cases import mostly_thorough
from tests.helpers.neighbours import assert_spends_exactly, changes
from tests.helpers.release_files import rehashed

BOTH = ["replace-one", "add-remove"]
SHAPES = {  # numbers of levels, and variables of each table or their number
    "all of one variable": ((2, 3), 1),
    "all of two": ((2, 3, 2), 2),
    "all of three": ((2, 2, 2), 3),
    "binary": ((2, 2, 2, 2), 2),
    "chosen": ((3, 2, 2, 2), ("ab", "bc", "cd", "d", "ad")),
    "apart": ((2, 2, 3), ("ab", "c")),
}


def variables(sizes):
    return tuple(
        dp.Variable(name, tuple(range(size)))
        for name, size in zip("abcdefghij", sizes, strict=False)
    )


def made(name, adjacency):
    sizes, tables = SHAPES[name]
    if isinstance(tables, int):
        return MarginalContrasts.of_order(variables(sizes), tables, adjacency)
    return MarginalContrasts.of_tables(
        variables(sizes), [*map(tuple, tables)], adjacency
    )


def random_records(sizes, n=300, seed=0):
    return np.random.default_rng(seed).integers(0, sizes, (n, len(sizes))).astype("u1")


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", SHAPES)
def test_one_record_costs_epsilon_and_not_more(name, adjacency):
    """All pairs of neighbours, by what one record changes."""
    statistic = made(name, adjacency)
    noise = KNorm.of(statistic, budget_of("1/2", adjacency))
    assert noise.guarantee() == PureDP(Fraction(1, 2), adjacency)
    differences = {tuple(z) for z in changes(statistic)}
    norms = [[law.norm(z) for law in noise.laws] for z in differences]
    assert max(map(max, norms)) == 1
    still = noise.probability([0] * statistic.length)
    worst = max(still / noise.probability(z) for z in differences)
    assert_spends_exactly("1/2", worst)
    bound = max(np.abs(z).sum() for z in map(np.array, differences))
    assert bound <= statistic.sensitivity(adjacency).value


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", SHAPES)
def test_tables_are_those_of_the_records(name, adjacency):
    statistic, (sizes, _) = made(name, adjacency), SHAPES[name]
    records = random_records(sizes)
    n = len(records) if adjacency == "replace-one" else None
    tables = jax.jit(lambda x: statistic.tables(statistic.measure(x), n))(records)
    parts = statistic.layout.split(tables)
    for group, table in zip(statistic.layout.groups, parts, strict=True):
        wanted = np.zeros([sizes[i] for i in group])
        np.add.at(wanted, tuple(records[:, i] for i in group), 1)
        np.testing.assert_allclose(table, wanted, atol=1e-3)


def test_the_tables_are_all_of_an_order_or_those_that_are_named():
    assert made("all of two", BOTH[0]).layout.groups == ((0, 1), (0, 2), (1, 2))
    assert made("chosen", BOTH[0]).layout.groups == ((0, 1), (0, 3), (1, 2), (2, 3))
    assert [*made("apart", BOTH[0]).names_of_tables] == ["a*b", "c"]


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("sizes", [(3, 4, 3), *mostly_thorough([(2, 2, 2, 2)], 0)])
def test_tables_have_less_noise_than_those_of_fourier_coefficients(sizes, adjacency):
    """The mean square over all cells, of 2,000 draws: the differences are sure."""
    over, key, n = variables(sizes), jax.random.key(0), 0
    public = n if adjacency == "replace-one" else None
    shaped = MarginalContrasts.of_order(over, 2, adjacency)
    waves = FourierCoefficients(over, adjacency, order=2)
    noises = (
        (shaped, KNorm.of(shaped, budget_of(1, adjacency)).for_studies()),
        (waves, Laplace(jnp.asarray(1.0), waves.sensitivity(adjacency))),
    )
    squares = []
    for statistic, noise in noises:
        zeros = jnp.zeros((2_000, statistic.length), jnp.int32)
        drawn = eqx.filter_jit(noise.sample)(jax.random.clone(key), zeros)
        tables = jax.jit(statistic.tables, static_argnums=1)(drawn, public)
        squares.append(float((np.asarray(tables) ** 2).mean()))
    assert squares[0] < squares[1] * (0.95 if max(sizes) == 2 else 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("mechanism", ["auto", "k-norm"])
def test_a_release_is_saved_verified_and_made_consistent(
    mechanism, adjacency, tmp_path, capsys
):
    statistic, (sizes, _) = made("chosen", adjacency), SHAPES["chosen"]
    records = random_records(sizes)
    one = dp.release(statistic, records, epsilon="1/3", mechanism=mechanism)
    one.save(tmp_path / "release.json")
    again = dp.load(tmp_path / "release.json")
    assert again.mechanism == one.mechanism
    assert again.statistic == statistic
    np.testing.assert_array_equal(again.values, one.values)
    assert main(["verify", str(tmp_path / "release.json")]) == 0
    assert "epsilon      1/3" in capsys.readouterr().out
    assert [*again.tables()] == [("a", "b"), ("a", "d"), ("b", "c"), ("c", "d")]
    ab, ad, bc, _ = statistic.layout.split(consistent(again))
    assert min(ab.min(), ad.min(), bc.min()) >= 0
    np.testing.assert_allclose(ab.sum(1), ad.sum(1), rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(ab.sum(0), bc.sum(1), rtol=1e-3, atol=1e-2)
    with pytest.raises(ValueError, match="`released` must be for a network"):
        again.net  # noqa: B018  (raises)


def altered(statistic):
    """With a block too few, none, one twice, or margins that only later ones give."""
    blocks = statistic["blocks"]
    for changed in (blocks[:-1], [], [*blocks, blocks[-1]], blocks[::-1]):
        yield {**statistic, "blocks": changed}


def test_files_with_other_blocks_are_refused(tmp_path):
    statistic, path = made("all of two", "replace-one"), tmp_path / "release.json"
    records = random_records((2, 3, 2))
    dp.release(statistic, records, epsilon=1, mechanism="k-norm").save(path)
    document = json.loads(path.read_text("utf-8"))
    for changed in altered(document["content"]["statistic"]):
        path.write_text(json.dumps(rehashed(document, statistic=changed)), "utf-8")
        with pytest.raises(InconsistentRelease):
            dp.load(path)


def test_groups_of_tables_can_have_budgets_of_their_own():
    statistic = made("all of two", "add-remove")
    records = random_records((2, 3, 2))
    split = {"a*b": "1/4", ("a*c", "b*c"): "3/4"}
    recipe = recipes.KNorm(split=split)
    one = dp.release(statistic, records, epsilon=1, mechanism=recipe)
    assert one.mechanism.epsilons == (Fraction(1, 4), Fraction(3, 4))
    assert one.guarantee() == PureDP(Fraction(1), "add-remove")


def test_too_many_tables_for_k_norm_noise_get_fourier_coefficients():
    auto = recipes.Auto()
    few = auto.marginals(variables((2,) * 6), 2, "add-remove")
    assert isinstance(few, MarginalContrasts)
    wide = auto.marginals(variables((40, 40)), 2, "add-remove")  # too many numbers
    many = auto.marginals(
        tuple(dp.Variable(f"v{i}", (0, 1)) for i in range(60)), 2, "add-remove"
    )
    assert isinstance(wide, FourierCoefficients)
    assert isinstance(many, FourierCoefficients)


@pytest.fixture
def table(tmp_path):
    rows = random_records((2, 3), 40)
    lines = "".join(f"{a},{b}\n" for a, b in rows)
    (tmp_path / "t.csv").write_text("a,b\n" + lines, "utf-8")
    described = {"a": {"levels": [0, 1]}, "b": {"levels": [0, 1, 2]}}
    (tmp_path / "s.json").write_text(json.dumps({"variables": described}), "utf-8")
    return tmp_path


def command(folder, *options):
    return [
        *("release", str(folder / "t.csv"), "--schema", str(folder / "s.json")),
        *("--model", "marginals", "--epsilon", "1", "--adjacency", "add-remove"),
        *("--out", str(folder / "r.json"), *options),
    ]


@pytest.mark.parametrize("order", ["1", "2"])
@pytest.mark.parametrize("mechanism", ["auto", "k-norm", "fourier"])
def test_the_command_line_releases_marginals(mechanism, order, table):
    options = "--order", order, "--mechanism", mechanism
    assert main(command(table, *options)) == 0
    one = dp.load(table / "r.json")
    kind = FourierCoefficients if mechanism == "fourier" else MarginalContrasts
    assert isinstance(one.statistic, kind)
    assert all(len(group) == int(order) for group in one.statistic.layout.groups)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--mechanism", "laplace", "--order", "2"),
            "`mechanism` must be auto, k-norm or fourier",
        ),
        (("--mechanism", "auto"), "`order` must be given for the model marginals"),
        (("--mechanism", "auto", "--order", "3"), "`order` must be at most the number"),
    ],
)
def test_the_command_line_refuses_in_one_line(options, message, table, capsys):
    assert main(command(table, *options)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (table / "r.json").exists()


def test_the_command_line_refuses_schemas_that_do_not_fit(table, capsys):
    options = "--order", "1", "--mechanism", "auto"
    for schema in (
        {"variables": {"a": {"lower": 0, "upper": 1}, "b": {"lower": 0, "upper": 2}}},
        {
            "variables": {"a": {"levels": [0, 1]}, "b": {"levels": [0, 1, 2]}},
            "impossible": [{"a": 0, "b": 0}],
        },
    ):
        (table / "s.json").write_text(json.dumps(schema), "utf-8")
        assert main(command(table, *options)) == 2
        assert "`schema` must have" in capsys.readouterr().err


def test_each_mistake_gets_a_message():
    over = variables((2, 2, 2))
    for tables in ([], [""], [("a", "a")], [("a", "z")]):
        with pytest.raises(ValueError, match="`tables` must"):
            MarginalContrasts.of_tables(over, tables, "add-remove")
    for order in (0, 4):
        with pytest.raises(ValueError, match="`order` must"):
            MarginalContrasts.of_order(over, order, "add-remove")
    with pytest.raises(ValueError, match="`order` must"):
        MarginalContrasts.of_order(
            tuple(dp.Variable(f"v{i}", (0, 1)) for i in range(200)), 100, "add-remove"
        )
    numbers = [dp.Interval("x", 0, 1)]
    with pytest.raises(ValueError, match="`schema` must have variables with levels"):
        MarginalContrasts.of_order(numbers, 1, "add-remove")
    with pytest.raises(ValueError, match="`blocks` must be from 1 to 1024, got 0"):
        MarginalContrasts(over, "add-remove", ())
    with pytest.raises(ValueError, match="`adjacency` must be"):
        MarginalContrasts(over, "both", (Block((), (0,)),))
    waves = FourierCoefficients(over, "add-remove", order=1)
    with pytest.raises(ValueError, match="`statistic` must be contrasts"):
        KNorm.of(waves, budget_of(1, "add-remove"))
    tables = [("c",), *itertools.combinations("abc", 2)]
    assert len(MarginalContrasts.of_tables(over, tables, "add-remove").blocks) == 3
