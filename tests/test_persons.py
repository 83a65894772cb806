"""The cut to k rows of a person, over all tiny tables, and whose row a row is."""

import itertools
import math
import os
import time
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import dpjax as dp
from dpjax.data import persons
from dpjax.data.persons import kept_rows, person_of

SCHEMA = dp.Schema({"x": [0, 1, 2]})
ROWS = list(itertools.product("ab", range(3)))  # person and content


def table_of(rows, **more):
    return {"p": [p for p, _ in rows], "x": [x for _, x in rows], **more}


@pytest.fixture
def words(monkeypatch):
    """A function that sets the words of the rows that are read next."""

    def give(values):
        left = [*values]

        def some(count):
            given, left[:] = left[:count], left[count:]
            return np.array(given, np.uint64)

        monkeypatch.setattr(persons, "random_words", some)

    return give


def kept(source, k, schema=SCHEMA, **options):
    """The multiset of the rows that are kept."""
    rows = kept_rows(source, list(schema.values()), "p", k, **options)
    return Counter(map(tuple, rows.tolist()))


# --- the lemma, and the law ---


def check_table(rows, k, values, words):
    """What is kept is what is kept of each person alone, with the same words."""
    whole, alone = zip(rows, values, strict=True), []
    for _, own in itertools.groupby(sorted(whole, key=lambda x: x[0][0]), _person):
        own_rows, own_words = zip(*own, strict=True)
        words(own_words)
        alone.append(kept(table_of(own_rows), k))
        best = sorted(zip(own_words, own_rows, strict=True))[:k]
        assert alone[-1] == Counter((x,) for _, (_, x) in best)
    words(values)
    assert kept(table_of(rows), k) == sum(alone, Counter())


def _person(row_and_word):
    return row_and_word[0][0]


@pytest.mark.parametrize("k", [1, 2])
def test_what_is_kept_of_a_person_depends_on_no_other(k, words):
    """All tables of three rows: so one person, added or removed, moves at most k."""
    orders = itertools.cycle(itertools.permutations([3, 7, 2**64 - 1]))
    for rows in itertools.product(ROWS, repeat=3):
        check_table(rows, k, next(orders), words)


def test_two_persons_with_too_many_rows(words):
    orders = itertools.cycle(itertools.permutations(range(4)))
    for who in sorted(set(itertools.permutations("aabb"))):
        for contents in itertools.product([0, 2], repeat=4):
            check_table([*zip(who, contents, strict=True)], 1, next(orders), words)


@pytest.mark.thorough
@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_is_kept_in_all_tables_of_four_rows(k, words):
    """In one order and its reverse: three rows are tried in all orders."""
    for rows in itertools.combinations_with_replacement(ROWS, 4):
        for values in itertools.permutations(range(4)):
            check_table(rows, k, values, words)
        check_table(rows[::-1], k, values, words)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_each_set_of_a_persons_rows_is_as_probable(k, words):
    """Over all orders of the words; another person's rows have words of their own."""
    rows, many = [("a", x) for x in range(4)], dp.Schema({"x": list(range(5))})
    found = Counter()
    for values in itertools.permutations(range(5)):
        words(values)
        of_all = kept(table_of([*rows, ("b", 4)]), k, many)
        found[frozenset(x for (x,) in of_all if x < 4)] += 1
    assert {*map(len, found)} == {k}
    assert set(found.values()) == {math.factorial(5) // math.comb(4, k)}


def test_what_is_kept_of_many_persons_is_like_their_rows():
    """Equal rows of one person, or of several, are kept independently."""
    share, people, each = 0.3, 2000, 20
    ill = np.arange(people * each) % each < share * each
    table = {"p": np.repeat(np.arange(people), each), "x": ill.astype(int)}
    for k in (1, 3):
        found = kept(table, k)[(1,)] / (k * people)
        sd = math.sqrt(share * (1 - share) * (each - k) / (each - 1) / (k * people))
        assert abs(found - share) < 5 * sd


def test_equal_words_are_parted_by_the_order_of_rows(words):
    for rows in itertools.product(ROWS[:3], repeat=3):
        words([0] * 3)
        assert kept(table_of(rows), 1) == Counter([(rows[0][1],)])


def test_every_row_has_a_new_secret_word(monkeypatch):
    asked, random = [], os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(random(n)) or asked[-1])
    for _ in range(2):
        kept_rows(table_of(ROWS), list(SCHEMA.values()), "p", 1)
    assert [len(x) for x in asked] == [8 * len(ROWS)] * 2
    assert len(set(np.frombuffer(b"".join(asked), np.uint64))) == 2 * len(ROWS)


