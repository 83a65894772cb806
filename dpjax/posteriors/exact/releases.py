"""What exact sums need of a release, and whether they are for it at all."""

__all__ = [
    "check_exact",
    "choose_windows",
    "place_of",
    "shapes_of",
    "sums_of",
]

import operator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dpjax._checks import one_of
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.exact import star_sums
from dpjax.posteriors.exact.forests import stars
from dpjax.posteriors.exact.star_inputs import Windows
from dpjax.posteriors.exact.star_sums import Sums
from dpjax.posteriors.exact.windows import first_windows
from dpjax.posteriors.laws import laplace_law
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts


def check_exact(released: Released) -> None:
    """Whether `exact_posterior` is for releases of this kind.

    Raises:
        ValueError: if it is not, with the reason.
    """
    laplace_law(released)
    components = None
    if isinstance(released.statistic, NetworkCounts):
        components = stars(released.net)
    if components is None or (released.n is None and len(components) > 1):
        raise ValueError(
            "`released` must be of the family counts of stars (with a private n, of "
            "one) to be summed exactly: use `point_estimate` or `gibbs_posterior`."
        )


def choose_windows(released: Released, tolerance: float) -> Windows:
    """Windows that most likely omit no more than the tolerance.

    Raises:
        ValueError: if the release is traced.
    """
    components = stars(released.net) or ()
    try:
        n = None if released.n is None else int(np.max(np.asarray(released.n)))
        rate = float(np.min(np.asarray(laplace_law(released).rate)))
        np.asarray(released.values)
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "`windows` must be given inside compiled code: Windows(n + 1, n + 1, n + 1)"
            " hold all counts, `exact_posterior(example).windows` may be smaller."
        ) from None
    tables = [sum(len(group) for group in star.leaves) for star in components]
    narrow = Windows(1, 1, 1)
    prior = jnp.ones(released.net.layout.length)
    largest = star_sums.largest_guess(sums_of(released, prior, narrow))
    levels = max(released.net.sizes)
    return first_windows(
        1 / rate, n, min(tables), sum(tables), tolerance,
        levels=levels, largest=float(largest),
    )  # fmt: skip


def shapes_of(released: Released) -> list[tuple[int, list[tuple[int, int]]]]:
    """Of every star, the number of levels of its hub, and (leaves, levels) groups."""
    sizes = released.net.sizes
    return [
        (sizes[star.hub], [(len(group), sizes[group[0]]) for group in star.leaves])
        for star in stars(released.net) or ()
    ]


def place_of(net: BayesNet, name: str, cell: tuple[int, ...]) -> int:
    """Where a cell of a variable's table is, in the network's layout.

    Raises:
        ValueError: if there is no such variable or cell.
    """
    one_of(net.names, name=name)
    table = net.index(name)
    shape = net.layout.shape(net.families[table])
    try:
        place = np.ravel_multi_index(tuple(map(operator.index, cell)), shape)
    except (TypeError, ValueError):
        raise ValueError(
            f"`cell` must be indices of a cell of a table {shape}: the levels of the "
            f"parents of {name!r}, in order, then its own."
        ) from None
    return net.layout.offsets[table] + int(place)


def sums_of(released: Released, prior: Array, windows: Windows) -> Sums:
    """What compiled code needs of a release: no more of the mechanism than its law."""
    values = released.values.astype(float)
    batch = values.shape[:-1]
    n = released.n
    if n is not None:
        n = jnp.broadcast_to(jnp.asarray(n).astype(jnp.int32), batch)
    law = laplace_law(released)
    assert isinstance(released.statistic, NetworkCounts)  # as `check_exact` has it
    return Sums(values, law, prior, n, released.statistic, windows)
