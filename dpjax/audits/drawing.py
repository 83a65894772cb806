"""Draws of a release under two neighbouring data sets, in blocks of bounded memory."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from dpjax._types import Key

Release = Callable[..., Any]
"""Function from a key and a data set to one draw: an array or a tree of arrays."""

_MOST_NUMBERS = 1 << 22  # of a block
_MOST_DRAWS = 1 << 16


class Outputs(NamedTuple):
    """Many draws of a release, as NumPy arrays.

    Attributes:
        tree: tree of arrays as the release returns it, with draws on the first axis.
        leaves: each array of the tree as a matrix with one row for each draw.
        shapes: for each array, its path in the tree and the shape of one draw.
    """

    tree: Any
    leaves: tuple[np.ndarray, ...]
    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def of(cls, tree: Any) -> "Outputs":
        """Make outputs from a tree of real arrays with draws on the first axis."""
        flat = jax.tree_util.tree_flatten_with_path(tree)[0]
        numbers = [_as_numbers(leaf) for _, leaf in flat]
        leaves = tuple(x.reshape(len(x), int(np.prod(x.shape[1:]))) for x in numbers)
        shapes = tuple(
            (jax.tree_util.keystr(path), np.shape(leaf)[1:]) for path, leaf in flat
        )
        return cls(tree, leaves, shapes)

    @property
    def draws(self) -> int:
        """The number of draws."""
        return len(self.leaves[0])

    def select(self, draws: slice) -> "Outputs":
        """Return the outputs of some of the draws."""
        return Outputs.of(jax.tree.map(lambda x: x[draws], self.tree))


def joined(blocks: list[Outputs]) -> Outputs:
    """Concatenate the draws of all blocks."""
    trees = (block.tree for block in blocks)
    return Outputs.of(jax.tree.map(lambda *x: np.concatenate(x), *trees))


class Sampler:
    """Draws many outputs of a release in blocks, with one program per shape of data.

    Args:
        release: function from a key and a data set to one draw.
        compiled: whether JAX compiles the release and maps it over keys.
        batched: whether a third argument of the release is the number of draws.
        block: number of draws in a block. None: as many as fit in bounded memory.
    """

    def __init__(
        self, release: Release, compiled: bool, batched: bool, block: int | None
    ) -> None:
        def one_by_one(key: Key, data: Any, size: int) -> Any:
            drawn = [release(one, data) for one in jr.split(key, size)]
            return jax.tree.map(lambda *x: np.stack(x), *drawn)

        @partial(jax.jit, static_argnums=2)
        def mapped(key: Key, data: Any, size: int) -> Any:
            return jax.vmap(release, (0, None))(jr.split(key, size), data)

        self._block, self._compiled = block, compiled and not batched
        self._draw = release if batched else mapped if compiled else one_by_one

    def width(self, key: Key, data: Any) -> int:
        """Return how many numbers one draw contains; `ValueError` if it is 0."""

        def one(key: Key, data: Any) -> Any:
            return self._draw(key, data, 1)

        drawn = jax.eval_shape(one, key, data) if self._compiled else one(key, data)
        sizes = [int(np.prod(jnp.shape(x)[1:])) for x in jax.tree.leaves(drawn)]
        if not sum(sizes):
            raise ValueError("`release` must return at least one number, got none.")
        return sum(sizes)

    def blocks(
        self, key: Key, data: Any, width: int, start: int, stop: int
    ) -> Iterator[Outputs]:
        """Yield draws `start` to `stop` - 1 in blocks, each with its own key.

        Args:
            key: typed JAX key.
            data: the data set.
            width: how many numbers one draw contains.
            start: index of the first draw.
            stop: index after the last draw.
        """
        size = self._block or max(1, min(_MOST_DRAWS, _MOST_NUMBERS // width))
        size = min(size, stop - start)
        for first in range(start, stop, size):
            drawn = self._draw(jr.fold_in(key, first), data, size)
            block = Outputs.of(jax.tree.map(np.asarray, drawn))
            if any(len(x) != size for x in block.leaves):
                raise ValueError(
                    "`release` must return as many draws as it is asked for, if it is "
                    "`batched`."
                )
            yield block.select(slice(0, stop - first))


def _as_numbers(leaf: Any) -> np.ndarray:
    array = np.asarray(leaf)
    if array.dtype == bool:
        return array.astype(np.uint8)
    if not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
        raise ValueError(
            f"`release` must return real numbers, got an array of {array.dtype}."
        )
    return array
