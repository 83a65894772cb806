"""Classes of other packages that break their contract are refused before the ledger."""

import dataclasses
import itertools
import re
import warnings
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax._registry import Registry
from dpjax.exports import report
from dpjax.families import FAMILIES, Bernoulli, Bound, Categorical, GaussianMean
from dpjax.mechanisms import MECHANISMS, DiscreteLaplace
from dpjax.mechanisms.recipes import RECIPES, Recipe
from dpjax.posteriors import METHODS, InferenceMethod
from dpjax.privacy import PureDP, Sensitivity
from dpjax.releases.measuring import measured
from dpjax.statistics import (
    STATISTICS,
    NetworkCounts,
    Statistic,
    Sufficient,
    check_statistic,
)
from dpjax.statistics.trial import invented_records, within_bounds

BOTH = ["replace-one", "add-remove"]
AGE = dp.Interval("age", 20, 80, missing=50)
TABLE = {"age": np.array([20, 30, 64, 1000, np.nan])}


@dataclass(frozen=True)
class Older(Statistic):
    """The numbers of records of at least 40 and of at least 60."""

    kind: ClassVar[str] = "test-older"
    fault: str = ""

    variables = (AGE,)
    length = property(lambda self: 2.0 if self.fault == "length" else 2)
    most_per_record = property(lambda self: 2 if self.fault != "most" else 1)
    parts = property(lambda self: {"a": 1, "b": 2 if self.fault == "parts" else 1})

    def measure(self, records):
        ages = records[:, 0]
        found = jnp.stack([(ages >= x).sum(dtype=jnp.int32) for x in (40, 60)])
        if self.fault == "nothing":
            return None
        if self.fault == "shape":
            return found[:1]
        if self.fault == "any":
            return jnp.minimum(found, 1)
        if self.fault == "constant":
            return found + 1
        if self.fault == "most":
            return found * 2
        if self.fault == "numpy":
            return np.asarray(found)
        return found.astype(float) if self.fault == "float" else found

    def sensitivity(self, adjacency):
        if self.fault == "adjacency":
            adjacency = BOTH[adjacency == BOTH[0]]
        change = 1 if self.fault == "half" else 4 if self.fault == "most" else 2
        return Sensitivity(change, adjacency)

    def squared_sensitivity(self, adjacency):
        change = 1 if self.fault == "squared" else 8
        return Sensitivity(change, adjacency)

    def part_sensitivity(self, adjacency):
        return Sensitivity(0.5 if self.fault == "part" else 2, adjacency)

    def describe(self):
        extra = {"of": {1, 2}} if self.fault == "set" else {}
        return {"kind": self.kind, "fault": self.fault, **extra}

    @classmethod
    def from_description(cls, described, variables, net, adjacency):
        if described["fault"] == "unread":
            raise KeyError("no such entry")
        other = described["fault"] == "another"
        return cls("" if other else described["fault"])


