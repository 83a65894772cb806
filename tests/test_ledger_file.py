"""A ledger's file: its names, copies of it, edits, older states, and older formats."""

import errno
import json
import os
import re
import shutil
from fractions import Fraction

import pytest

from dpjax import BudgetExceeded, Ledger
from dpjax.privacy import PureDP, ledger_file

THIRD = PureDP(Fraction(1, 3), "replace-one")
UNCHAINED = (
    '{"adjacency":"replace-one","budget":"1","format":"dpjax-ledger-1"}\n'
    '{"epsilon":"1/3","purpose":"é"}\n'
)


def shared(path, budget=1):
    return Ledger(budget, adjacency="replace-one", path=path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def ledger(path):
    """With two charges of three."""
    ledger = shared(path)
    for purpose in ("first", "second"):
        ledger.charge(THIRD, purpose)
    return ledger


def test_a_copy_is_refused_and_says_what_is_left(ledger, path, tmp_path):
    copy = shutil.copy(path, tmp_path / "copy")
    for budget in (1, None):
        with pytest.raises(ValueError, match="is a copy: use the original") as error:
            shared(copy, budget)
    left = re.search(r"at most ε = (\S+)\.$", str(error.value)).group(1)
    assert str(error.value).isprintable()
    assert 0 <= Fraction(1, 3) - Fraction(left) < Fraction(1, 10**12)
    shared(tmp_path / "new", left).charge(PureDP(Fraction(left), "replace-one"))
    ledger.charge(THIRD)  # the original goes on
    os.replace(copy, path)
    for attempt in (ledger.charge, ledger.require, lambda _: shared(path)):
        with pytest.raises(ValueError, match=r"must only grow|is a copy"):
            attempt(THIRD)


def test_a_backup_with_all_charges_is_a_copy_too(ledger, path, tmp_path):
    os.replace(shutil.copy(path, tmp_path / "backup"), path)
    with pytest.raises(ValueError, match="is a copy"):
        ledger.charge(THIRD)


def test_a_file_may_be_renamed_and_moved(ledger, path, tmp_path):
    (tmp_path / "folder").mkdir()
    moved = path.rename(tmp_path / "folder" / "other name")
    shared(moved).charge(THIRD)
    assert shared(moved).remaining == 0
    with pytest.raises(ValueError, match="No such file"):
        ledger.charge(THIRD)


def test_folders_have_many_names_too(ledger, path, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    shared(tmp_path / "link" / path.name).charge(THIRD)
    assert ledger.remaining == 0


@pytest.mark.parametrize("exists", [True, False])
def test_a_relative_path_is_of_where_it_was_given(exists, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if exists:
        shared("ledger.jsonl").charge(THIRD)
    ledger = shared("ledger.jsonl")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    ledger.charge(THIRD)
    assert not os.listdir()
    assert os.listdir("..").count("ledger.jsonl") == 1
    assert ledger.spent == (1 + exists) * THIRD.epsilon


@pytest.mark.slow
def test_every_byte_of_a_file_counts(ledger, path):
    sound = path.read_bytes()
    for place, byte in enumerate(sound):
        path.write_bytes(sound[:place] + bytes([byte ^ 1]) + sound[place + 1 :])
        with pytest.raises(ValueError, match="must be an undamaged file"):
            shared(path)
    path.write_bytes(sound)
    assert shared(path).remaining == Fraction(1, 3)


@pytest.mark.parametrize(
    "edit",
    [
        lambda header, one, two: [header, two, one],
        lambda header, one, two: [header, two],
        lambda header, one, two: [header, one, one, two],
        lambda header, one, two: [header, one, two, two],
        lambda header, one, two: [header.replace('"1"', '"100"'), one, two],
        lambda header, one, two: [header + " ", one, two],
        lambda header, one, two: [header, one.replace(":", ": "), two],
        lambda header, one, two: [header, one + "\r", two],
        lambda header, one, two: [header, one, two[:-1] + ',"more":1}'],
        lambda header, one, two: [header, one, two.replace('"1/3"', '"1/9"')],
        lambda header, one, two: [header, one, '{"epsilon":"1/3","purpose":"x"}'],
        lambda header, one, two: [one, two],
        lambda header, one, two: [header.replace('"inode"', '"other"')],
        lambda header, one, two: [UNCHAINED.partition("\n")[0], header, one],
    ],
)
def test_lines_stay_as_and_where_they_were_written(edit, ledger, path):
    path.write_text("\n".join([*edit(*path.read_text().splitlines()), ""]))
    with pytest.raises(ValueError, match="must be an undamaged file"):
        shared(path, None)


def anew(path, *purposes):
    """Another sound ledger in the same file: what no hash of its own can tell."""
    other = path.with_name("other")
    for purpose in purposes:
        shared(other).charge(THIRD, purpose)
    os.replace(other, path)


ROLL_BACKS = {
    "one charge less": lambda path, old: path.write_bytes(old),
    "no line": lambda path, old: os.truncate(path, 0),
    "another": lambda path, old: anew(path, "third"),
    "another that is longer": lambda path, old: anew(path, "second", "first", "third"),
}


@pytest.mark.parametrize("change", ROLL_BACKS)
@pytest.mark.parametrize("first", ["", UNCHAINED], ids=["chained", "unchained"])
def test_who_has_seen_a_charge_notices_that_it_is_gone(change, first, path):
    if first:
        path.write_text(first)
    ledger = shared(path)
    before = ledger.spent
    ledger.charge(THIRD, "first")
    old = path.read_bytes()
    reader = shared(path)  # that has seen one charge only
    ledger.charge(THIRD, "second")
    now = path.read_bytes()
    ROLL_BACKS[change](path, old)
    left = path.read_bytes()
    for attempt in (ledger.require, ledger.charge, lambda _: ledger.spent):
        with pytest.raises(ValueError, match="must only grow") as error:
            attempt(THIRD)
        assert str(error.value).isprintable()
    assert path.read_bytes() == left
    if change == "one charge less":  # which nobody else can know
        assert reader.spent == shared(path).spent
    if "another" not in change:
        path.write_bytes(now)
        assert ledger.spent == shared(path).spent == 2 * THIRD.epsilon + before


def test_a_file_of_the_first_format_is_charged_as_it_is(path):
    path.write_text(UNCHAINED)
    ledger = shared(path)
    assert ledger.remaining == Fraction(2, 3)
    ledger.charge(THIRD, "p")
    assert path.read_text() == UNCHAINED + '{"epsilon":"1/3","purpose":"p"}\n'
    assert [charge.date for charge in ledger.charges] == ["", ""]
    shared(path).charge(THIRD)
    with pytest.raises(BudgetExceeded):
        ledger.charge(THIRD)


def test_a_file_that_is_replaced_before_it_is_locked_is_not_charged(path, monkeypatch):
    """Who waited for the lock of a file that has gone takes that of its successor."""
    shared(path.with_name("successor")).charge(THIRD, "successor")
    ledger, lock = shared(path), ledger_file.fcntl.flock
    shared(path).charge(THIRD, "gone")

    def replaced_first(*arguments):
        if path.with_name("successor").exists():
            os.replace(path.with_name("successor"), path)
        lock(*arguments)

    monkeypatch.setattr(ledger_file.fcntl, "flock", replaced_first)
    ledger.charge(THIRD, "mine")
    lines = map(json.loads, path.read_text().splitlines())
    assert [line.get("purpose") for line in lines] == [None, "successor", "mine"]


def test_only_one_makes_a_file(path, monkeypatch):
    """While it is made, nobody else can: two would each charge a file of their own."""
    ledger, other, made = shared(path), shared(path, 2), ledger_file.whole_file
    monkeypatch.setattr(ledger_file, "_PATIENCE", 0)

    def meanwhile(*arguments):
        monkeypatch.setattr(ledger_file, "whole_file", made)
        with pytest.raises(ValueError, match="another process keeps it"):
            other.charge(THIRD)
        return made(*arguments)

    monkeypatch.setattr(ledger_file, "whole_file", meanwhile)
    ledger.charge(THIRD)
    assert shared(path, None).budget == 1
    with pytest.raises(ValueError, match="`budget` must be that of the ledger, ε = 1"):
        other.charge(THIRD)


def test_a_charge_is_synchronised_before_it_is_told(path, monkeypatch):
    synchronised = []

    def seen(descriptor):
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        synchronised.append((os.path.isdir(name), path.exists() and path.read_text()))

    monkeypatch.setattr(ledger_file.os, "fsync", seen)
    ledger = shared(path)
    ledger.charge(THIRD)
    text = path.read_text()
    assert synchronised == [(False, False), (True, text)]  # the file; then its name
    ledger.charge(THIRD)
    assert synchronised[2:] == [(False, path.read_text())]


def test_a_folder_that_is_not_synchronised_is_said(path, monkeypatch):
    def fail_later(descriptor):
        if path.exists():
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(ledger_file.os, "fsync", fail_later)
    with pytest.raises(ValueError, match="Input/output error; the charge counts"):
        shared(path).charge(THIRD)
    assert shared(path).spent == THIRD.epsilon


def test_without_flock_a_ledger_stays_in_memory(path, monkeypatch):
    monkeypatch.setattr(ledger_file, "fcntl", None)
    with pytest.raises(ValueError, match="must be in memory, without a `path`"):
        shared(path)
    shared(None).charge(THIRD)


def test_a_folder_where_nothing_can_be_made_is_said(ledger, path, monkeypatch):
    monkeypatch.setattr(ledger_file.os, "access", lambda *_: False)
    ledger.charge(THIRD)  # the file is there, and no other is needed
    with pytest.raises(ValueError, match="must be in a folder that can be written"):
        shared(path.with_name("new")).charge(THIRD)
