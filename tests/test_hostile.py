"""Files made to take long: work in proportion to the file, or refused at stated limits.

`python -m tests.fuzz.hostile` measures seconds and memory of many more of them.
"""

import contextlib
import decimal
import gzip
import os
import signal
import sys
from fractions import Fraction

import numpy as np
import pytest

import dpjax as dp
from dpjax import _documents
from dpjax._documents import parse_json
from dpjax.data.levels import Variable
from dpjax.families import FAMILIES as EXPONENTIAL_FAMILIES
from dpjax.mechanisms import CellMass, SplitLaplace
from dpjax.mechanisms.cell_grid import CellGrid
from dpjax.mechanisms.parameter_grid import ParameterGrid
from dpjax.noise import tables
from dpjax.noise.exact_choice import exponentials, log_of_sum
from dpjax.noise.simplex_grid import SimplexGrid
from dpjax.privacy import Sensitivity, exact_epsilon
from dpjax.releases.entries import InconsistentRelease, UnreadableRelease
from dpjax.statistics import FourierCoefficients, fourier_sensitivity
from dpjax.tables.layout import TableLayout, maximal_groups

from .fuzz import builders as make
from .fuzz.families import CONSTANTS, FAMILIES
from .fuzz.hostile import READERS
from .fuzz.verdicts import SECONDS, Hang, attempt, limits

POISSON = EXPONENTIAL_FAMILIES["poisson"].from_bounds((0,), (120,))
QUICK = ["counts: two parents", "counts: a cycle", "samples: star", "fourier: star"]
LIBRARY = os.path.dirname(dp.__file__)
SLOW = [name for name in FAMILIES if name not in QUICK]


