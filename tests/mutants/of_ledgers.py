"""Faults of ledgers: what is charged, and who else may charge at the same time."""

from tests.mutants.mutant import Mutant

_MEMORY = "privacy/ledger.py"
_FILE = "privacy/ledger_file.py"
_LINES = "privacy/ledger_lines.py"
_CHARGES = "tests/test_ledger.py::"
_NAMES = "tests/test_ledger_file.py::"
_FIRE = "tests/test_ledger_under_fire.py::"
_EXACT = _CHARGES + "test_charges_are_exact_and_never_overspend"
_FORK = _FIRE + "test_a_ledger_in_memory_is_of_one_process[fork_in_memory]"
_HELD = _FIRE + "test_a_lock_that_cannot_be_had_is_one_clear_line"
_ON_DISK = _NAMES + "test_a_charge_is_synchronised_before_it_is_told"
_SHARED = _CHARGES + "test_a_file_is_shared_and_outlives_its_ledger"
_SEEN = _NAMES + "test_who_has_seen_a_charge_notices_that_it_is_gone"
_PARTS = _CHARGES + "test_of_disjoint_parts_the_largest_counts"
_RENEWED = _CHARGES + "test_a_budget_renews_with_its_period"
_NEVER = _CHARGES + "test_a_budget_without_a_period_never_renews"
_BACK = _CHARGES + "test_the_clock_must_not_go_back"
_LOCK = "fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)"
_REFUSE = "            self._refuse(charge, book)\n            if self._file is None:\n"
_FOLDER = "held = stack.enter_context(_locked(self._folder(), os.O_RDONLY))"

