"""Faults of contrasts, and of the stars, groups and budgets of K-norm noise."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import fault

_BLOCKS = "statistics/blocks.py"
_STATISTIC = "statistics/block_statistic.py"
_GROUPS = "mechanisms/norm_groups.py"
_NOISE = "mechanisms/norm_mechanism.py"
_MECHANISM = "mechanisms/k_norm.py"
_IN = "tests/test_k_norm.py::"
_ONE = _IN + "test_one_record_changes_each_group_by_norm_one_at_most"
_LOSS = _IN + "test_the_loss_is_epsilon_and_not_much_less"
_DRAWS = _IN + "test_the_noise_of_a_release_is_that_of_all_groups"
_TABLES = _IN + "test_tables_are_those_of_the_records"
_REFUSED = _IN + "test_blocks_must_determine_the_tables"

_MARGINALS = "statistics/marginal_contrasts.py"
_OF_MARGINALS = "tests/test_marginal_contrasts.py::"
_FAULTS = (
    (
        "law changed",
        "marginals: a file may have blocks of any margin",
        _MARGINALS,
        "        check_blocks(self.blocks, ())\n",
        "",
        _OF_MARGINALS + "test_files_with_other_blocks_are_refused",
    ),
    (
        "law changed",
        "marginals: tables of one variable less",
        _MARGINALS,
        "itertools.combinations(range(number), order)",
        "itertools.combinations(range(number), max(1, order - 1))",
        _OF_MARGINALS + "test_the_tables_are_all_of_an_order_or_those_that_are_named",
    ),
    (
        "bound loosened",
        "marginals: noise on impossible combinations",
        _MARGINALS,
        "    if schema.impossible:\n",
        "    if not schema:\n",
        _OF_MARGINALS + "test_the_command_line_refuses_schemas_that_do_not_fit",
    ),
    (
        "law changed",
        "differences without the last but one cell",
        _STATISTIC,
        "found.append((rows, cells, cells - (not self.is_whole(place))))",
        "found.append((rows, cells, cells - 1))",
        _TABLES,
    ),
    (
        "wrong adjacency",
        "the first block is whole where n is public too",
        _STATISTIC,
        "return self.adjacency != REPLACE_ONE and place == 0",
        "return place == 0",
        _ONE,
    ),
    (
        "wrong adjacency",
        "blocks without a margin are counts where n is private",
        _STATISTIC,
        "public = self.adjacency == REPLACE_ONE and not self.blocks[place].given",
        "public = not self.blocks[place].given",
        _TABLES,
    ),
    (
        "law changed",
        "whole tables are taken for differences",
        _STATISTIC,
        "return public or self.is_whole(place)",
        "return public",
        _ONE,
    ),
    (
        "sensitivity halved",
        "counts on the host where differences are meant",
        _STATISTIC,
        "return padded[plus] - padded[minus]",
        "return padded[plus]",
        _TABLES,
    ),
    (
        "sensitivity halved",
        "counts where differences are meant",
        _STATISTIC,
        "return take(padded, plus) - take(padded, minus)",
        "return take(padded, plus)",
        _TABLES,
    ),
    (
        "bound loosened",
        "any margin is known",
        _BLOCKS,
        "known = not given or any(given <= other for other in measured)",
        "known = True",
        _REFUSED,
    ),
    (
        "bound loosened",
        "a table may be measured twice",
        _BLOCKS,
        "new = block.rest and not any(group <= other for other in measured)",
        "new = block.rest",
        _REFUSED,
    ),
    (
        "sensitivity halved",
        "a table without margins has the norm of cells",
        _GROUPS,
        "return Cells(places) if statistic.is_whole(place) else Simplex(places)",
        "return Cells(places)",
        _ONE,
    ),
    (
        "sensitivity halved",
        "a table without margins is taken for one row",
        _GROUPS,
        "if statistic.is_counts(place):\n            places",
        "if False:\n            places",
        _ONE,
    ),
    (
        "sensitivity halved",
        "counts have half steps too",
        _GROUPS,
        "counts = self.statistic.is_counts(self.places[0])",
        "counts = False",
        _ONE,
    ),
    (
        "sensitivity halved",
        "stars after the first have no noise",
        _GROUPS,
        "made = [Star(statistic, tuple(places)) for places in stars]",
        "made = [Star(statistic, tuple(places)) for places in stars[:1]]",
        _DRAWS,
    ),
    (
        "ε doubled",
        "each group has all of the budget",
        _MECHANISM,
        "each = tuple(cost.epsilon * share for share in",
        "each = tuple(cost.epsilon for share in",
        _LOSS,
    ),
    (
        "ε doubled",
        "budgets of groups are twice what is charged",
        _MECHANISM,
        "return tuple(NormLaw(*balls(self.statistic, x), e) for x, e in pairs)",
        "return tuple(NormLaw(*balls(self.statistic, x), 2 * e) for x, e in pairs)",
        _LOSS,
    ),
    (
        "ε doubled",
        "the largest budget of a group is charged",
        _MECHANISM,
        "return PureDP(sum(self.epsilons, Fraction(0)), self.adjacency)",
        "return PureDP(max(self.epsilons), self.adjacency)",
        _LOSS,
    ),
    (
        "sensitivity halved",
        "groups after the first have no noise",
        _NOISE,
        "for law in self.laws:\n            for place, value",
        "for law in self.laws[:1]:\n            for place, value",
        _DRAWS,
    ),
    (
        "law changed",
        "noise is not below 0",
        _NOISE,
        "noise[place] = value",
        "noise[place] = abs(value)",
        _DRAWS,
    ),
    (
        "law changed",
        "noise starts at 1",
        _NOISE,
        "noise = np.zeros(self.statistic.length, np.int64)",
        "noise = np.ones(self.statistic.length, np.int64)",
        _DRAWS,
    ),
)

MUTANTS = tuple(fault(kind, f"K-norm: {what}", *edit) for kind, what, *edit in _FAULTS)
