"""Structure of a Bayesian network: public, hashable, and static under `jit`."""

import graphlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool

from dpjax._checks import of_type
from dpjax._documents import parse_json, read_text
from dpjax.data.bif import parse_bif
from dpjax.data.categorical import Categorical
from dpjax.data.impossible import Combination, as_declared, excluded_cells
from dpjax.data.intervals import Interval
from dpjax.data.kinds import declared
from dpjax.data.schema import Schema
from dpjax.tables.layout import TableLayout

Levels = Mapping[str, Any]
"""A `Schema`, or a mapping from names to variables or their declarations."""


@dataclass(frozen=True)
class BayesNet:
    """A directed acyclic graph over categorical variables.

    Args:
        variables: variables with different names, in the order of the records' columns.
        parents: for each variable, the indices of its parents in `variables`.
        impossible: combinations of levels that no record can have (see `Schema`), each
            of pairs of the index of a variable and the indices of some of its levels.

    Raises:
        ValueError: if the arguments differ in length, a name or parent is repeated, the
            graph has a cycle, which the message names, or the network cannot give an
            impossible combination the probability 0.
    """

    variables: tuple[Categorical, ...]
    parents: tuple[tuple[int, ...], ...]
    impossible: tuple[Combination, ...] = ()

    def __post_init__(self):
        if not self.variables or len(self.variables) != len(self.parents):
            raise ValueError(
                "`parents` must have one entry per variable and there must be one, got "
                f"{len(self.parents)} for {len(self.variables)} variables."
            )
        if len(set(self.names)) < len(self.names):
            raise ValueError("`variables` must have different names.")
        for name, group in zip(self.names, self.parents, strict=True):
            if len(set(group)) < len(group):
                raise ValueError(f"`parents` of {name!r:.80} must all differ.")
        try:
            graphlib.TopologicalSorter(dict(enumerate(self.parents))).prepare()
        except graphlib.CycleError as error:
            cycle = " -> ".join(repr(self.names[i])[1:-1] for i in error.args[1])
            raise ValueError(f"`parents` must be acyclic, got {cycle:.200}.") from None
        if self.impossible:
            self._check_impossible()

    def _check_impossible(self) -> None:
        places = {variable: place for place, variable in enumerate(self.order)}
        for one in self.impossible:
            *rest, last = sorted((i for i, _ in one), key=places.__getitem__)
            missing = {*rest} - {*self.parents[last]}
            if missing:
                raise ValueError(
                    "`parents` must connect the variables of an impossible "
                    f"combination: make {self.names[min(missing)]!r:.80} a parent of "
                    f"{self.names[last]!r:.80}."
                )
        rows = TableLayout(self.sizes, self.parents)
        alone = self._whole & ~excluded_cells(self.impossible, rows)
        if alone.any():
            place = np.searchsorted(rows.offsets, alone.argmax(), "right") - 1
            raise ValueError(
                f"`impossible` must leave {self.names[place]!r:.80} a level for each "
                "combination of its parents, or declare that one impossible too."
            )

    @cached_property
    def _excluded(self) -> Bool[np.ndarray, " c"]:
        """Which cells of `layout` have an impossible combination."""
        return excluded_cells(self.impossible, self.layout)

    @property
    def _whole(self) -> Bool[np.ndarray, " r"]:
        """Which rows of `layout` have an impossible combination in every cell."""
        rows = self.layout.rows
        return np.bincount(rows, self._excluded) == np.bincount(rows)

    @cached_property
    def zeros(self) -> Bool[np.ndarray, " c"]:
        """Which cells of `layout` have probability 0, given the variable's parents.

        A row whose parents have an impossible combination is left as it is, since
        its probabilities are never used.
        """
        return self._excluded & ~self._whole[self.layout.rows]

    def refuse_impossible(self, where: str) -> None:
        """Raise `ValueError` if a network has impossible combinations."""
        if self.impossible:
            raise ValueError(
                f"`net` must have no impossible combinations for {where}: make it from "
                'a schema without them, or use `release` with "laplace" and '
                '`posterior` with "plug-in".'
            )

    @cached_property
    def schema(self) -> Schema:
        """The schema of the records, with the impossible combinations."""
        named = [tuple((self.names[i], x) for i, x in one) for one in self.impossible]
        by_name = {variable.name: variable for variable in self.variables}
        return Schema(self.variables, impossible=as_declared(named, by_name))

    @classmethod
    def from_parents(
        cls, levels: Levels, parents: Mapping[str, Sequence[str]]
    ) -> "BayesNet":
        """Make the network of all variables in `parents`, in the order of `levels`.

        Args:
            levels: a `Schema`, or a mapping from each variable's name to its levels.
                The network has the schema's impossible combinations of its variables.
            parents: a mapping from each variable's name to the names of its parents; a
                variable that occurs only as a parent has no parents.

        Raises:
            ValueError: if `levels` lacks a variable, or declares it as numeric, or the
                parents of a variable are text and not a list.
        """
        mentioned = set(mentioned_in(parents, levels))
        unknown = mentioned - set(levels)
        if unknown:
            raise ValueError(
                "`network` must use only variables of the schema, got "
                f"{min(unknown)!r:.80}."
            )
        names = [name for name in levels if name in mentioned]
        index = {name: i for i, name in enumerate(names)}
        declared = levels.impossible if isinstance(levels, Schema) else ()
        return cls(
            tuple(_as_variable(name, levels[name]) for name in names),
            tuple(tuple(index[p] for p in parents.get(name, ())) for name in names),
            tuple(
                tuple((index[name], codes) for name, codes in one)
                for one in declared
                if all(name in index for name, _ in one)
            ),
        )

    @classmethod
    def naive_bayes(cls, levels: Levels, target: str) -> "BayesNet":
        """Make the network with `target` as the only parent of all other variables."""
        if not isinstance(target, str) or target not in levels:
            raise ValueError(
                f"`target` must be a variable of the schema, got {target!r:.80}."
            )
        return cls.from_parents(
            levels, {name: [target] if name != target else [] for name in levels}
        )

    @classmethod
    def from_bif(
        cls, path: str | os.PathLike, levels: Levels | None = None
    ) -> "BayesNet":
        """Read states and parents from a Bayesian interchange format (BIF) file.

        Args:
            path: the file, compressed if its name ends in `.gz`.
            levels: a `Schema` with the same states as the file; the variables of the
                network get its order. If None, the file gives states and order.

        Raises:
            ValueError: if the file is not BIF or its states differ from `levels`.
        """
        states, parents = parse_bif(read_text(path, "network"))
        mentioned = [*parents, *(name for group in parents.values() for name in group)]
        undeclared = [name for name in mentioned if name not in states]
        if undeclared:
            raise ValueError(
                f"`network` must declare every variable, {undeclared[0]!r:.80} is not."
            )
        if levels is None:
            return cls.from_parents(states, parents)
        net = cls.from_parents(levels, parents)
        for variable in net.variables:
            codes = {variable.match(state) for state in states[variable.name]}
            if codes != set(range(variable.size)):
                got = ", ".join(repr(state)[1:-1] for state in states[variable.name])
                raise ValueError(
                    f"`network` must give {variable.name!r:.80} the levels that the "
                    f"schema declares, got {got:.200}."
                )
        return net

    @classmethod
    def from_json(cls, path: str | os.PathLike, levels: Levels) -> "BayesNet":
        """Read the parents from a JSON file, `{"parents": {"x": ["y"], "y": []}}`.

        Raises:
            ValueError: if the file is not of this form or `levels` lacks a name.
        """
        return cls.from_parents(levels, read_parents(path))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each variable."""
        return tuple(variable.size for variable in self.variables)

    @cached_property
    def families(self) -> tuple[tuple[int, ...], ...]:
        """For each variable, the indices of its parents, then its own index."""
        return tuple((*group, i) for i, group in enumerate(self.parents))

    @cached_property
    def layout(self) -> TableLayout:
        """Layout of a table for each variable, the last axis, with its parents."""
        return TableLayout(self.sizes, self.families)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Indices of the variables, sorted so that parents precede their children."""
        graph = graphlib.TopologicalSorter(dict(enumerate(self.parents)))
        return tuple(graph.static_order())

    def index(self, name: str) -> int:
        """Return the index of the variable called `name`.

        Raises:
            ValueError: if no variable has this name.
        """
        if name not in self.names:
            raise ValueError(
                f"`target` must be one of the network's variables, got {name!r:.80}: "
                f"these are {', '.join(self.names):.200}."
            )
        return self.names.index(name)

    def __repr__(self) -> str:
        nodes = self.parent_names().items()
        shown = (f"{x} | {', '.join(above)}" if above else x for x, above in nodes)
        return f"BayesNet({'; '.join(shown)})"

    def parent_names(self) -> dict[str, list[str]]:
        """Return a dictionary from each variable's name to its parents' names."""
        return {
            name: [self.names[i] for i in group]
            for name, group in zip(self.names, self.parents, strict=True)
        }


