"""Which chains of a hidden Markov model are in the same mode of the posterior."""

import numpy as np
from jaxtyping import Float

from dpjax.event_logs.posterior import HiddenMarkovPosterior

_ENDS = 0.1, 0.9  # quantiles of statistics, between which chains of a mode overlap
_DRAWS = 64  # of each chain, whose agreement with others is computed


def chains_by_mode(posterior: HiddenMarkovPosterior) -> list[list[int]]:
    """Join chains whose central intervals overlap, directly or by way of others."""
    traces = np.stack(list(posterior.traces().values())), _agreements(posterior)
    low, high = np.concatenate([np.quantile(x, _ENDS, axis=-1) for x in traces], 1)
    meets = low[:, :, None] <= high[:, None]
    overlaps = (meets & np.swapaxes(meets, 1, 2)).all(axis=0)
    joined = np.linalg.matrix_power(overlaps.astype(float), len(overlaps)) > 0
    return [np.flatnonzero(row).tolist() for row in np.unique(joined, axis=0)]


def _agreements(posterior: HiddenMarkovPosterior) -> Float[np.ndarray, "r chains d"]:
    """Return the share of pairs of cells on which draws agree with each last draw.

    The statistic does not depend on how states are numbered, and tells sets of states
    of equal size and likelihood apart.
    """
    size, inside = posterior.states, np.asarray(posterior.declared).T
    draws = len(posterior.paths)
    some = np.linspace(0, draws - 1, min(draws, _DRAWS)).astype(int)
    paths = np.asarray(posterior.paths)[some].transpose(2, 0, 1, 3)[..., inside]
    paths = paths.astype(np.int64)
    each = np.arange(paths[..., 0].size).reshape(*paths.shape[:2], 1)
    found = []
    for last in paths[:, -1]:
        codes = (each * size + paths) * size + last
        shared = np.bincount(codes.ravel(), minlength=each.size * size**2)
        shared = shared.reshape(*paths.shape[:2], size, size)
        pairs = 2 * (shared**2).sum(axis=(2, 3))
        pairs -= sum((shared.sum(axis=i) ** 2).sum(axis=2) for i in (2, 3))
        found.append(1 + pairs / paths.shape[2] ** 2)
    return np.stack(found)