@pytest.mark.parametrize("waiting", [0, 1 << 20])
def test_batches_and_files_are_cut_as_one_table(waiting, tmp_path, monkeypatch, words):
    """Also if rows are cut after every batch, before all rows are known."""
    monkeypatch.setattr(persons, "_WAITING", waiting)
    rng = np.random.default_rng(5)
    rows = [("abcd"[person], x) for x, person in enumerate(rng.integers(0, 4, 40))]
    frame = pd.DataFrame(table_of(rows))
    many = dp.Schema({"x": list(range(40))})
    values = rng.permutation(40).astype(np.uint64)
    expected = Counter()
    for person in "abcd":
        own = sorted((values[x], x) for p, x in rows if p == person)
        expected += Counter((x,) for _, x in own[:3])
    assert expected.total() == 12
    frame.to_csv(tmp_path / "all.csv", index=False)
    parquet.write_table(pa.table(frame), tmp_path / "all.parquet", row_group_size=7)
    (tmp_path / "parts").mkdir()
    for i, start in enumerate(range(0, 40, 9)):
        some = frame[start : start + 9]
        some[["x", "p"]].to_csv(tmp_path / "parts" / f"{i}.csv", index=False)
    for source in (
        frame,
        pa.table(frame),
        (frame[i : i + 6] for i in range(0, 40, 6)),
        [frame[:20], pa.table(frame[20:])],
        *(tmp_path / name for name in ("all.csv", "all.parquet", "parts")),
    ):
        words(values)
        assert kept(source, 3, many) == expected
    words(values[::-1])
    assert kept(frame[::-1], 3, many) == expected


def test_persons_of_few_rows_keep_them_in_order():
    rows = [("a", 2), ("b", 1), ("a", 0), ("c", 1)]
    found = kept_rows(table_of(rows), list(SCHEMA.values()), "p", 2)
    assert found.tolist() == [[2], [1], [0], [1]]
    assert found.dtype == np.uint8
    assert kept(table_of([]), 2) == Counter()


# --- whose row it is ---


@pytest.mark.parametrize(
    ("person", "cells"),
    [
        ("7", [7, "7", "007", "+7", " 7 ", "7.0", "7.", "70e-1", 7.0, np.float64(7),
               np.uint8(7), np.int64(7), Decimal(7), Decimal("7.00"), np.str_("7")]),
        ("0", [0, "0", "-0", "000", 0.0, -0.0, "-0.0", "0e9"]),
        ("-12", ["-12", -12, "-012", -12.0]),
        ("1000", ["1e3", "1000", 1e3, "1E+3"]),
        ("9007199254740991", [2**53 - 1, float(2**53 - 1), str(2**53 - 1)]),
        ("9007199254740992", [2**53, str(2**53)]),
        ("9007199254740993", [2**53 + 1, str(2**53 + 1), np.int64(2**53 + 1)]),
        ("1234567890123456789", [1234567890123456789, "1234567890123456789"]),
        ("9" * 5000, ["9" * 5000, "0" + "9" * 5000]),
        ("Ann", ["Ann"]),
        (" Ann", [" Ann"]),
        ("7.5", ["7.5"]),
        ("1.2.3", ["1.2.3"]),
        ("12e45678", ["12e45678"]),
        ("1" + "0" * 300, [Decimal("1e300"), 10**300]),
        ("9007199254740991", ["9007199254740991.0", "9.007199254740991e15"]),
        ("9007199254740993", [Decimal("9007199254740993.0")]),
        (None, ["9007199254740993.0", "9007199254740992.0", "1e300", "-1e17"]),
        ("inf", ["inf"]),
        ("true", ["true"]),
        ("2020-01-01", ["2020-01-01"]),
        (None, [None, "", "  ", "NA", "null", "nan", float("nan"), pd.NA, pd.NaT]),
        (None, ["0x1A", "1_000", "0b1", "٧", " ٧ "]),
        (None, ["6.9999999999999999", "7.0000000000000001", "0.9999999999999999"]),
        (None, ["1e-400", "1e-99999999999999999999"]),
        (None, [True, False, np.True_, np.float32(7), np.float16(7), 7.5, 2.0**53,
                float("inf"), -2.0**53, Decimal("7.5"), Decimal("nan"),
                Decimal("1e9999"),
                b"7", np.datetime64("2020-01-01"), np.timedelta64(7, "D"), (7,), 7 + 0j,
                10**5000]),
    ],
)  # fmt: skip
def test_a_person_is_what_a_cell_shows(person, cells):
    for cell in cells:
        assert person_of(cell) == person


def test_a_long_text_takes_time_in_proportion_to_it():
    start = time.monotonic()
    assert person_of("0" * 300_000 + "x") == "0" * 300_000 + "x"
    assert person_of("1_" * 300_000 + "x") == "1_" * 300_000 + "x"
    assert time.monotonic() - start < 30  # it took minutes for a tenth of it