@dataclass(frozen=True)
class Noise(Recipe):
    """Discrete Laplace noise, with a fault."""

    kind: ClassVar[str] = "test-noise"
    fault: str = ""

    def accepts(self, statistic):
        return True

    def mechanism(self, statistic, budget, n) -> Any:
        change = statistic.sensitivity(budget.adjacency)
        epsilon = budget.epsilon
        if self.fault == "none":
            return None
        if self.fault == "costs":
            epsilon = 2 * epsilon
        if self.fault in ("half", "careless"):
            change = Sensitivity(int(change.value) // 2, change.adjacency)
        if self.fault == "adjacency":
            change = dataclasses.replace(
                change, adjacency=BOTH[budget.adjacency == BOTH[0]]
            )
        made = DiscreteLaplace.calibrate(epsilon, change)
        if self.fault in FAULTY:
            return FAULTY[self.fault](*(getattr(made, x.name) for x in FIELDS))
        return made


FIELDS = dataclasses.fields(DiscreteLaplace)


class Refuses(DiscreteLaplace):
    """It accepts no statistic."""

    def accepts(self, statistic):
        return False


class Careless(DiscreteLaplace):
    """It accepts every statistic."""

    def accepts(self, statistic):
        return True


class Floats(DiscreteLaplace):
    """It draws numbers that are no integers."""

    def draw(self, exact):
        return super().draw(exact).astype(float)


class Outside(DiscreteLaplace):
    """It draws numbers that it cannot draw, as it says."""

    kind = "test-outside"

    def is_possible_output(self, values, length):
        return False


class Unknown(DiscreteLaplace):
    """A kind that no registry has."""

    kind = "test-unknown"


FAULTY = {
    "refuses": Refuses,
    "careless": Careless,
    "floats": Floats,
    "outside": Outside,
    "unknown": Unknown,
}


@pytest.fixture(autouse=True, scope="module")
def registered():
    added = {
        STATISTICS: [Older, Levels],
        RECIPES: [Noise, Later],
        MECHANISMS: [Outside],
    }
    for registry, kinds in added.items():
        for kind in kinds:
            registry.add(kind)
    yield
    for registry in [*added, FAMILIES, METHODS]:
        for kind in [x for x in registry if x.startswith("test-")]:
            del registry._kinds[kind]


def released(what, table=TABLE, adjacency=BOTH[0], **options):
    """A release of a table that nobody reads before the ledger is charged."""
    ledger = dp.Ledger(9, adjacency=adjacency)
    touched = []

    def batches():
        touched.append(True)
        yield table

    try:
        return dp.release(
            what, batches(), epsilon=1, adjacency=adjacency, ledger=ledger, **options
        )
    except ValueError:
        assert ledger.spent == 0
        assert not touched
        raise


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
def test_what_keeps_its_contract_is_released(adjacency):
    made = released(Older(), adjacency=adjacency, mechanism=Noise())
    assert made.guarantee() == PureDP(Fraction(1), adjacency)
    assert dp.Released.from_text(made.to_text()).statistic == Older()


STATISTIC_FAULTS = {
    "length": "`length` of test-older must be an integer of at least 1, got 2.0.",
    "parts": "`parts` of test-older must have lengths of sum `length`, 2, got 3.",
    "nothing": "`measure` of test-older must return `length`, 2, integers in one vect",
    "shape": "`measure` of test-older must return `length`, 2, integers in one vector",
    "float": "`measure` of test-older must return `length`, 2, integers in one vector",
    "numpy": "`measure` of test-older must be a function that `jit` compiles, made of",
    "any": "`measure` of test-older must be a sum over records, since a table is meas",
    "constant": "`measure` of test-older must be a sum over records, since a table is",
    "most": "`most_per_record` of test-older must be at least 2, as invented records",
    "half": "`sensitivity` of test-older must be at least 2, as invented records show",
    "squared": "`squared_sensitivity` of test-older must be at least 2, as invented r",
    "part": "`part_sensitivity` of test-older must be at least 1, as invented records",
    "adjacency": "`sensitivity` of test-older must return a `Sensitivity` for the adj",
    "set": "`mechanism` 'laplace' for test-older must make releases whose files are r",
    "unread": "`mechanism` 'laplace' for test-older must make releases whose files ar",
    "another": "`mechanism` 'laplace' for test-older must make releases whose files a",
}


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("fault", STATISTIC_FAULTS)
def test_a_statistic_that_breaks_its_contract_is_refused(fault, adjacency):
    start = STATISTIC_FAULTS[fault]
    with pytest.raises(ValueError, match=f"^{re.escape(start)}") as error:
        released(Older(fault), adjacency=adjacency)
    assert "\n" not in str(error.value)
    if fault not in ("set", "unread", "another"):
        with pytest.raises(ValueError, match=f"^{re.escape(start)}"):
            check_statistic(Older(fault), adjacency)


MECHANISM_FAULTS = {
    "none": "`mechanism` 'test-noise' must make an `ExactMechanism`, got NoneType.",
    "costs": "`mechanism` 'test-noise' must make a mechanism that costs at most ",
    "adjacency": "`mechanism` 'test-noise' must make a mechanism that costs at most ",
    "half": "`mechanism` 'test-noise' must accept the statistic test-older.",
    "careless": "`mechanism` 'test-noise' for test-older must make releases whose fil",
    "refuses": "`mechanism` 'test-noise' must accept the statistic test-older.",
    "floats": "`mechanism` 'test-noise' for test-older must make releases whose files",
    "outside": "`mechanism` 'test-noise' for test-older must make releases whose file",
    "unknown": "`mechanism` 'test-noise' for test-older must make releases whose file",
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", MECHANISM_FAULTS)
def test_a_mechanism_that_breaks_its_contract_is_refused(fault):
    with pytest.raises(ValueError, match=f"^{re.escape(MECHANISM_FAULTS[fault])}"):
        released(Older(), mechanism=Noise(fault))


@dataclass(frozen=True)
class Levels(Statistic):
    """The numbers of records of each level, but not above a largest number."""

    kind: ClassVar[str] = "test-levels"
    most: int | None = None

    variables = (dp.Variable("a", (0, 1, 2)),)
    length = 3

    def measure(self, records):
        levels = jnp.arange(3, dtype=jnp.int32)
        found = (records == levels[None]).sum(axis=0, dtype=jnp.int32)
        return found if self.most is None else jnp.minimum(found, self.most)

    def sensitivity(self, adjacency):
        return Sensitivity(2, adjacency)

    def describe(self):
        return {"kind": self.kind, "most": self.most}

    @classmethod
    def from_description(cls, described, variables, net, adjacency):
        return cls(described["most"])


@pytest.mark.parametrize("most", [1, 2, 300, 5000])
def test_a_limit_of_a_number_is_no_sum(most):
    """It is one of all different records, and of few of each."""
    check_statistic(Levels(), BOTH[1])
    with pytest.raises(ValueError, match="`measure` of test-levels must be a sum over"):
        check_statistic(Levels(most), BOTH[1])


class Other(NetworkCounts):
    """A statistic that files have under the name of another."""

    def measure(self, records):
        return super().measure(1 - records)


@dataclass(frozen=True)
class Later(Noise):
    """It is too dear for all numbers of records but one."""

    kind: ClassVar[str] = "test-later"

    def mechanism(self, statistic, budget, n):
        return Noise("" if n == 1 else "costs").mechanism(statistic, budget, n)


@pytest.mark.slow
def test_a_file_that_is_read_back_as_another_statistic_is_refused():
    net = dp.BayesNet.from_parents({"a": [0, 1]}, {"a": []})
    with pytest.raises(ValueError, match="must make files that are read back as an eq"):
        released(Other(net), {"a": np.array([0, 1])})


def test_what_a_release_costs_is_checked_again_for_its_own_number_of_records():
    ledger = dp.Ledger(9, adjacency=BOTH[0])
    with pytest.raises(ValueError, match="'test-later' must make a mechanism that cos"):
        dp.release(Older(), TABLE, epsilon=1, mechanism=Later(), ledger=ledger)
    assert ledger.spent == 0


def test_a_release_that_is_compiled_is_refused_as_others_are():
    def compiled(records):
        return dp.release(Older(), records, epsilon=1, adjacency=BOTH[0]).values

    with pytest.raises(ValueError, match=r"^`release` must be called outside of"):
        jax.jit(compiled)(jnp.zeros((3, 1)))


def test_a_trial_of_impossible_records_alone_finds_nothing():
    names = [f"x{i}" for i in range(20)]
    pairs = [*itertools.pairwise(names)]
    impossible = [{a: k, b: k} for a, b in pairs for k in (0, 1)]
    schema = dp.Schema({name: [0, 1] for name in names}, impossible=impossible)
    parents = {b: [a] for a, b in pairs}
    net = dp.BayesNet.from_parents(schema, {names[0]: [], **parents})
    for adjacency in BOTH:
        check_statistic(NetworkCounts(net), adjacency)


def test_a_class_that_is_defined_again_replaces_itself():
    again = dataclass(frozen=True)(type("Older", (Older,), {"__module__": __name__}))
    assert STATISTICS.add(again) is again
    assert STATISTICS["test-older"] is again
    STATISTICS.add(Older)


def test_records_are_within_their_bounds_before_they_are_measured():
    """Also those of arrays, which the tables of a test may never be."""
    array = TABLE["age"][:, None]
    for table in (TABLE, array, array.astype(np.float32), iter([TABLE])):
        exact, n = measured(Older(), table)
        assert exact.tolist() == [3, 2]
        assert n == 5
    rows = jnp.asarray([[3, 1000.0], [0, float("nan")], [1, -5]])
    mixed = within_bounds(rows, (dp.Variable("a", (1, 2, 3, 4)), AGE))
    assert mixed.tolist() == [[3, 80], [0, 50], [1, 20]]


def test_indices_of_levels_are_of_32_bits_for_other_statistics():
    """Sums of bytes would wrap."""

    @dataclass(frozen=True)
    class Codes(Statistic):
        kind: ClassVar[str] = "test-codes"
        variables = (dp.Variable("a", tuple(range(200))),)
        length = 1
        most_per_record = 1990

        def measure(self, records):
            return (records[:, 0] * 10).sum(keepdims=True)

        def sensitivity(self, adjacency):
            return Sensitivity(1990, adjacency)

        def describe(self):
            return {"kind": self.kind}

        @classmethod
        def from_description(cls, described, variables, net, adjacency):
            return cls()

    assert measured(Codes(), {"a": [199] * 50})[0].tolist() == [199 * 10 * 50]
    check_statistic(Codes(), BOTH[1])


@dataclass(frozen=True)
class Halved(Categorical):
    """A family that states half of what a record changes."""

    name: ClassVar[str] = "test-halved"

    def diameter(self, scaled=False):
        return Bound(super().diameter(scaled).value / 2)


def test_a_family_that_states_half_of_its_diameter_is_refused():
    FAMILIES.add(Halved)
    what = Sufficient.of("test-halved", (dp.Variable("x", (0, 1, 2)),), BOTH[0])
    with pytest.raises(ValueError, match=r"^`sensitivity` of sufficient-sta"):
        released(what, {"x": np.array([0, 1])})


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
def test_all_statistics_of_the_library_keep_their_contract(adjacency):
    net = dp.BayesNet.from_parents(
        {"a": [0, 1], "b": ["u", "v", "w"], "c": [0, 1]}, {"b": ["a"], "c": ["a", "b"]}
    )
    x, y = dp.Interval("x", 0, 9), dp.Interval("y", -2, 3)
    every = [
        dp.statistics.NetworkCounts(net),
        dp.recipes.KNorm().statistic(net, adjacency),
        dp.recipes.Fourier().statistic(net, adjacency),
        dp.statistics.MarginalContrasts.of_order(net.variables, 2, adjacency),
        dp.statistics.MarginalCounts.of_tables(net.schema, [("a", "b"), ("b", "c")]),
        *(Sufficient.of(name, (x,), adjacency) for name in ("poisson", "exponential")),
        *(
            Sufficient.of(name, (y, x), adjacency)
            for name in ("multivariate-gaussian", "linear-regression")
        ),
    ]
    for statistic in every:
        check_statistic(statistic, adjacency)


def test_invented_records_have_the_extremes_and_no_impossible_combination():
    few = invented_records(Older())
    assert {20, 50, 80} <= {*np.asarray(few)[:, 0].tolist()}
    levels = {name: [*range(4)] for name in "abcdef"}
    impossible = [{"a": 0, "b": 0}]
    schema = dp.Schema(levels, impossible=impossible)
    parents = {"b": ["a"], **{name: [] for name in "cdef"}}
    net = dp.BayesNet.from_parents(schema, parents)
    many = np.asarray(invented_records(dp.statistics.NetworkCounts(net)))
    assert 200 < len(many) <= 256
    assert not (many[:, :2] == 0).all(axis=1).any()
    assert (many == 3).all(axis=1).any()


def test_a_statistic_that_cannot_be_hashed_is_refused():
    class Mutable(Older):
        __hash__ = None  # as of a dataclass that is not frozen

    with pytest.raises(ValueError, match="`what` must be hashable, a Mutable is not: "):
        released(Mutable())


REGISTERED = {
    "an abstract class": (
        lambda: STATISTICS.add(type("Part", (Statistic,), {"kind": "test-part"})),
        "`kind` must define describe, from_description, length, measure, sensitivity, ",
    ),
    "a class without a name": (
        lambda: RECIPES.add(type("Nameless", (Noise,), {"kind": None})),
        "`kind` must be a class of a recipe whose attribute `kind` is its name, Name",
    ),
    "another class": (
        lambda: STATISTICS.add(type("Other", (Older,), {})),
        "`kind` must be new for a statistic, 'test-older' is taken.",
    ),
    "an unknown name": (
        lambda: STATISTICS["test-nothing"],
        "`kind` must be that of a statistic, one of .*: add it, or import the package ",
    ),
}


@pytest.mark.parametrize("fault", REGISTERED)
def test_what_cannot_be_registered_is_one_clear_line(fault):
    ask, message = REGISTERED[fault]
    with pytest.raises(ValueError, match=message):
        ask()


@pytest.mark.slow
def test_a_package_that_cannot_be_imported_breaks_no_posterior(monkeypatch):
    what = Sufficient.of("bernoulli", (dp.Variable("x", (0, 1)),), BOTH[0])
    made = dp.release(what, {"x": [0, 1]}, epsilon=1)
    values = {"test-broken": "dpjax.nowhere:Method", "test-x": f"{__name__}:Older"}
    broken = [EntryPoint(*entry, "dpjax.methods") for entry in values.items()]
    installed = Registry._installed

    def of(registry):
        return broken if registry is METHODS else installed(registry)

    monkeypatch.setattr(Registry, "_installed", of)
    with pytest.warns(RuntimeWarning, match="`kind` must be that of a method that c"):
        found = dp.posterior(made)
    assert found.method == "exact-proportions"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dp.posterior(made, method="plug-in")
    with pytest.raises(ValueError, match="that can be imported, but 'test-broken' can"):
        dp.posterior(made, method="test-broken")
    with pytest.raises(ValueError, match="`method` must be one of"):
        dp.posterior(made, method="test-nowhere")


def test_a_method_that_returns_no_posterior_is_refused():
    @METHODS.add
    class Nothing(InferenceMethod):
        kind = "test-nothing"

        @classmethod
        def suits(cls, released):
            return True

        @classmethod
        def infer(cls, released, prior, key, increment):
            return {"mean": 0}

    made = released(Older())
    with pytest.raises(ValueError, match="`method` 'test-nothing' must return a `Post"):
        dp.posterior(made, method="test-nothing")
    del METHODS._kinds["test-nothing"]


def test_a_report_of_a_statistic_without_a_posterior_has_its_numbers():
    made = dp.release(Older(), TABLE, epsilon=1, adjacency=BOTH[0])
    with pytest.raises(ValueError, match="can be added to `dpjax"):
        dp.posterior(made)
    written = report(made, level=0.9)
    [(heading, columns)] = written.content["results"]["tables"].items()
    assert heading == "test-older"
    assert columns["index"] == ["0", "1"]
    assert columns["mean"] == made.values.tolist()
    sd = np.sqrt(np.asarray(made.mechanism.noise((2,)).variance(), float))
    np.testing.assert_allclose(columns["sd"], sd, rtol=1e-6)
    half = (np.array(columns["upper"]) - columns["mean"]) / columns["sd"]
    np.testing.assert_allclose(half, 1.6449, rtol=1e-4)
    assert "The mean is the released number." in written.to_html()


def test_families_of_the_library_are_registered_by_their_names():
    assert FAMILIES["bernoulli"] is Bernoulli
    assert FAMILIES["gaussian-mean"] is GaussianMean
