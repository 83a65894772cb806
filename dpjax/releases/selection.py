"""The rows of a table that a release uses: all, some of each person, or a sample."""

from collections.abc import Collection

from dpjax._types import Records
from dpjax.data.encoding import encode_batches
from dpjax.data.grouping import Grouped
from dpjax.data.impossible import checked
from dpjax.data.multiplicities import Multiplicities
from dpjax.data.persons import check_id, kept_rows
from dpjax.data.sources import Table
from dpjax.privacy import REPLACE_ONE, Adjacency
from dpjax.releases.sampled import Sampled
from dpjax.statistics import Statistic
from dpjax.statistics.base import Columns


def check_columns(
    variables: Columns,
    adjacency: Adjacency,
    id: str | None,
    multiplicity: str | None,
    weights: str | None,
) -> None:
    """Raise `ValueError` if two columns are given, or one that is not allowed."""
    given = {"id": id, "multiplicity": multiplicity, "weights": weights}
    names = [name for name, column in given.items() if column is not None]
    if len(names) > 1:
        raise ValueError(f"`{names[0]}` must come without `{names[1]}`.")
    if id is not None:
        check_id(id, variables, adjacency)
    if multiplicity is not None:
        Multiplicities(multiplicity, variables)
    if weights is not None:
        Multiplicities(weights, variables, argument="weights")
        if adjacency == REPLACE_ONE:
            raise ValueError(
                "`weights` must be left out under 'replace-one', where the sum of the "
                "weights would be public: use 'add-remove'."
            )


def refuse_sample(table: object, *others: object) -> None:
    """Raise `ValueError` if records cannot be sampled one by one."""
    if isinstance(table, Grouped) or any(other is not None for other in others):
        raise ValueError(
            "`sample_rate` must come with a table of records alone: without `id`, "
            "`multiplicity`, `weights` and `mesh`, and not `Grouped`."
        )


def some_rows(
    table: Records | Table,
    statistic: Statistic,
    ignore: str | Collection[str],
    id: str | None,
    k: int,
    sampled: Sampled | None,
) -> tuple[Table, Sampled | None]:
    """Return at most k rows of each person, or a sample of the rows, encoded.

    They are one batch, so that no program has their number as a shape.
    """
    variables, net = statistic.variables, statistic.network
    impossible = () if net is None else net.schema.impossible
    if sampled is None:
        kept = kept_rows(
            table, variables, str(id), k, ignore=ignore, impossible=impossible
        )
    else:
        names = [variable.name for variable in variables]
        batches = encode_batches(table, variables, ignore=ignore)
        kept, sampled = sampled.draw(checked(batches, impossible, names))
    return [kept], sampled
