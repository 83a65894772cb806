"""Faults of what hostile files meet: limits that are left out."""

from tests.mutants.mutant import Mutant

_HERE = "tests/test_hostile.py::"
_ABOVE = f"{_HERE}test_what_is_above_a_stated_limit_is_refused_at_once"
_BOUND = f"{_HERE}test_a_sensitivity_that_would_take_long_is_a_bound"
_ORDER = f"{_HERE}test_an_order_is_refused_before_its_tables_are_listed"
_TEXT = f"{_HERE}test_texts_have_a_largest_size"
_CHANGES = "statistics/fourier_sensitivity.py"


def _left_out(what: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    return Mutant("limit weakened", what, file, old, new, tests)


MUTANTS = (
    _left_out(
        "tables: any number of cells",
        "tables/layout.py",
        "if self.length > MOST_CELLS:",
        "if False:",
        f"{_HERE}test_a_family_of_very_many_is_refused_without_a_product_of_all",
    ),
    _left_out(
        "tables: a product of any length",
        "tables/layout.py",
        "            if cells > MOST_CELLS:\n                break\n",
        "",
        f"{_HERE}test_a_family_of_very_many_is_refused_without_a_product_of_all",
    ),
    _left_out(
        "Fourier: tables of any order",
        _CHANGES,
        "not cells or elementary(sizes, order)[order] > MOST_CELLS",
        "False",
        f"{_ORDER}[30000-29999]",
    ),
    _left_out(
        "Fourier: cells of any order",
        _CHANGES,
        "not cells or elementary(sizes, order)[order] > MOST_CELLS",
        "not cells",
        f"{_HERE}test_an_order_has_no_more_cells_than_a_network",
    ),
    _left_out(
        "Fourier: an order of any size",
        _CHANGES,
        "order < 29 and math",
        "math",
        f"{_ORDER}[30000-29999]",
    ),
    _left_out(
        "Fourier: a factor of any size",
        _CHANGES,
        "_terms(sizes, group) > _MOST_TERMS for",
        "False for",
        f"{_BOUND}[_MOST_TERMS]",
    ),
    _left_out(
        "Fourier: a scope of any size",
        _CHANGES,
        "if states > _MOST_STATES or left < 0:",
        "if left < 0:",
        f"{_BOUND}[_MOST_STATES]",
    ),
    _left_out(
        "Fourier: eliminations of any length",
        _CHANGES,
        "if states > _MOST_STATES or left < 0:",
        "if states > _MOST_STATES:",
        f"{_HERE}test_an_elimination_ends_where_it_would_take_long",
    ),
    _left_out(
        "Fourier: any number of cases",
        _CHANGES,
        "if cases * len(sizes) > _MOST_COMPOSITIONS:",
        "if False:",
        f"{_BOUND}[_MOST_COMPOSITIONS]",
    ),
    _left_out(
        "release files: any number of values",
        "releases/file_format.py",
        "    refuse_missing(values, statistic, maker)\n",
        "",
        f"{_HERE}test_values_are_counted_before_anything_is_derived_from_them",
    ),
    _left_out(
        "map-cells: any number of cells",
        "mechanisms/cell_grid.py",
        "if log_size > math.log2(_MOST_CELLS):",
        "if False:",
        f"{_ABOVE}[cells]",
    ),
    _left_out(
        "map-cells: a prior on any number of points",
        "mechanisms/cell_grid.py",
        "if self.prior != 1 and most > _MOST_WEIGHED:",
        "if False:",
        f"{_HERE}test_rows_of_cells_with_a_prior_have_fewer_points",
    ),
    _left_out(
        "samples of tables: any number of units",
        "noise/simplex_grid.py",
        "if self.units > _MOST_UNITS:",
        "if False:",
        f"{_ABOVE}[units]",
    ),
    _left_out(
        "samples of families: any number of points",
        "mechanisms/parameter_grid.py",
        "if not 1 < math.prod(sizes) <= MOST_POINTS:",
        "if False:",
        f"{_ABOVE}[points]",
    ),
    _left_out(
        "splits: a common denominator of any length",
        "mechanisms/split_laplace.py",
        "if common >> _LONGEST_DENOMINATOR:",
        "if False:",
        f"{_HERE}test_budgets_of_a_split_have_a_common_denominator_of_sensible_length",
    ),
    _left_out(
        "ε: a text of any length",
        "privacy/rounding.py",
        "if len(text) > _LONGEST_TEXT:",
        "if False:",
        f"{_ABOVE}[epsilon]",
    ),
    _left_out(
        "ε: a fraction of any length",
        "privacy/rounding.py",
        "if not fits or len(str(fraction)) > _LONGEST_TEXT:",
        "if not fits:",
        f"{_ABOVE}[fractions]",
    ),
    _left_out(
        "JSON: numbers of any length",
        "_documents.py",
        "if len(digits) > _LONGEST_NUMBER or not",
        "if not",
        f"{_ABOVE}[digits]",
    ),
    _left_out(
        "texts of any size",
        "_documents.py",
        "most = _LARGEST_TEXT if plain",
        "most = _LARGEST_TEXT << 10 if plain",
        f"{_TEXT}[plain.json]",
    ),
    _left_out(
        "compressed texts of any size",
        "_documents.py",
        "else _LARGEST_UNSTATED",
        "else _LARGEST_UNSTATED << 10",
        f"{_TEXT}[packed.json.gz]",
    ),
)