def steps(format, path):
    """How many lines of the library reading a file takes: so on every machine.

    What is done once, such as compilation, is done in a first reading.
    """
    number = 0
    with contextlib.suppress(ValueError):
        READERS[format](path)

    def count(frame, *_):
        nonlocal number
        if frame.f_code.co_filename.startswith(LIBRARY):
            number += 1
            return count
        return None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        READERS[format](path)
    except ValueError:
        pass
    finally:
        sys.settrace(before)
    return number


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_work_grows_no_faster_than_a_small_file(name, tmp_path):
    assert_grows_no_faster(name, (8, 4, 2), tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_work_grows_no_faster_than_the_file(name, tmp_path):
    few = FAMILIES[name].size < 4000  # whose parts would hold next to nothing
    assert_grows_no_faster(name, (4, 2, 1) if few else (64, 32, 16), tmp_path)


def assert_grows_no_faster(name, parts, folder):
    family, sizes, taken = FAMILIES[name], [], []
    for part in parts:
        path = folder / f"{part}.json"
        path.write_bytes(family.make(family.size // part))
        sizes.append(path.stat().st_size)
        taken.append(steps(family.format, path))
    bytes_more, more = np.diff(sizes), np.diff(taken)  # whatever all files take
    assert more[1] / bytes_more[1] <= 1.2 * more[0] / bytes_more[0] + 0.01


def test_twice_the_work_is_seen(tmp_path, monkeypatch):
    """The names of a network built anew for each parent: how this once was."""
    code = "property(lambda net: tuple(variable.name for variable in net.variables))"
    names = eval(compile(code, f"{LIBRARY}/graph.py", "eval"))
    monkeypatch.setattr(dp.BayesNet, "names", names)
    with pytest.raises(AssertionError):
        assert_grows_no_faster("counts: two parents", (64, 32, 16), tmp_path)


HEAVY = [name for name in CONSTANTS if "points" in name or "fourier" in name]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(x, marks=pytest.mark.thorough if x in HEAVY else ())
        for x in CONSTANTS
    ],
)
def test_a_small_file_at_a_limit_is_read_in_time(name, tmp_path):
    path = tmp_path / "release.json"
    path.write_bytes(CONSTANTS[name]())
    with limits():
        assert attempt("release", path)


@contextlib.contextmanager
def clock():
    """Within limits, work of more than `SECONDS` of the processors is a failure."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    except Hang:
        raise AssertionError(f"this takes more than {SECONDS} s") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def in_time(work):
    """What `work` gives, within the limits of the fuzzer."""
    with limits(), clock():
        return work()


def test_families_are_compared_with_few_others():
    """Children of two parents: each parent is in the family of all of them."""
    families = [(0,), (1,), *((0, 1, i) for i in range(2, 40_000))]
    assert in_time(lambda: maximal_groups(families)) == tuple(families[2:])


def test_a_family_of_very_many_is_refused_without_a_product_of_all():
    number = 3_000_000
    with pytest.raises(ValueError, match="at most 268435456 cells"):
        in_time(lambda: TableLayout((2,) * number, (tuple(range(number)),)))


def test_levels_of_one_hash_are_told_apart_in_time():
    """Python's hash of a number is no secret: all of these have hash 0."""
    levels = tuple(i * make.PRIME for i in range(20_000))
    variable = in_time(lambda: Variable("x", levels))
    assert in_time(lambda: variable.code(levels[-1])) == len(levels) - 1


@pytest.mark.parametrize(
    ("number", "order"), [(100_000, 50_000), (30_000, 29_999), (40, 29)]
)
def test_an_order_is_refused_before_its_tables_are_listed(number, order):
    variables = (Variable("x", (0, 1)),) * number
    with pytest.raises(ValueError, match="`order` must give at most"):
        in_time(lambda: FourierCoefficients(variables, "replace-one", order=order))


def test_an_order_has_no_more_cells_than_a_network():
    """There is one table, of more than 2^28 cells."""
    variables = tuple(Variable(x, tuple(range(2**14 + 1))) for x in "xy")
    with pytest.raises(ValueError, match="and 268435456 cells"):
        FourierCoefficients(variables, "replace-one", order=2)


def test_the_length_of_an_order_takes_no_list_of_coefficients():
    statistic = FourierCoefficients(
        tuple(Variable(f"v{i}", (0, 1)) for i in range(20)), "replace-one", order=10
    )
    assert in_time(lambda: statistic.length) == 616_665
    assert in_time(lambda: statistic.sensitivity("replace-one").tight)
    small = FourierCoefficients(statistic.over[:6], "replace-one", order=3)
    assert small.length == len(small.closure) - 1


@pytest.mark.slow
def test_columns_without_values_are_refused_before_their_products(tmp_path):
    path = tmp_path / "release.json"
    path.write_bytes(FAMILIES["normal: columns, no values"].make(12_000))
    with limits():
        assert not attempt("release", path)


def test_budgets_of_a_split_have_a_common_denominator_of_sensible_length():
    budgets = {f"t{i}": f"1/{10**29 + 2 * i + 1}" for i in range(30)}
    lengths, one = dict.fromkeys(budgets, 2), Sensitivity(1, "add-remove")
    with pytest.raises(ValueError, match="common denominator"):
        SplitLaplace.calibrate(budgets, lengths, one)


def test_a_table_in_a_stack_is_described_as_alone():
    rhos = [Fraction(1, 1000), Fraction(5), Fraction(1)]
    lengths = tables.lengths_needed(*rhos)
    for rho in rhos:
        alone, padded = tables.build(rho), tables.build(rho, lengths)
        assert tables.fingerprint(tables.trimmed(padded)) == tables.fingerprint(alone)


def test_prior_weights_of_cells_are_summed_without_a_list_of_them():
    layout = TableLayout((3, 2), ((0,), (0, 1)))
    grid = CellGrid(layout, Fraction(1, 10), 12, Fraction(1))
    listed = [(x.prior.min(), x.prior.max(), x.prior.sum()) for x in grid.rows]
    assert grid.prior_ranges == [tuple(map(int, x)) for x in listed]


@pytest.mark.parametrize("prior", ["1", "5/2"])
def test_rows_of_cells_with_a_prior_have_fewer_points(prior):
    layout = TableLayout((3,), ((0,),))
    options = {"omega": "1/800", "units": 800, "prior": prior}

    def calibrate():
        return CellMass.calibrate(layout, "1", "add-remove", **options)

    if prior == "1":
        assert in_time(calibrate).grid.units == 800
        return
    with pytest.raises(ValueError, match="`prior` must be 1 where a row has more than"):
        in_time(calibrate)


@pytest.mark.parametrize("name", ["plain.json", "packed.json.gz"])
def test_texts_have_a_largest_size(name, tmp_path, monkeypatch):
    monkeypatch.setattr(_documents, "_LARGEST_TEXT", 1000)
    monkeypatch.setattr(_documents, "_LARGEST_UNSTATED", 1000)
    path = tmp_path / name
    pack = gzip.compress if name.endswith("gz") else bytes
    path.write_bytes(pack(b" " * 1000))
    assert len(_documents.read_text(path, "release")) == 1000
    path.write_bytes(pack(b" " * 1001))
    with pytest.raises(ValueError, match="at most 1000 bytes of text"):
        _documents.read_text(path, "release")


def test_a_file_that_says_how_large_it_is_is_not_read(tmp_path):
    path = tmp_path / "release.json"
    path.touch()
    os.truncate(path, 1 << 34)  # holes: no disk is used
    with limits(), pytest.raises(UnreadableRelease, match="at most 1073741824 bytes"):
        dp.load(path)


def test_a_file_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(_documents, "_LARGEST_UNSTATED", 1 << 22)
    with pytest.raises(UnreadableRelease, match="at most 4194304 bytes of text"):
        in_time(lambda: dp.load("/dev/zero"))


LIMITS = {
    "units": (lambda: SimplexGrid(2, 4097, 1), "`units` must be at most 4096"),
    "points": (
        lambda: ParameterGrid(POISSON, (("rate", 1.0, 99.0),), 65_537, 1024, 0),
        "`points` must make at most 65536",
    ),
    "epsilon": (lambda: exact_epsilon(f"1.{'0' * 60}"), "`epsilon` must be a finite"),
    "fractions": (
        lambda: exact_epsilon(Fraction(10**40, 10**41 - 1)),
        "`epsilon` must be a finite",
    ),
    "digits": (lambda: parse_json("1" * 101, "file"), "at most 100 characters"),
    "cells": (
        lambda: CellGrid(
            TableLayout((3,), ((0,),)), Fraction(1, 4096), 4096, Fraction(1)
        ),
        "2\\^23.0 joint cells",
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_above_a_stated_limit_is_refused_at_once(name):
    work, message = LIMITS[name]
    with pytest.raises(ValueError, match=message):
        in_time(work)


@pytest.mark.parametrize("seed", ["counts", "fourier", "order", "split", "line"])
def test_values_are_counted_before_anything_is_derived_from_them(seed, tmp_path):
    path = tmp_path / "release.json"
    path.write_bytes(make.altered(seed, lambda _: {"values": [0]})(0))
    with pytest.raises(InconsistentRelease, match="all of what was measured"):
        dp.load(path)


@pytest.mark.parametrize("name", ["_MOST_TERMS", "_MOST_STATES", "_MOST_COMPOSITIONS"])
def test_a_sensitivity_that_would_take_long_is_a_bound(name, monkeypatch):
    monkeypatch.setattr(fourier_sensitivity, name, 1)
    net = make.tangled(6) if name != "_MOST_COMPOSITIONS" else make.full(8)
    statistic = FourierCoefficients.of_network(net, "replace-one")
    assert not statistic.sensitivity("replace-one").tight


def test_an_elimination_ends_where_it_would_take_long(monkeypatch):
    net = make.tangled(12)
    whole = FourierCoefficients.of_network(net, "replace-one").sensitivity(
        "replace-one"
    )
    monkeypatch.setattr(fourier_sensitivity, "_MOST_WORK", 0)
    monkeypatch.setattr(fourier_sensitivity, "_MOST_WORK_A_STATE", 0)
    bound = FourierCoefficients.of_network(net, "replace-one").sensitivity(
        "replace-one"
    )
    assert (whole.tight, bound.tight) == (True, False)
    assert bound.value >= whole.value


def test_the_log_of_a_sum_is_between_its_bounds(rng):
    """Against the slower exponentials that draws are made with."""
    for bits in (3, 40, 60, 90, 140):
        scores = [
            int(x) << max(bits - 50, 0) for x in rng.integers(-(2**50), 2**50, 40)
        ]
        unit = Fraction(
            int(rng.integers(1, 2**50)), 1 << int(rng.integers(20, bits + 60))
        )
        lower, upper = log_of_sum(scores, unit)
        assert 0 < upper - lower < Fraction(1, 10**25)
        weights = exponentials(scores, unit, 300)
        context, shift = decimal.Context(prec=80), unit * max(scores)
        least, most = (
            Fraction(context.ln(decimal.Decimal(int(sum(x))))) for x in weights
        )
        whole = Fraction(context.ln(decimal.Decimal(1 << 300)))
        assert lower <= least - whole + shift
        assert most - whole + shift <= upper