def read_parents(path: str | os.PathLike) -> dict[str, list[str]]:
    """Read the names of each variable's parents, as for `BayesNet.from_json`."""
    document = parse_json(read_text(path, "network"), "network")
    parents = document.get("parents") if isinstance(document, dict) else None
    if not isinstance(parents, dict) or not all(
        isinstance(group, list) and all(isinstance(name, str) for name in group)
        for group in parents.values()
    ):
        raise ValueError('`network` must be of the form {"parents": {"x": ["y"]}}.')
    return parents


def mentioned_in(parents: Mapping[str, Sequence[str]], levels: Levels) -> list[str]:
    """Return all variables in a mapping from a variable to its parents, each once."""
    of_type(Mapping, "give a schema, or the levels of each variable", levels=levels)
    remedy = "give a list of the parents of each variable by its name"
    of_type(Mapping, remedy, parents=parents)
    groups = [*parents.values()]
    for x in groups:
        if isinstance(x, str) or not isinstance(x, Iterable):
            found = "text" if isinstance(x, str) else type(x).__name__
            raise ValueError(
                f"`parents` must be lists of names, got {found}: {remedy}."
            )
    return [*dict.fromkeys([*parents, *(name for group in groups for name in group)])]


def _as_variable(name: str, declaration: Any) -> Categorical:
    variable = declared(name, declaration)
    if isinstance(variable, Interval):
        raise ValueError(
            f"`network` must have categorical variables only, {name!r:.80} is numeric: "
            'declare "edges" or "bins" with its bounds, or its levels.'
        )
    return variable