IDS = ["7", "8", "7", "-3", "8", "7", "7", "8"]
FORMS = {
    "text": IDS,
    "integers": list(map(int, IDS)),
    "mixed": [7, "8", "07", -3, 8.0, "7.0", np.int8(7), Decimal(8)],
    "numpy integers": np.array(IDS, np.int64),
    "numpy text": np.array(IDS),
    "doubles": np.array(IDS, np.float64),
    "objects": np.array([*map(int, IDS[:4]), *IDS[4:]], object),
    "arrow integers": pa.array(list(map(int, IDS)), pa.int8()),
    "arrow doubles": pa.array(list(map(float, IDS))),
    "arrow decimals": pa.array([Decimal(x) for x in IDS], pa.decimal128(9, 2)),
    "arrow dictionary": pa.array(IDS).dictionary_encode(),
    "arrow chunks": pa.chunked_array([IDS[:3], IDS[3:]]),
    "series": pd.Series(IDS),
    "nullable": pd.Series(list(map(int, IDS)), dtype="Int64"),
    "strings": pd.Series(IDS, dtype="string"),
    "categories": pd.Series(list(map(int, IDS)), dtype="category"),
}


def as_column(cells):
    """Cells as an array: lists in a batch may be rows."""
    return np.array(cells, object) if isinstance(cells, list) else cells


@pytest.mark.parametrize("form", FORMS)
def test_a_reader_s_type_is_of_no_account(form, words):
    contents = [0, 1, 2, 0, 1, 1, 0, 2]
    words(range(8))
    expected = kept({"x": contents, "p": IDS}, 2)
    words(range(8))
    assert kept({"x": contents, "p": FORMS[form]}, 2) == expected
    parts = [
        {"x": np.array(contents[:3]), "p": np.array(IDS[:3])},
        {"x": np.array(contents[3:]), "p": as_column(FORMS[form])[3:]},
    ]
    words(range(8))
    assert kept(parts, 2) == expected


def test_another_person_who_changes_the_inferred_type_changes_no_other(tmp_path, words):
    """Of one text, a reader makes integers, doubles or text, but the same persons."""
    lines = ["x,p", "0,7", "1,7.0", "2,007", "0,7", "1,1e3", "2,1000", "1,1000.0"]
    found = []
    for more in ([], ["2,ab"], ["2,0.5e1"]):
        path = tmp_path / "t.csv"
        path.write_text("\n".join([*lines, *more]) + "\n")
        own = Counter({(2,): 1} if more else {})
        for source in (path, pd.read_csv(path), pd.read_csv(path, dtype={"p": str})):
            words(range(8))
            found.append(kept(source, 1) - own if more else kept(source, 1))
    assert all(x == found[0] for x in found)
    assert found[0].total() == 2


# --- refusals ---

MISSING = r"^`id` must name a person in every row, column 'p'(.*) lacks one"
TYPED = r"^`id` must name persons by text, or by integers that lost no digit, column"
DOUBT = r"^`id` must name persons by text that all readers show alike, column 'p' in b"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["a", None], MISSING),
        (["a", ""], MISSING),
        (["a", "NA"], MISSING),
        ([1.0, float("nan")], MISSING),
        ([1.5, 2.0], TYPED),
        (np.array([1, 2], np.float32), TYPED),
        ([True, False], TYPED),
        (pa.array([1, 2], pa.date32()), TYPED),
        (np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"), TYPED),
        ([b"12345678", b"2"], TYPED),
        ([2**60 * 1.0, 1.0], TYPED),
        (["12345678", "0x1A"], DOUBT),
        (["a"], "`table` must have columns of one length, not 'p'"),
    ],
)
def test_what_names_no_person_is_one_clear_line(cells, message):
    batch = {"x": np.array([0, 1]), "p": as_column(cells)}
    for source in ([batch], {"x": [0, 1], "p": cells}):
        pattern = message.replace(" in b", "")
        with pytest.raises(ValueError, match=pattern) as error:
            kept(source, 1)
        assert "\n" not in str(error.value)
        assert "12345678" not in str(error.value)


def test_a_table_without_names_or_the_column_is_refused():
    for source in (np.zeros((2, 1), np.uint8), [np.zeros((2, 1), np.uint8)]):
        with pytest.raises(
            ValueError, match=r"^`id` must name a column, and encoded rec"
        ):
            kept(source, 1)
    with pytest.raises(
        ValueError, match=r"^`id` must name a column of the table, got no 'p'"
    ):
        kept({"x": [0]}, 1)
    with pytest.raises(
        ValueError, match="must have only columns of the schema, column 2"
    ):
        kept({"x": [0], "y": [0], "p": [1]}, 1)
    assert kept({"x": [0], "y": [0], "p": [1]}, 1, ignore="y").total() == 1
    with pytest.raises(ValueError, match="must hold only declared levels"):
        kept({"x": [5], "p": [1]}, 1)


def test_a_part_is_refused_with_persons():
    """A person may have rows in each part, of which the ledger charges the largest."""
    ledger = dp.Ledger(1, adjacency="add-remove", contributions=1)
    net = dp.BayesNet.from_parents(SCHEMA, {"x": []})
    table, options = table_of(ROWS), {"id": "p", "part": "north", "ledger": ledger}
    with pytest.raises(ValueError, match="`part` must be left out with `id`"):
        dp.release(net, table, epsilon=1, contributions=1, **options)
    with pytest.raises(ValueError, match="`part` must be left out with `id`"):
        dp.learn(SCHEMA, table, epsilon=1, contributions=1, **options)
    assert ledger.spent == 0
