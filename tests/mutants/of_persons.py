"""Faults of persons with several rows: their loss, their charges, what is read."""

from tests.mutants.mutant import fault as _fault

_UNIT, _KINDS = "privacy/unit.py", "privacy/kinds.py"
_GUARANTEE, _PUBLISH = "privacy/guarantee.py", "releases/publish.py"
_SELECTION = "releases/selection.py"
_PERSONS, _LEDGER = "data/persons.py", "privacy/ledger.py"
_BESIDE = "data/beside.py"
_COSTS, _CUTS = "tests/test_contributions.py::", "tests/test_persons.py::"
_LOSS = _COSTS + "test_a_person_loses_epsilon_and_no_less[1-2-counts-add-remove]"
_MADE = _COSTS + "test_a_release_is_made_for_a_person[laplace-add-remove]"
_MISTAKES = _COSTS + "test_mistakes_show_before_any_record"
_PURE = _COSTS + "test_pure_costs_of_a_group_are_exact"
_DELTAS = _COSTS + "test_approximate_costs_of_a_group"
_UNITS = _COSTS + "test_units_do_not_mix"
_OWN = _COSTS + "test_a_kind_without_groups_is_refused_and_keeps_the_unit"
_INTEGER = _COSTS + "test_the_rows_of_a_person_are_an_integer"
_ONE_UNIT = _COSTS + "test_a_ledger_is_of_one_unit"
_ALONE = _CUTS + "test_what_is_kept_of_a_person_depends_on_no_other"
_SHOWN = _CUTS + "test_a_person_is_what_a_cell_shows"
_NONE = _CUTS + "test_what_names_no_person_is_one_clear_line"


