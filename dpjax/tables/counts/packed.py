"""Records of binary variables, packed as 32 levels in each 32-bit word.

They take an eighth of the memory of records with one byte for each level.
"""

import itertools
from functools import partial
from typing import TypeGuard

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Int32, Integer, UInt32

from dpjax._platforms import CPU, Sizes, by_platform
from dpjax._private import Unpickled
from dpjax.tables.counts.planes import Chunks, popcounts

_RECORDS_AT_ONCE = 1 << 16

Subsets = tuple[tuple[int, ...], ...]


class PackedRecords(Unpickled, eqx.Module):
    """Records of binary variables, packed 32 to a word by `pack`.

    Args:
        planes: one row for each variable; each bit is the level of one record. Bits
            after the last record are 0.
        n: number of records, fewer than 2^31.

    Privacy:
        The object contains the records, so it is not private.
    """

    planes: UInt32[Array, "d w"]
    n: Int32[Array, ""]

    def __check_init__(self):
        if self.planes.ndim != 2 or self.planes.dtype != jnp.uint32:
            raise ValueError(
                f"`planes` must be a matrix of uint32, got {self.planes.dtype} of "
                f"shape {self.planes.shape}: pack records with `pack`."
            )


def is_packed(records: object) -> TypeGuard[PackedRecords]:
    """Whether `records` is a result of `pack`."""
    return isinstance(records, PackedRecords)


def pack(records: Integer[ArrayLike, "..."]) -> PackedRecords:
    """Pack records of binary variables, on the host.

    Args:
        records: level indices, 0 or 1, of any integer dtype, fewer than 2^31 rows.

    Returns:
        The packed records, which `count` accepts.

    Privacy:
        The result contains the records, so it is not private.

    Raises:
        ValueError: if `records` is not a matrix of integers that are 0 or 1.
    """
    records = np.asanyarray(records)
    if records.ndim != 2 or records.dtype.kind not in "iu":
        raise ValueError(
            f"`records` must be a matrix of integers, got {records.dtype} of shape "
            f"{records.shape}: encode them with the schema."
        )
    n, d = records.shape
    planes = np.zeros((d, 4 * _chunk(CPU.words, -(-n // 32))[1]), np.uint8)
    for start in range(0, n, _RECORDS_AT_ONCE):
        part = records[start : start + _RECORDS_AT_ONCE]
        if part.size and not (part.min() >= 0 and part.max() <= 1):
            raise ValueError(
                "`records` must hold only 0 and 1: only binary variables can be packed."
            )
        columns = np.ascontiguousarray(part.astype(np.uint8, copy=False).T)
        packed = np.packbits(columns, axis=1, bitorder="little")
        planes[:, start // 8 : start // 8 + packed.shape[1]] = packed
    return PackedRecords(jnp.asarray(planes.view(np.uint32)), jnp.asarray(n, jnp.int32))


def _chunk(most: int, words: int) -> tuple[int, int]:
    """Return the numbers of words in a chunk (a multiple of 64) and in all chunks."""
    chunks = -(-words // most)
    size = -(-words // (64 * max(1, chunks))) * 64
    return size, size * chunks


def padded(most: int, packed: PackedRecords) -> tuple[UInt32[Array, "d w"], int]:
    """Return the bit planes padded to whole chunks, and a chunk's number of words.

    A chunk has about `most` words at most.
    """
    planes, words = packed.planes, packed.planes.shape[1]
    chunk, length = _chunk(most, words)
    if length > words:
        planes = jnp.pad(planes, ((0, 0), (0, length - words)))
    return planes, chunk


def check_packed(records: PackedRecords, sizes: tuple[int, ...]) -> None:
    """Raise `ValueError` unless each column has a number of levels (`sizes`) of 2."""
    if records.planes.shape[0] != len(sizes):
        raise ValueError(
            f"`records` must have {len(sizes)} columns, one for each variable of the "
            f"network, got {records.planes.shape[0]}."
        )
    if any(size != 2 for size in sizes):
        raise ValueError(
            "`records` must not be packed if a variable does not have two levels: "
            "count the unpacked records."
        )


def chunks_of(sizes: Sizes, packed: PackedRecords) -> Chunks:
    """Return the arguments of `popcounts` after `sizes`, for packed records."""
    planes, chunk = padded(sizes.words, packed)

    def chunk_at(start, _):
        return lax.dynamic_slice_in_dim(planes, start, chunk, axis=1)

    return chunk_at, planes.shape[1], chunk


def parities(packed: PackedRecords, subsets: Subsets) -> Int32[Array, " s"]:
    r"""Compute $\sum_x (-1)^{\sum_{i \in S} x_i}$ for each subset S of the variables.

    The sum is over the n records x. It is a Walsh coefficient of the contingency table
    of all variables, computed without the table as n minus twice `odd_parities`.

    Args:
        packed: the records.
        subsets: columns of each subset, static under `jit`; the empty subset gives n.

    Privacy:
        The result is exact, so it is not private.

    Raises:
        ValueError: if a subset has a column that the records do not have.
    """
    # Exact also if 2 odd ≥ 2^31 wraps, as the result is at least -n.
    return packed.n - 2 * odd_parities(packed, subsets)


def odd_parities(packed: PackedRecords, subsets: Subsets) -> Int32[Array, " s"]:
    """For each subset of the variables, count the records with an odd number of ones.

    The arguments and errors are those of `parities`. The counts are exact, not private.
    """
    d = packed.planes.shape[0]
    if any(not 0 <= i < d for subset in subsets for i in subset):
        raise ValueError(
            f"`subsets` must hold column numbers of `packed`, from 0 to below {d}."
        )
    return _odd_parities(packed, tuple(tuple(subset) for subset in subsets))


@partial(jax.jit, static_argnames="subsets")
def _odd_parities(packed: PackedRecords, subsets: Subsets) -> Array:
    return by_platform(partial(odd_parities_in, subsets=subsets), packed)


def odd_parities_in(sizes: Sizes, packed: PackedRecords, subsets: Subsets) -> Array:
    """Count as `odd_parities` does, in blocks of the given sizes."""
    order = sorted(range(len(subsets)), key=lambda i: len(subsets[i]))
    by_size = itertools.groupby(order, key=lambda i: len(subsets[i]))
    groups = {size: list(numbers) for size, numbers in by_size}
    empty = groups.pop(0, [])
    levels = tuple(
        np.array([subsets[i] for i in numbers], np.int32) for numbers in groups.values()
    )
    chunks = chunks_of(sizes, packed)
    odd = popcounts(sizes, *chunks, levels, combine=lax.bitwise_xor)
    odd = jnp.concatenate([jnp.zeros(len(empty), jnp.int32), odd])
    return odd[np.argsort(np.array(order, np.int32)).astype(np.int32)]


def unpacked(planes: UInt32[Array, "d w"]) -> Array:
    """Unpack words to a matrix of bytes 0 or 1, with one row for each record."""
    bits = (planes[:, :, None] >> np.arange(32, dtype=np.uint32)[None, None]) & 1
    return bits.astype(jnp.uint8).reshape(planes.shape[0], -1).T
