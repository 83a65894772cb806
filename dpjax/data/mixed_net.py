"""Structure of a Bayesian network with numeric leaves: public, hashable, static."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dpjax.data.bayes_net import BayesNet, Levels, mentioned_in
from dpjax.data.categorical import Categorical
from dpjax.data.intervals import Interval
from dpjax.data.kinds import AnyVariable, declared
from dpjax.data.schema import Schema


@dataclass(frozen=True)
class MixedNet:
    """A network of categorical variables, with numeric variables as leaves.

    A numeric leaf has public bounds, categorical parents and no children. Given its
    parents, it is normal: this is a conditional linear Gaussian network whose numeric
    variables have no numeric parents, such as a naive Bayes classifier with features of
    both kinds.

    Args:
        discrete: the network of the categorical variables.
        leaves: the numeric variables.
        leaf_parents: for each leaf, the indices of its parents in `discrete.variables`.
        names: names of all variables, in the order of the records' columns.

    Raises:
        ValueError: if there is no leaf, the arguments do not fit each other, a parent
            is repeated, or the network has impossible combinations of levels.
    """

    discrete: BayesNet
    leaves: tuple[Interval, ...]
    leaf_parents: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]

    def __post_init__(self):
        if not self.leaves or len(self.leaves) != len(self.leaf_parents):
            raise ValueError(
                "`leaf_parents` must have one entry per leaf and there must be one, "
                f"got {len(self.leaf_parents)} for {len(self.leaves)} leaves: a "
                "`BayesNet` has no numeric variables."
            )
        own = [*self.discrete.names, *(leaf.name for leaf in self.leaves)]
        if len({*self.names}) < len(self.names) or {*own} != {*self.names}:
            raise ValueError("`names` must be those of all variables, which differ.")
        known = range(len(self.discrete.names))
        for leaf, group in zip(self.leaves, self.leaf_parents, strict=True):
            if len({*group}) < len(group) or not {*group} <= {*known}:
                raise ValueError(
                    f"`leaf_parents` of {leaf.name!r:.80} must be different indices of "
                    "categorical variables."
                )
        if self.discrete.impossible:
            raise ValueError(
                "`schema` must have no impossible combinations for a network with "
                "numeric leaves: leave them out."
            )

    @classmethod
    def from_parents(
        cls, levels: Levels, parents: Mapping[str, Sequence[str]]
    ) -> "MixedNet":
        """Make the network of all variables in `parents`, in the order of `levels`.

        Args:
            levels: a `Schema`, or a mapping from each variable's name to its
                declaration: levels, or the bounds of a numeric leaf.
            parents: a mapping from each variable's name to the names of its parents; a
                variable that occurs only as a parent has no parents.

        Raises:
            ValueError: if `levels` lacks a variable, a numeric variable is a parent,
                none is numeric, or as for `BayesNet`.
        """
        found = {
            name: _variable(name, levels) for name in mentioned_in(parents, levels)
        }
        numeric = {name for name in found if isinstance(found[name], Interval)}
        for child, group in parents.items():
            for name in (p for p in group if p in numeric):
                raise ValueError(
                    "`network` must have numeric variables as leaves only, "
                    f"{name!r:.80} is a parent of {child!r:.80}: reverse the arrow, or "
                    f'declare {name!r:.80} with "edges" or "bins".'
                )
        of_levels = {
            name: parents.get(name, ()) for name in found if name not in numeric
        }
        discrete = BayesNet.from_parents(levels, of_levels)
        index = {name: i for i, name in enumerate(discrete.names)}
        names = tuple(name for name in levels if name in found)
        variables = [found[name] for name in names]
        leaves = tuple(x for x in variables if isinstance(x, Interval))
        places = [tuple(index[p] for p in parents[leaf.name]) for leaf in leaves]
        return cls(discrete, leaves, tuple(places), names)

    @classmethod
    def naive_bayes(cls, levels: Levels, target: str) -> "MixedNet":
        """Make the network with `target` as the only parent of all other variables."""
        return cls.from_parents(
            levels, {name: [target] if name != target else [] for name in levels}
        )

    @cached_property
    def variables(self) -> tuple[AnyVariable, ...]:
        """All variables, in the order of the records' columns."""
        known = {x.name: x for x in (*self.discrete.variables, *self.leaves)}
        return tuple(known[name] for name in self.names)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the records."""
        return Schema(self.variables)

    def columns(self, variables: Sequence[AnyVariable]) -> tuple[int, ...]:
        """Return the indices of some variables' columns."""
        index = {name: i for i, name in enumerate(self.names)}
        return tuple(index[variable.name] for variable in variables)

    def index(self, name: str) -> int:
        """Return the index of the variable called `name`; `ValueError` if none is."""
        if name not in self.names:
            raise ValueError(
                f"`target` must be one of the network's variables, got {name!r:.80}: "
                f"these are {', '.join(self.names):.200}."
            )
        return self.names.index(name)

    def shape(self, leaf: int) -> tuple[int, ...]:
        """Return the number of levels of each parent of a leaf, given by its index."""
        return tuple(self.discrete.sizes[i] for i in self.leaf_parents[leaf])

    def parent_names(self) -> dict[str, list[str]]:
        """Return a dictionary from each variable's name to its parents' names."""
        found = self.discrete.parent_names()
        for leaf, group in zip(self.leaves, self.leaf_parents, strict=True):
            found[leaf.name] = [self.discrete.names[i] for i in group]
        return {name: found[name] for name in self.names}


def network_from(
    levels: Levels, parents: Mapping[str, Sequence[str]]
) -> BayesNet | MixedNet:
    """Make a network, which is a `MixedNet` if some of its variables are numeric."""
    variables = [_variable(name, levels) for name in mentioned_in(parents, levels)]
    numeric = any(isinstance(variable, Interval) for variable in variables)
    return (MixedNet if numeric else BayesNet).from_parents(levels, parents)


def _variable(name: str, levels: Levels) -> Categorical | Interval:
    if name not in levels:
        raise ValueError(
            f"`network` must use only variables of the schema, got {name!r:.80}."
        )
    return declared(name, levels[name])
