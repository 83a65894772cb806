"""The grid of a sweep: data sets × mechanisms × budgets × repeats, and random keys.

The key of a combination depends on the names of its data set and mechanism, the value
of its ε and the number of its repeat, and not on its place in the grid.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import jax
import jax.random as jr
import numpy as np
from jaxtyping import Array, ArrayLike, UInt32

from dpjax._checks import whole
from dpjax._types import Key
from dpjax.privacy import Epsilon, exact_epsilon

_MOST_REPEATS = 1 << 30


@dataclass(frozen=True)
class Grid:
    """Names of a sweep's data sets and mechanisms, its budgets and number of repeats.

    If the names of an axis are None, it has length 1 and the results lack this axis.

    Raises:
        ValueError: if an axis is empty, too long, or has a repeated label.
    """

    datasets: tuple[str, ...] | None
    mechanisms: tuple[str, ...] | None
    epsilons: tuple[Fraction, ...]
    repeats: int

    def __post_init__(self):
        whole(1, repeats=self.repeats)
        if self.repeats > _MOST_REPEATS:
            raise ValueError(
                f"`repeats` must be at most {_MOST_REPEATS}, got {self.repeats}: run "
                "several sweeps with different keys."
            )
        for name in (*(self.datasets or ()), *(self.mechanisms or ())):
            if not isinstance(name, str):
                raise ValueError(
                    "`datasets` and `mechanisms` must have text as names, got "
                    f"{name!r}."
                )
        for axis in ("datasets", "mechanisms", "epsilons"):
            _all_different(axis, getattr(self, axis))

    @classmethod
    def of(
        cls,
        datasets: Sequence[str] | None,
        mechanisms: Sequence[str] | None,
        epsilons: Sequence[Epsilon],
        repeats: int,
    ) -> "Grid":
        """Make a grid, with the budgets `epsilons` converted to exact fractions."""
        exact = tuple(exact_epsilon(epsilon, "epsilons") for epsilon in epsilons)
        names = [None if x is None else tuple(x) for x in (datasets, mechanisms)]
        return cls(names[0], names[1], exact, repeats)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of data sets, mechanisms and budgets."""
        named = [len(x or [None]) for x in (self.datasets, self.mechanisms)]
        return named[0], named[1], len(self.epsilons)

    @property
    def coordinates(self) -> dict[str, list]:
        """Dictionary from the name of each axis of a sweep's results to its labels."""
        labels = {
            "dataset": self.datasets,
            "mechanism": self.mechanisms,
            "epsilon": [float(epsilon) for epsilon in self.epsilons],
            "repeat": range(self.repeats),
        }
        return {name: list(x) for name, x in labels.items() if x is not None}

    def keys(self, key: Key) -> tuple[np.ndarray, np.ndarray]:
        """Return the 32-bit words of random keys for all repeats.

        The first array, of shape (*`shape`, words), has a key for each data set,
        mechanism and budget. The second has a key for each data set, from which its
        repeats are prepared. The number of a repeat is folded into these keys later.
        """
        datasets = [_words("dataset", name) for name in self.datasets or [None]]
        words = [
            [*dataset, *_words("mechanism", m), *_words("epsilon", e)]
            for dataset in datasets
            for m in self.mechanisms or [None]
            for e in self.epsilons
        ]
        shared = _words("shared", None)
        words += [[*dataset, *shared, *shared] for dataset in datasets]
        folded = np.asarray(_folded(key, np.array(words, np.uint32)))
        cells = len(words) - len(datasets)
        return folded[:cells].reshape(*self.shape, -1), folded[cells:]


@jax.jit
def _folded(key: Key, words: UInt32[ArrayLike, "c w"]) -> UInt32[Array, "c k"]:
    def fold_one(words):
        return jax.lax.fori_loop(
            0, words.shape[0], lambda i, key: jr.fold_in(key, words[i]), key
        )

    return jr.key_data(jax.vmap(fold_one)(words))


def _words(axis: str, label: object) -> list[int]:
    """Return a 64-bit hash of a label, as two 32-bit words."""
    digest = hashlib.blake2b(f"{axis}={label}".encode(), digest_size=8).digest()
    return np.frombuffer(digest, "<u4").tolist()


def _all_different(name: str, labels: Sequence | None) -> None:
    if labels is None:
        return
    if not labels:
        raise ValueError(f"`{name}` must hold at least one, got none.")
    (twice, times), *_ = Counter(labels).most_common(1)
    if times > 1:
        raise ValueError(f"`{name}` must all differ, got {twice} twice.")
