"""A release: values, mechanism and public metadata.

Everything computed from a release is post-processing, and costs nothing more.
"""

__all__ = ["Released", "consistent", "load"]

import os
from functools import partial
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from dpjax._documents import read_text, write_atomically
from dpjax._private import Unpickled
from dpjax._types import Cells, Flat, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.schema import Schema
from dpjax.mechanisms import ExactMechanism, Mechanism, ParameterMechanism
from dpjax.privacy import Adjacency, Guarantee
from dpjax.releases import file_format
from dpjax.statistics import Statistic, TableStatistic
from dpjax.tables.projection import project


class Released(Unpickled, eqx.Module):
    """One release of a statistic.

    Arrays may carry leading axes, so that releases stack and `vmap`.

    Args:
        values: the raw noisy integers, unclamped; of a `ParameterMechanism`, the drawn
            parameters in its units, samples on the first axis.
        statistic: what was measured.
        mechanism: how it was made private; only an exact one can be saved.
        n: the public number of records under replace-one; None under add-remove, where
            it is private.
        hidden_states: of an event log, a public suggestion of their number; any other
            number may be fitted. None: no suggestion.

    Privacy:
        It holds only the mechanism's output and public facts. Not to be pickled: `save`
        it.
    """

    _instead: ClassVar[str] = "`save` it to a file, which `dpjax.load` checks"

    values: Flat
    statistic: Statistic = eqx.field(static=True)
    mechanism: Mechanism
    n: Scalar | None
    hidden_states: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
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
                f"{type(self.mechanism).__name__} for other tables."
            )

    @property
    def net(self) -> BayesNet:
        """The network of the release; `ValueError` if it is of something else."""
        net = self.statistic.network
        if net is None:
            raise ValueError(
                f"`released` must be for a network, got one of {self.statistic.kind}."
            )
        return net

    @property
    def schema(self) -> Schema:
        """The variables and their levels."""
        return Schema(self.statistic.variables)

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""
        return self.mechanism.adjacency

    def guarantee(self) -> Guarantee:
        """What the release cost."""
        return self.mechanism.guarantee()

    def counts(self) -> Cells:
        """Noisy counts of every table, unclamped, laid out as `statistic.layout`."""
        return _tables(self.values, self.n, self.counted)

    def tables(self) -> dict[str | tuple[str, ...], Array]:
        """Noisy counts by variable, its parents on the first axes.

        Without a network, they are by the names of the variables on the axes. Raises
        `ValueError` if the release is not of noisy counts.
        """
        statistic = self.counted
        layout = statistic.layout
        names = [variable.name for variable in statistic.variables]
        if statistic.network is None:
            names = [tuple(names[i] for i in group) for group in layout.groups]
        return dict(zip(names, layout.split(self.counts()), strict=True))

    @property
    def counted(self) -> TableStatistic:
        """The statistic; `ValueError` unless noisy counts of it were released."""
        if isinstance(self.mechanism, ParameterMechanism) or not isinstance(
            self.statistic, TableStatistic
        ):
            raise ValueError(
                "`released` must be of noisy counts, got "
                f"{type(self.mechanism).__name__} of "
                f"{self.statistic.kind}: see `dpjax.posterior`."
            )
        return self.statistic

    def save(self, path: str | os.PathLike) -> None:
        """Write the release to a JSON file, whole or not at all.

        The file holds a SHA-256 of its content, against accidents. It is no signature:
        to rule out forgery, compare the hash over another channel.

        Raises:
            ValueError: if the noise is not exact, but of a study, or the file cannot
                be written.
        """
        if not isinstance(self.mechanism, ExactMechanism):
            raise ValueError(
                "`mechanism` must be exact to be saved, got "
                f"{type(self.mechanism).__name__}, which is for studies."
            )
        n = None if self.n is None else int(self.n)
        made = self.values, self.statistic, self.mechanism, n, self.hidden_states
        write_atomically(path, file_format.dump(made))

    def __repr__(self) -> str:
        try:
            cost = str(self.guarantee()).replace(" = ", "=")
        except (ValueError, jax.errors.TracerArrayConversionError):
            cost = "stacked or traced"
        return (
            f"Released({self.statistic.kind} of {len(self.schema)} "
            f"variables, {self.statistic.length} integers, {cost}, {self.adjacency})"
        )


@partial(jax.jit, static_argnames="statistic")
def _tables(values: Array, n: Array | None, statistic: TableStatistic) -> Array:
    return statistic.tables(values, n)


def consistent(released: Released) -> Cells:
    """Project a release onto tables that agree and have no negative cell.

    It is a least-squares projection: any two tables have the same marginal over the
    variables that they share. Where n is public all of them sum to it, else the total
    is estimated too.

    Returns:
        Real counts, laid out as `released.statistic.layout`, for
        `PlugInPosterior.from_counts`.

    Privacy:
        Post-processing: costs nothing. A consistent and non-negative table is not
        exact: it still has the noise of the release.
    """
    statistic, n = released.counted, released.n
    if statistic.measured is None:
        return project(statistic.layout, released.counts(), n)
    return _tables(project(statistic.measured, released.values, n), n, statistic)


def load(path: str | os.PathLike) -> Released:
    """Read a release file, deriving again everything that it states.

    Raises:
        UnreadableRelease: if the file is damaged, truncated, not a release, or newer.
        InconsistentRelease: if what it states is not what is derived, or was altered.
    """
    try:
        text = read_text(path, "release")
    except ValueError as error:
        raise file_format.UnreadableRelease(str(error)) from None
    values, statistic, mechanism, n, states = file_format.parse(text)
    return Released(jnp.asarray(values), statistic, mechanism, n, states)