MUTANTS = (
    Mutant(
        "budget not charged",
        "ledger: every charge fits the whole budget",
        _MEMORY,
        "book.budget.remaining(book.before(charge.part)).items()",
        "book.budget.numbers.items()",
        (_EXACT + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: half of it goes into the file",
        _LINES,
        "line = _line(book, chain, _entry(book, charge))",
        "entry = _entry(book, charge)\n"
        '    entry["cost"]["epsilon"] = str(charge.cost.bound / 2)\n'
        "    line = _line(book, chain, entry)",
        (_SHARED,),
    ),
    Mutant(
        "wrong adjacency",
        "ledger: a charge for the other one is taken",
        _MEMORY,
        "if cost.adjacency != self.adjacency:",
        "if cost.adjacency != self.adjacency and False:",
        (_CHARGES + "test_one_adjacency_a_ledger[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: a charge is not asked whether it fits",
        _MEMORY,
        _REFUSE,
        "            if self._file is None:\n",
        (_EXACT + "[memory]",),
    ),
    Mutant(
        "ledger shared",
        "ledger: a fork has a copy of one in memory",
        _MEMORY,
        "return self._file is None and os.getpid() != self._process",
        "return False",
        (_FORK,),
    ),
    Mutant(
        "ledger shared",
        "ledger: a fork waits for a thread that it does not have",
        _MEMORY,
        "if self._forked():  # known",
        "if not self._lock.acquire() or self._lock.release() or self._forked():  #",
        (_FORK,),
    ),
    Mutant(
        "ledger shared",
        "ledger: in memory without a lock between threads",
        _MEMORY,
        "            with self._lock:\n                yield self._book.on(_today())\n",
        "            yield self._book.on(_today())\n",
        (_CHARGES + "test_a_charge_in_memory_is_alone_from_reading_to_writing",),
    ),
    Mutant(
        "ledger shared",
        "ledger: its file without a lock",
        _FILE,
        f"        {_LOCK}\n",
        "",
        (_HELD,),
    ),
    Mutant(
        "ledger shared",
        "ledger: the lock of its file is shared",
        _FILE,
        _LOCK,
        _LOCK.replace("LOCK_EX", "LOCK_SH"),
        (_HELD,),
    ),
    Mutant(
        "ledger shared",
        "ledger: a fork keeps the lock of its parent",
        _FILE,
        "        fcntl.flock(held, fcntl.LOCK_UN)",
        "        pass",
        (_FIRE + "test_a_fork_in_the_middle_of_a_charge_keeps_no_lock",),
    ),
    Mutant(
        "ledger shared",
        "ledger: the first charge imports a codec",
        "_documents.py",
        'codecs.getencoder("utf-16-be")',
        "lambda key: key.encode(codecs.lookup('utf-16-be').name)",
        (_FIRE + "test_charges_import_nothing",),
    ),
    Mutant(
        "ledger shared",
        "ledger: a file that was replaced before its lock",
        _FILE,
        "if os.path.samestat(os.fstat(held), os.stat(path)):",
        "if held:",
        (_NAMES + "test_a_file_that_is_replaced_before_it_is_locked_is_not_charged",),
    ),
    Mutant(
        "ledger shared",
        "ledger: two make its file",
        _FILE,
        _FOLDER,
        "held = os.open(self._folder(), os.O_RDONLY)",
        (_NAMES + "test_only_one_makes_a_file",),
    ),
    Mutant(
        "ledger shared",
        "ledger: a file with several names",
        _FILE,
        "if status.st_nlink > 1:",
        "if status.st_nlink > 1 and False:",
        (_CHARGES + "test_all_names_of_a_file_are_one_ledger",),
    ),
    Mutant(
        "ledger shared",
        "ledger: a copy of its file",
        _FILE,
        "if book.inode not in (None, status.st_ino):",
        "if False:",
        (_NAMES + "test_a_copy_is_refused_and_says_what_is_left",),
    ),
    Mutant(
        "budget not charged",
        "ledger: an edited file",
        _LINES,
        "        if book.chain is not None:\n            if line !=",
        "        if book.chain is not None:\n            if False and line !=",
        (_NAMES + "test_every_byte_of_a_file_counts",),
    ),
    Mutant(
        "budget not charged",
        "ledger: a file that lost charges",
        _FILE,
        "if seen and not text.startswith(seen.text):",
        "if False:",
        (_SEEN,),
    ),
    Mutant(
        "budget not charged",
        "ledger: a charge that is not on the disk",
        _FILE,
        "os.fsync(book.held)\n        except OSError as error:\n            with",
        "pass\n        except OSError as error:\n            with",
        (_ON_DISK,),
    ),
    Mutant(
        "budget not charged",
        "ledger: a first charge whose file has no name on the disk",
        _FILE,
        "os.fsync(book.held)  # the folder",
        "pass  # the folder",
        (_ON_DISK,),
    ),
    Mutant(
        "budget not charged",
        "ledger: half a file is left of one that is killed",
        _FILE,
        "with whole_file(self.path) as file:",
        'with open(self.path, "xb") as file:',
        (
            _FIRE
            + "test_whoever_is_killed_while_making_a_ledger_leaves_all_of_it_or_none",
        ),
    ),
    Mutant(
        "budget not charged",
        "ledger: half a line is left on a full disk",
        _FILE,
        "os.ftruncate(book.held, len(book.text))",
        "pass",
        (_FIRE + "test_a_charge_that_does_not_fit_on_the_disk_is_none",),
    ),
    Mutant(
        "budget not charged",
        "ledger: half of a charge is kept in memory",
        _MEMORY,
        "self._book = book.plus(charge)",
        "half = type(cost)(cost.bound / 2, cost.adjacency)\n"
        "                self._book = book.plus(charge._replace(cost=half))",
        (_EXACT + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: the first charge alone goes into the file",
        _MEMORY,
        "                self._file.append(book, charge)",
        "                if not book.spent.bound:\n"
        "                    self._file.append(book, charge)",
        (_EXACT + "[file]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: its file has another budget",
        _MEMORY,
        "                self._agree(book)\n",
        "",
        (_CHARGES + "test_a_file_keeps_its_budget_and_adjacency",),
    ),
    Mutant(
        "budget not charged",
        "ledger: nothing of what was spent is told",
        _FILE,
        "yield book._replace(held=held)",
        "yield book._replace(held=held, shared=book.spent.nothing())",
        (_EXACT + "[file]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: a file is read once",
        _FILE,
        "self._seen = book = self._read(held, self._seen)",
        "self._seen = book = self._seen if self._seen and self._seen.text else (\n"
        "                    self._read(held, self._seen)\n                )",
        (_SHARED,),
    ),
    Mutant(
        "budget not charged",
        "ledger: every charge makes the file anew",
        _FILE,
        "write = self._extend if book.text else self._create",
        "write = self._create",
        (_ON_DISK,),
    ),
    Mutant(
        "budget not charged",
        "ledger: what was written is not remembered",
        _FILE,
        "self._seen = write(book, charge)",
        "write(book, charge)",
        (_SEEN,),
    ),
    Mutant(
        "budget not charged",
        "ledger: a later charge is of half its ε",
        _FILE,
        "charged = with_charge(book, charge, book.inode or 0)",
        "cost = charge.cost\n"
        "        half = type(cost)(cost.bound / 2, cost.adjacency)\n"
        "        halved = charge._replace(cost=half)\n"
        "        charged = with_charge(book, halved, book.inode or 0)",
        (_EXACT + "[file]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: a file that has gone is started again",
        _FILE,
        "return new and not self.path.exists()",
        "return not self.path.exists()",
        (_CHARGES + "test_a_file_that_has_gone_is_not_started_again",),
    ),
    Mutant(
        "budget not charged",
        "ledger: what others charged is not read",
        _FILE,
        "book = read_on(seen, text)",
        "book = read_on(seen, (seen and seen.text) or text)",
        (_SHARED,),
    ),
    Mutant(
        "ledger shared",
        "ledger: who does not get the lock goes on without",
        _FILE,
        "while (held := _attempt(path, flags)) is None:",
        "while (held := _attempt(path, flags) or os.open(path, flags)) is None:",
        (_HELD,),
    ),
    Mutant(
        "budget not charged",
        "ledger: another budget than that of its file",
        _MEMORY,
        "given = self._book and self._book.budget",
        "given = None",
        (_CHARGES + "test_whoever_starts_a_file_sets_its_budget",),
    ),
    Mutant(
        "budget not charged",
        "ledger: every charge is taken for nothing",
        _MEMORY,
        'of(cost, "cost").numbers',
        'of(cost, "cost").nothing().numbers',
        (_EXACT + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: whatever was read, a new one",
        _FILE,
        "new = self._seen is not None and not self._seen.text",
        "new = self._seen is not None",
        (_CHARGES + "test_a_file_that_has_gone_is_not_started_again",),
    ),
    Mutant(
        "budget not charged",
        "ledger: all of it is spent from the start",
        _LINES,
        "return cls(budget, budget.nothing(), period=period)",
        "return cls(budget, budget, period=period)",
        (_CHARGES + "test_a_file_is_made_by_the_first_charge_and_not_by_a_refusal",),
    ),
    Mutant(
        "budget not charged",
        "ledger: charges do not add up",
        _LINES,
        "return book._replace(shared=book.shared.composed(cost))",
        "return book._replace(shared=cost)",
        (_EXACT + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: charges to one part are not added up",
        _LINES,
        "own = book.parts.get(charge.part, nothing).composed(cost)",
        "own = cost.composed(nothing)",
        (_PARTS + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: charges to parts leave the whole as it is",
        _LINES,
        "return self.shared.composed(most)",
        "return self.shared",
        (_PARTS + "[file]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: a part is not asked for charges to the whole",
        _LINES,
        "return self.shared.composed(self.parts.get(part, self.budget.nothing()))",
        "return self.parts.get(part, self.budget.nothing())",
        (_PARTS + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: the least of the parts counts",
        "privacy/guarantee.py",
        "{x: max(y[x] for y in numbers) for x in self.numbers}",
        "{x: min(y[x] for y in numbers) for x in self.numbers}",
        (_PARTS + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: a budget renews every day",
        _LINES,
        "end = PERIODS[self.period]",
        'end = PERIODS["day"]',
        (_RENEWED + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: the clock may go back",
        _LINES,
        "if book.period is not None and date < book.date:",
        "if False:",
        (_BACK + "[file]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: the file's period may be another",
        _MEMORY,
        "if self.period not in (None, book.period):",
        "if False:",
        (_CHARGES + "test_the_period_of_a_file_stays",),
    ),
    Mutant(
        "budget not charged",
        "ledger: the whole is not asked for charges to parts",
        _LINES,
        "        if part is None:\n            return self.spent",
        "        if False:\n            return self.spent",
        (_PARTS + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: a budget renews within its period",
        _LINES,
        "if date[:end] <= self.date[:end]:",
        "if date[:end] < self.date[:end]:",
        (_RENEWED + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: dates of the state stay as they were",
        _LINES,
        "if self.period is not None:\n"
        "            book = book._replace(date=charge.date)",
        "if False:\n            book = book._replace(date=charge.date)",
        (_RENEWED + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: charges to parts are to the whole of them",
        _LINES,
        "if charge.part is None:\n            return book._replace(",
        "if True:\n            return book._replace(",
        (_PARTS + "[memory]",),
    ),
    Mutant(
        "budget not charged",
        "ledger: a part needs no name",
        _LINES,
        "if part is not None and (not isinstance(part, str) or not part):",
        "if False:",
        (_CHARGES + "test_a_part_has_a_name",),
    ),
)
