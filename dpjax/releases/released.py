"""Releases, which consist of private values, their mechanism and public metadata.

Any computation from a release is post-processing, and has no further privacy cost.
"""

import json
import os
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dpjax._documents import read_text, write_atomically
from dpjax._private import Unpickled, cost_in_words
from dpjax._types import Cells, Flat, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.schema import Schema
from dpjax.mechanisms import ExactMechanism, Mechanism, ParameterMechanism
from dpjax.privacy import Adjacency, Guarantee, unit_of
from dpjax.releases import file_format
from dpjax.releases.about import about_of
from dpjax.releases.entries import UnreadableRelease
from dpjax.releases.learned import Learned
from dpjax.releases.sampled import Sampled
from dpjax.releases.wide import as_number, as_values, is_wide, of_any_library
from dpjax.statistics import Statistic, TableStatistic
from dpjax.tables.projection import project


class Released(Unpickled, eqx.Module):
    """Released private values, with the mechanism that drew them and public metadata.

    Arrays may have leading axes, for stacked releases and `vmap`. Integers for which 32
    bits are too few are stored as NumPy doubles, which are exact up to 2^53;
    computations with JAX round them to its default precision.

    Args:
        values: the noisy integers, which may be negative or too large. For a
            `ParameterMechanism`, the drawn parameters in the mechanism's units, with
            one row for each sample.
        statistic: the statistic that was measured.
        mechanism: the privacy mechanism; only an `ExactMechanism` can be saved.
        n: the public number of records under replace-one; None under add-remove, where
            the number of records is private.
        hidden_states: public suggestion of the number of hidden states to fit to an
            event log; None for no suggestion.
        contributions: the most rows of a person; they are all protected together.
        about: public facts for readers, as pairs of a name and a text (see `release`).
        learned: how the network was learned from an earlier release (see `learn`); None
            for a public network.
        sampled: how the records were sampled before the release (see `release`); None
            for a release from all records. `n` is then the size of the sample.

    Privacy:
        A release contains only the mechanism's output and public metadata. It cannot be
        pickled: use `save`.
    """

    _instead: ClassVar[str] = "`save` it to a file, which `dpjax.load` checks"

    values: Flat = eqx.field(converter=of_any_library)
    statistic: Statistic = eqx.field(static=True)
    mechanism: Mechanism
    n: Scalar | None = eqx.field(converter=as_number)
    hidden_states: int | None = eqx.field(static=True, default=None)
    contributions: int = eqx.field(static=True, default=1)
    about: tuple[tuple[str, str], ...] = eqx.field(
        static=True, default=(), converter=about_of
    )
    learned: Learned | None = None
    sampled: Sampled | None = eqx.field(static=True, default=None)

    def __post_init__(self):
        self.values = as_values(self.values, self.statistic, self.n)

    def __check_init__(self):
        if self.learned is not None:
            self.learned.check(self)
        if self.sampled is not None:
            if self.learned is not None:
                raise ValueError("`sampled` must be of a network that is not learned.")
            self.sampled.check(self.mechanism.guarantee(), self.n)
        if isinstance(self.mechanism, ParameterMechanism):
            return
        if jnp.shape(self.values)[-1:] != (self.statistic.length,):
            raise ValueError(
                f"`values` must be the {self.statistic.length} numbers of the "
                f"statistic, got shape {jnp.shape(self.values)}."
            )
        made = self.mechanism
        if isinstance(made, ExactMechanism) and not made.accepts(self.statistic):
            raise ValueError(
                "`mechanism` must be one for what was measured, got "
                f"{type(self.mechanism).__name__} for another statistic."
            )

    @property
    def is_wide(self) -> bool:
        """Whether 32 bits are too few for computations with the released integers.

        This is so if a number or n is beyond 2^29, or if the sum of a table may be
        beyond 2^31.
        """
        values: Any = self.values
        is_double = isinstance(values, np.ndarray) and values.dtype == np.float64
        return is_double and is_wide(values, self.statistic, self.n)

    @property
    def network(self) -> BayesNet | None:
        """The network of the release, or None."""
        net = self.statistic.network
        if net is None and self.learned is not None:
            return self.learned.net
        return net

    @property
    def net(self) -> BayesNet:
        """The network of the release; raises `ValueError` if there is none."""
        net = self.network
        if net is None:
            raise ValueError(
                f"`released` must be for a network, got one of {self.statistic.kind}: "
                "`report`, or `dpjax report`, shows what it says."
            )
        return net

    @property
    def schema(self) -> Schema:
        """The schema of the released data, which has all variables and their levels."""
        net = self.statistic.network
        return Schema(self.statistic.variables) if net is None else net.schema

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency, "replace-one" or "add-remove", of the privacy guarantee."""
        return self.mechanism.adjacency

    def guarantee(self) -> Guarantee:
        """Return the privacy cost of the release, for a person with all its rows.

        It is the sum of the costs of `chain` for one row, converted to a group of
        `contributions` rows.
        """
        first, *rest = (one.guarantee_of_row() for one in self.chain)
        return first.composed(*rest).of_group(self.contributions)

    def guarantee_of_row(self) -> Guarantee:
        """Return the cost for one row, without the releases before it in `chain`.

        It is the mechanism's guarantee, and the cost of the draws of the network's
        edges, if the network was learned. If records were sampled, it is the lower cost
        for a row of the whole table.
        """
        if self.sampled is not None:
            return self.sampled.cost
        tables = self.mechanism.guarantee()
        if self.learned is None:
            return tables
        return tables.composed(self.learned.selection(tables))

    def counts(self) -> Cells:
        """Return the noisy counts of all tables, in the order of `statistic.layout`.

        Counts may be negative or too large. Raises `ValueError` if the release is not
        of noisy counts.
        """
        return _tables(self.values, self.n, self.counted)

    def tables(self) -> dict[str | tuple[str, ...], Array]:
        """Return a dictionary from variable name to its table of noisy counts.

        The first axes of a table are the variable's parents, and the last axis is the
        variable. For a release without a network, a table's key is the tuple of the
        names of the variables on its axes. Raises `ValueError` if the release is not of
        noisy counts.
        """
        statistic = self.counted
        layout = statistic.layout
        names = [variable.name for variable in statistic.variables]
        if statistic.network is None:
            names = [tuple(names[i] for i in group) for group in layout.groups]
        return dict(zip(names, layout.split(self.counts()), strict=True))

    @property
    def chain(self) -> "tuple[Released, ...]":
        """This release, and before it the ones from which its network was learned."""
        before = () if self.learned is None else self.learned.earlier.chain
        return *before, self

    @property
    def counted(self) -> TableStatistic:
        """The statistic of released noisy counts; other releases raise `ValueError`."""
        if isinstance(self.mechanism, ParameterMechanism) or not isinstance(
            self.statistic, TableStatistic
        ):
            raise ValueError(
                "`released` must be of noisy counts, got "
                f"{type(self.mechanism).__name__} of "
                f"{self.statistic.kind}: see `dpjax.posterior`."
            )
        return self.statistic

    @property
    def sha256(self) -> str:
        """The SHA-256 hash in the file that `save` writes.

        Raises `ValueError` if the mechanism is not exact.
        """
        return json.loads(self.to_text())["sha256"]

    def save(self, path: str | os.PathLike) -> None:
        """Write the release to a JSON file, atomically.

        The file contains a SHA-256 hash of its content, to detect damage. The hash is
        not a signature: to detect forgery, compare it with a hash from another source.

        Raises:
            ValueError: if the mechanism is not exact, or the file cannot be written.
        """
        write_atomically(path, self.to_text())

    def to_text(self) -> str:
        """Return the content of the file that `save` writes.

        Raises:
            ValueError: if the mechanism is not exact.
        """
        if not isinstance(self.mechanism, ExactMechanism):
            raise ValueError(
                "`mechanism` must be exact to be saved, got "
                f"{type(self.mechanism).__name__}, which is for studies."
            )
        return file_format.dump(self)

    @classmethod
    def from_text(cls, text: str) -> "Released":
        """Read and verify the content of a release file, with the errors of `load`."""
        return file_format.parse(text, cls)

    def __repr__(self) -> str:
        cost = cost_in_words(self)
        return (
            f"Released({self.statistic.kind} of {len(self.schema)} "
            f"variables, {self.statistic.length} integers, {cost}, {self.adjacency}, "
            f"unit: {unit_of(self.contributions)})"
        )


@partial(jax.jit, static_argnames="statistic")
def _tables(values: Array, n: Array | None, statistic: TableStatistic) -> Array:
    return statistic.tables(values, n)


def consistent(released: Released) -> Cells:
    """Project noisy counts onto consistent tables without negative cells.

    This is a least-squares projection. Any two tables of the result have the same
    marginal over their common variables. Every table sums to the public number of
    records or, if it is private, to an estimate.

    Returns:
        Real-valued counts in the order of `released.statistic.layout`, for
        `PlugInPosterior.from_counts`.

    Privacy:
        Post-processing of a release has no privacy cost. The result is still noisy.
    """
    statistic, n = released.counted, released.n
    if statistic.zeros is not None:
        released.net.refuse_impossible("`consistent`")
    if statistic.measured is None:
        return project(statistic.layout, released.counts(), n)
    return _tables(project(statistic.measured, released.values, n), n, statistic)


def load(path: str | os.PathLike) -> Released:
    """Read and verify a release file.

    Raises:
        UnreadableRelease: if the file is damaged or truncated, is not of a release, or
            has an unknown format version.
        InconsistentRelease: if an entry contradicts the other entries of the file.
    """
    try:
        text = read_text(path, "release")
    except ValueError as error:
        raise UnreadableRelease(str(error)) from None
    return Released.from_text(text)