MUTANTS = (
    _fault(
        "ε doubled",
        "release of persons: k forgotten in the noise",
        _PUBLISH,
        "partial(recipe.mechanism, statistic, cost)",
        "partial(recipe.mechanism, statistic, budget_of(budget.bound, "
        "budget.adjacency))",
        _MADE,
    ),
    _fault(
        "budget not charged",
        "persons: each part of the table has k rows of a person",
        _PUBLISH,
        "if part is not None and id is not None:",
        "if False:",
        _CUTS + "test_a_part_is_refused_with_persons",
    ),
    _fault(
        "record read by others",
        "columns: integers that a pandas may have made doubles",
        "data/sources/encoded_columns.py",
        "np.abs(found) >= EXACT_INTEGERS",
        "np.abs(found) >= 2**10 * EXACT_INTEGERS",
        "tests/test_frames.py::test_text_of_a_pandas_that_rounds_otherwise_is_no_number",
    ),
    _fault(
        "record read by others",
        "columns: text of more digits than any pandas reads alike",
        "data/sources/frames.py",
        "{1,15}",
        "{1,16}",
        "tests/test_frames.py::test_text_of_a_pandas_that_rounds_otherwise_is_no_number",
    ),
    _fault(
        "record read by others",
        "scikit-learn: a frame that a pandas may have rounded",
        "sklearn/base.py",
        "        _refuse_rounded(X)\n",
        "",
        "tests/test_sklearn.py::test_a_frame_that_pandas_may_have_rounded_is_refused",
    ),
    _fault(
        "record read by others",
        "scikit-learn: a private number of rows decides on a refusal",
        "sklearn/base.py",
        'options["ensure_min_samples"] = 0',
        'options["ensure_min_samples"] = 1',
        "tests/test_sklearn.py::test_a_private_number_of_rows_is_neither_refused_nor_shown",
    ),
    _fault(
        "record read by others",
        "columns: text of a pandas that rounds decimals otherwise",
        "data/sources/encoded_columns.py",
        "    if may_round(cells):\n        used",
        "    if may_round(column):\n        used",
        "tests/test_frames.py::test_text_of_a_pandas_that_rounds_otherwise_is_no_number",
    ),
    _fault(
        "ε doubled",
        "persons: k forgotten in the cost of one row",
        _KINDS,
        'return {"epsilon": self.epsilon / k}',
        'return {"epsilon": self.epsilon}',
        _LOSS,
    ),
    _fault(
        "law changed",
        "persons: k applied twice",
        _UNIT,
        "**self.numbers_per_record(k), contributions=1)",
        "**self.numbers_per_record(k * k), contributions=1)",
        _LOSS,
    ),
    _fault(
        "budget not charged",
        "persons: a group costs what one row does",
        _KINDS,
        'return {"epsilon": k * self.epsilon}',
        'return {"epsilon": self.epsilon}',
        _PURE,
    ),
    _fault(
        "budget not charged",
        "persons: the δ of a group is k times that of a row",
        _KINDS,
        "rounded_up(self.delta * _powers(self.epsilon, k)) if",
        "rounded_up(self.delta * k) if",
        _COSTS + "test_the_delta_of_a_group_is_reached",
    ),
    _fault(
        "budget not charged",
        "persons: the ε of an approximate group is that of a row",
        _KINDS,
        'return {"epsilon": k * self.epsilon, "delta": Fraction(most)}',
        'return {"epsilon": self.epsilon, "delta": Fraction(most)}',
        _DELTAS,
    ),
    _fault(
        "bound loosened",
        "persons: δ of a row that is too large",
        _KINDS,
        "_rounded_down(short / _powers(epsilon, k))",
        "_rounded_down(short / k)",
        _DELTAS,
    ),
    _fault(
        "bound loosened",
        "persons: δ rounded up where it must not be",
        _KINDS,
        "    return -rounded_up(-number)\n",
        "    return rounded_up(number)\n",
        _DELTAS,
    ),
    _fault(
        "bound loosened",
        "persons: a sum of powers without the last",
        _KINDS,
        "return (exponential_above(k * each) - 1) / (least - 1)",
        "return (exponential_above((k - 1) * each) - 1) / (least - 1)",
        _DELTAS,
    ),
    _fault(
        "bound loosened",
        "persons: powers of an ε that is too small",
        _KINDS,
        "each = max(epsilon, _LEAST)",
        "each = max(epsilon / 2, _LEAST)",
        _DELTAS,
    ),
    _fault(
        "budget not charged",
        "release of persons: the ledger is charged for one row",
        _PUBLISH,
        "ledger.charge(spent.of_group(k), purpose, part)",
        "ledger.charge(budget_of(spent.bound, budget.adjacency, "
        "contributions=k), purpose)",
        _MADE,
    ),
    _fault(
        "budget not charged",
        "ledger: charges of another unit are taken",
        _LEDGER,
        "        if cost.contributions != self.contributions:\n",
        "        if False:\n",
        _ONE_UNIT + "[memory]",
    ),
    _fault(
        "budget not charged",
        "ledger: the file's unit is not compared",
        _LEDGER,
        "        if self.contributions not in (None, book.budget.contributions):\n",
        "        if False:\n",
        _ONE_UNIT + "[file]",
    ),
    _fault(
        "ε doubled",
        "release of persons: a budget for one row, whatever was given",
        _PUBLISH,
        "        rows = 1 if contributions is None else contributions\n",
        "        rows = 1\n",
        _MISTAKES,
    ),
    _fault(
        "branch left out",
        "release of persons: contributions beside a budget",
        _PUBLISH,
        "adjacency is None and contributions is None):",
        "adjacency is None):",
        _MISTAKES,
    ),
    _fault(
        "ε doubled",
        "release file: verified for one row at the ε of a person",
        "releases/file_format.py",
        "each = cost.per_record()",
        "each = type(cost)(cost.bound, cost.adjacency)",
        _MADE,
    ),
    _fault(
        "budget not charged",
        "guarantee: another kind forgets the unit",
        _GUARANTEE,
        "contributions=cast(Any, guarantee).contributions)",
        "contributions=1)",
        _OWN,
    ),
    _fault(
        "budget not charged",
        "guarantee: costs of other units are added",
        _GUARANTEE,
        "    if len(units) > 1:\n",
        "    if False:\n",
        _UNITS,
    ),
    _fault(
        "budget not charged",
        "guarantee: fits a budget for another unit",
        _GUARANTEE,
        "        if self.contributions != budget.contributions:\n",
        "        if False:\n",
        _UNITS,
    ),
    _fault(
        "budget not charged",
        "persons: parts and samples for several rows cost as for one",
        _UNIT,
        "    if cost.contributions != 1:\n",
        "    if False:\n",
        _UNITS,
    ),
    _fault(
        "limit weakened",
        "persons: more rows than a table has",
        _UNIT,
        "    if contributions > _MOST_ROWS:\n",
        "    if False:\n",
        _INTEGER,
    ),
    _fault(
        "limit weakened",
        "persons: any number of rows",
        _UNIT,
        "    whole(1, contributions=contributions)\n",
        "",
        _INTEGER,
    ),
    _fault(
        "ε doubled",
        "chains: an update tempered for one row",
        "chains/price.py",
        "budget = exact_epsilon(epsilon) / rows",
        "budget = exact_epsilon(epsilon)",
        _COSTS + "test_an_update_is_tempered_for_a_person",
    ),
    _fault(
        "budget not charged",
        "chains: an update of a person costs as one row",
        "chains/price.py",
        "Price(each.of_group(rows), temperature)",
        "Price(each, temperature)",
        _COSTS + "test_an_update_is_tempered_for_a_person",
    ),
    _fault(
        "budget not charged",
        "chains: a run of persons is charged for one row",
        "chains/private_chain.py",
        "total = _total(charges, sweeps).of_group(contributions)",
        "total = type(charges[0][0])(_total(charges, sweeps).bound, "
        "charges[0][0].adjacency, contributions=contributions)",
        _COSTS + "test_a_chain_costs_a_person_k_times_as_much",
    ),
    _fault(
        "record read by others",
        "cut: ranks among the rows of all persons",
        _PERSONS,
        "    owners = persons[many][order]\n",
        "    owners = 0 * persons[many]\n",
        _CUTS + "test_two_persons_with_too_many_rows",
    ),
    _fault(
        "law changed",
        "cut: the first rows of the table are kept",
        _PERSONS,
        "order = np.lexsort((words[many], persons[many]))",
        "order = np.lexsort((many, persons[many]))",
        _CUTS + "test_each_set_of_a_persons_rows_is_as_probable",
    ),
    _fault(
        "law changed",
        "cut: equal rows have equal words",
        _PERSONS,
        "    kept = np.ones(len(rows), bool)\n",
        "    words = words[np.unique(rows, axis=0, return_inverse=True)[1].ravel()]\n"
        "    order = np.lexsort((words[many], persons[many]))\n"
        "    kept = np.ones(len(rows), bool)\n",
        _CUTS + "test_what_is_kept_of_many_persons_is_like_their_rows",
    ),
    _fault(
        "sensitivity halved",
        "cut: one row more of each person",
        _PERSONS,
        "np.arange(len(owners)) - first >= k]]",
        "np.arange(len(owners)) - first > k]]",
        _ALONE,
    ),
    _fault(
        "sensitivity halved",
        "cut: a person of many batches is several",
        _PERSONS,
        "    return _cut(waiting, contributions)[0]\n",
        "    return np.concatenate([_cut([x], contributions)[0] for x in waiting])\n",
        _CUTS + "test_batches_and_files_are_cut_as_one_table[1048576]",
    ),
    _fault(
        "record read by others",
        "cut: persons of each file have numbers of their own",
        _PERSONS,
        "self._known.setdefault(person, len",
        "self._known.setdefault(person + where, len",
        _CUTS + "test_batches_and_files_are_cut_as_one_table[1048576]",
    ),
    _fault(
        "record read by others",
        "cut: ids are compared by the reader's type",
        _PERSONS,
        "self._known.setdefault(person, len",
        "self._known.setdefault(person + type(cell).__name__, len",
        _CUTS + "test_a_reader_s_type_is_of_no_account",
    ),
    _fault(
        "wrong adjacency",
        "release of persons: one adjacency, whatever was given",
        _PUBLISH,
        "known = adjacency or _adjacency_of(what, ledger)",
        'known = "add-remove"',
        _MISTAKES,
    ),
    _fault(
        "branch left out",
        "release of persons: a column that cannot say whose row it is",
        _SELECTION,
        "    if id is not None:\n        check_id(",
        "    if False:\n        check_id(",
        _MISTAKES,
    ),
    _fault(
        "branch left out",
        "release of persons: all rows are read",
        _PUBLISH,
        "table, sampled = some_rows(table, statistic, ignore, id, k, sampled)",
        'rows = Rows(ignore="*")',
        _COSTS + "test_a_release_reads_k_rows_of_a_person",
    ),
    _fault(
        "branch left out",
        "persons: a group of a group",
        _UNIT,
        "        per_row(self)\n",
        "",
        _PURE,
    ),
    *(
        _fault(
            "budget not charged",
            f"persons: {what}",
            _UNIT,
            f"k == 1:\n            return self\n        return replace(self, **{old}",
            f"k >= 1:\n            return self\n        return replace(self, **{old}",
            _PURE,
        )
        for what, old in (
            ("a group is one row", "self.numbers_of_group"),
            ("one row is a group", "self.numbers_per_record"),
        )
    ),
    _fault(
        "ε doubled",
        "persons: the ε of an approximate group for each row",
        _KINDS,
        "epsilon, short = self.epsilon / k, ",
        "epsilon, short = self.epsilon, ",
        _DELTAS,
    ),
    _fault(
        "sensitivity halved",
        "cut: no row is left out",
        _PERSONS,
        " - first >= k]]] = False",
        " - first >= k]]] = True",
        _ALONE,
    ),
    *(
        _fault(
            "record read by others",
            f"cut: {what}",
            file,
            old,
            new,
            _CUTS + f"test_batches_and_files_are_cut_as_one_table[{waiting}]",
        )
        for what, file, old, new, waiting in (
            (
                "fewer rows before all are known",
                _PERSONS,
                "waiting = [_cut(waiting, contributions)]",
                "waiting = [_cut(waiting, 1)]",
                0,
            ),
            (
                "persons of a batch in another order",
                _PERSONS,
                "people.of_the(rows), random",
                "people.of_the(rows)[::-1], random",
                1 << 20,
            ),
            (
                "persons of another batch",
                _PERSONS,
                "rows, persons, words = (np.concatenate(x) for x in zip(",
                "parts = [(a, b, c) for (a, _, c), (_, b, _) in "
                "zip(parts, parts[::-1], strict=True)]\n"
                "    rows, persons, words = (np.concatenate(x) for x in zip(",
                1 << 20,
            ),
            (
                "the person of a cell for that of a row",
                _BESIDE,
                "        self._seen = integers[places]\n",
                "        self._seen = np.resize(integers, len(places))\n",
                1 << 20,
            ),
            (
                "all rows are of one person",
                _BESIDE,
                "        return seen\n",
                "        return 0 * seen\n",
                1 << 20,
            ),
        )
    ),
    _fault(
        "weak randomness",
        "cut: the same words for every release",
        "data/sampling.py",
        "os.urandom(8 * many)",
        "bytes(range(256))[: 8 * many]",
        _CUTS + "test_every_row_has_a_new_secret_word",
    ),
    _fault(
        "branch left out",
        "cut: persons of a column of another length",
        _BESIDE,
        "        if len(seen) != len(rows):\n",
        "        seen = np.resize(seen, len(rows))\n        if False:\n",
        _NONE,
    ),
    _fault(
        "branch left out",
        "ids: a missing cell is a person",
        _PERSONS,
        "        if person is None:\n",
        "        if False:\n",
        _NONE,
    ),
    _fault(
        "branch left out",
        "ids: encoded records have persons",
        _BESIDE,
        "        if sources.is_array(table):\n",
        "        if False:\n",
        _CUTS + "test_a_table_without_names_or_the_column_is_refused",
    ),
    _fault(
        "wrong adjacency",
        "ids: rows are cut where their number is public",
        _PERSONS,
        "    if adjacency == REPLACE_ONE:\n",
        "    if False:\n",
        _MISTAKES,
    ),
    *(
        _fault("record read by others", f"ids: {what}", _PERSONS, old, new, _SHOWN)
        for what, old, new in (
            (
                "text is in doubt",
                "    if isinstance(cell, str):\n        return _of_text(cell)\n",
                "    if isinstance(cell, str):\n        return None\n",
            ),
            ("decimal types", "elif isinstance(cell, Decimal):", "elif False:"),
            (
                "cells of any other type",
                "        value = Decimal(cell)\n    else:\n        return None\n",
                "        value = Decimal(cell)\n    else:\n        return str(cell)\n",
            ),
            (
                "signs",
                'return f"-{digits}" if sign == "-" and digits != "0" else digits',
                "return digits",
            ),
            (
                "words for booleans",
                'shown.lower() in ("true", "false") or math',
                "math",
            ),
            ("booleans", "bool | np.timedelta64)", "np.timedelta64)"),
            (
                "doubles that lost digits",
                "abs(cell) < EXACT_INTEGERS:",
                "abs(cell) <= EXACT_INTEGERS:",
            ),
            (
                "numbers of less than double precision",
                "isinstance(cell, float) and abs(cell) < EXACT_INTEGERS:\n"
                "        value = Decimal(cell)\n",
                "isinstance(cell, float | np.floating) and abs(cell) < 2**53:\n"
                "        value = Decimal(float(cell))\n",
            ),
            (
                "numbers without a value or without an end",
                "> _MOST_DIGITS:\n        return None\n",
                "> _MOST_DIGITS:\n        return str(value)\n",
            ),
            (
                "fractions are cut off",
                "if value == value.to_integral_value() else None",
                "if value == value else None",
            ),
            (
                "integers in text by way of doubles",
                "        value = Decimal(int(cell))\n",
                "        value = Decimal(float(cell))\n",
            ),
            (
                "text of long integers by its zeros",
                "    if whole:\n",
                "    if False:\n",
            ),
            (
                "text in doubt",
                "    if _any_text().code(text) != 0:",
                "    if _any_text().code(text) == 1:",
            ),
            (
                "decimals as text, others as numbers",
                "exact == exact.to_integral_value():",
                "False:",
            ),
            (
                "zeros before a number",
                'whole.group(2).lstrip("0") or "0"',
                "whole.group(2)",
            ),
            (
                "decimals that readers round to an integer",
                "near = abs(value) < EXACT_INTEGERS and (",
                "near = False and (",
            ),
            (
                "decimals that readers round",
                "    return None if near else text\n",
                "    return text\n",
            ),
            (
                "decimals of an exponent beyond any",
                "    except InvalidOperation:  # an exponent too large for `Decimal`\n"
                "        return None\n",
                "    except InvalidOperation:\n        return text\n",
            ),
        )
    ),
)
