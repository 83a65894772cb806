"""Publicly declared combinations of levels that no record can have."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool

from dpjax.data.categorical import Categorical
from dpjax.data.intervals import Interval
from dpjax.data.matching import is_level
from dpjax.tables.layout import TableLayout

Combination = tuple[tuple[Any, tuple[int, ...]], ...]
"""Pairs of a variable, by name or index, and the indices of some of its levels."""

_FORM = (
    '`impossible` must be a list of mappings such as {"sex": "male", "pregnant": "yes"}'
    ", from two or more categorical variables to a level or a list of levels, "
)


def parse(
    declared: Sequence[Mapping[str, Any]],
    variables: Mapping[str, Categorical | Interval],
) -> tuple[Combination, ...]:
    """Return the declared combinations, each with its variables in the schema's order.

    Raises:
        ValueError: if a combination is not a mapping from at least two categorical
            variables to some of their levels, but not to all.
    """
    if isinstance(declared, str | Mapping) or not isinstance(declared, Sequence):
        raise ValueError(_FORM + f"got {type(declared).__name__}.")
    order = {name: i for i, name in enumerate(variables)}
    return tuple(_combination(one, variables, order) for one in declared)


def _combination(
    one: Any, variables: Mapping[str, Any], order: Mapping[str, int]
) -> Combination:
    if not isinstance(one, Mapping) or len(one) < 2:
        raise ValueError(
            _FORM + "got another entry: to exclude one level, leave it out of the "
            "levels of its variable."
        )
    unknown = [x for x in one if not isinstance(variables.get(x), Categorical)]
    if unknown:
        raise ValueError(_FORM + f"{unknown[0]!r:.80} is no categorical variable.")
    names = sorted(one, key=order.__getitem__)
    return tuple((name, _codes(variables[name], one[name])) for name in names)


def _codes(variable: Categorical, levels: Any) -> tuple[int, ...]:
    listed = levels if isinstance(levels, list | tuple) else [levels]
    codes = {variable.match(level) for level in listed}
    if None in codes:  # `match` finds no number if a level is a literal like "0x1A"
        own = {(type(level), level): i for i, level in enumerate(variable.levels)}
        codes = {own.get((type(x), x)) if is_level(x) else None for x in listed}
    if None in codes or not 0 < len(codes) < variable.size:
        raise ValueError(
            _FORM + f"those of {variable.name!r:.80} are not some of its levels."
        )
    return tuple(sorted(code for code in codes if code is not None))


def as_declared(
    combinations: Sequence[Combination], variables: Mapping[str, Any]
) -> list[dict[str, list]]:
    """Return the declaration that `parse` reads, with lists of levels."""
    return [
        {name: [variables[name].levels[i] for i in codes] for name, codes in one}
        for one in combinations
    ]


def excluded_cells(
    combinations: Sequence[Combination], layout: TableLayout
) -> Bool[np.ndarray, " m"]:
    """Return for each cell of all tables whether it contains an impossible combination.

    A combination is contained only in tables that have all of its variables.

    Args:
        combinations: combinations with variables given by their indices in `layout`.
        layout: groups of variables.
    """
    excluded = np.zeros(layout.length, bool)
    together = _together(combinations, layout.sizes)
    for group, start in zip(layout.groups, layout.offsets, strict=False):
        shape = layout.shape(group)
        cube = excluded[start : start + int(np.prod(shape))].reshape(shape)
        for names, small in itertools.chain(*(together.get(i, ()) for i in group)):
            if {*names} <= {*group}:
                axes = np.argsort([group.index(i) for i in names])
                wide = [layout.sizes[i] if i in names else 1 for i in group]
                cube |= small.transpose(axes).reshape(wide)
    return excluded


def _together(
    combinations: Sequence[Combination], sizes: Sequence[int]
) -> dict[int, list[tuple[tuple[int, ...], Bool[np.ndarray, "..."]]]]:
    """Return the excluded cells of each set of variables, by its rarest variable.

    The rarest variable is the one that is in the fewest sets. With these keys, the work
    of `excluded_cells` is proportional to the combinations and the cells of the tables.
    """
    cubes: dict[tuple[int, ...], np.ndarray] = {}
    for one in combinations:
        names, codes = zip(*one, strict=True)
        if names not in cubes:
            cubes[names] = np.zeros([sizes[i] for i in names], bool)
        cubes[names][np.ix_(*codes)] = True
    times, found = Counter(itertools.chain(*cubes)), defaultdict(list)
    for names, cube in cubes.items():
        found[min(names, key=times.__getitem__)].append((names, cube))
    return found


def checked(
    batches: Iterator[np.ndarray],
    combinations: Sequence[Combination],
    names: Sequence[str],
    absent: str | None = None,
) -> Iterator[np.ndarray]:
    """Yield batches of encoded records, each after a check by `refuse_records`."""
    for batch in batches:
        refuse_records(batch, combinations, names, absent)
        yield batch


def refuse_records(
    records: Any,
    combinations: Sequence[Combination],
    names: Sequence[str],
    absent: str | None = None,
) -> None:
    """Raise `ValueError` if a record has an impossible combination.

    Records that are traced by JAX are not checked.

    Args:
        records: level indices.
        combinations: combinations with variables given by their names.
        names: names of the columns.
        absent: a column whose combinations are allowed, since it is not read.

    Privacy:
        Not private: whether there is an error depends on the records, so only the
        curator may see it. Its message shows no value.
    """
    if not combinations:
        return
    try:
        records = np.asarray(records)
    except jax.errors.TracerArrayConversionError:
        return
    for one in combinations:
        if absent in dict(one):
            continue
        found = [np.isin(records[:, names.index(x)], codes) for x, codes in one]
        if np.all(found, axis=0).any():
            raise refusal([name for name, _ in one])


def refuse_counts(
    counts: Any,
    combinations: Sequence[Combination],
    layout: TableLayout,
    names: Sequence[str],
) -> None:
    """Raise `ValueError` if exact counts include an impossible combination.

    Args:
        counts: the exact count of each cell of all tables.
        combinations, layout: as in `excluded_cells`.
        names: names of the variables of `layout`.

    Privacy:
        Not private: as for `refuse_records`.
    """
    counts = np.asarray(counts)
    if not combinations or not counts[excluded_cells(combinations, layout)].any():
        return
    for one in combinations:
        if counts[excluded_cells([one], layout)].any():
            raise refusal([str(names[i]) for i, _ in one])


def refuse_undecided(probabilities: Any, target: str) -> None:
    """Raise `ValueError` if every level of the target is impossible for some record.

    Args:
        probabilities: probability of each level of the target, for each record. They
            are NaN for a record for which every level is impossible.
        target: name of the target.

    Privacy:
        Not private: as for `refuse_records`.
    """
    try:
        undecided = np.isnan(np.asarray(probabilities)).any()
    except jax.errors.TracerArrayConversionError:
        return
    if undecided:
        raise ValueError(
            "`table` must leave a level for the target in each record, but for some "
            f"records every level of {target!r:.80} is declared impossible: correct "
            "these records, or the declaration."
        )


def refusal(names: Sequence[str]) -> ValueError:
    """Return the error for records with an impossible combination of variables."""
    return ValueError(
        "`table` must have no record with a combination that is declared impossible, "
        f"it has some in {', '.join(names):.200}: correct them, or the declaration."
    )
