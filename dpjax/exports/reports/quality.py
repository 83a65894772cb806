"""`quality`: how well synthetic records agree with the release they are drawn from."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax.random as jr
import numpy as np
from jaxtyping import Float, Integer

from dpjax._checks import typed_key, whole
from dpjax._later import special
from dpjax._types import Key, Records
from dpjax._version import __version__
from dpjax.data.records import as_records
from dpjax.data.sources import Table
from dpjax.exports.reports.levels import Levels
from dpjax.exports.reports.quality_page import quality_page
from dpjax.exports.reports.report import Report
from dpjax.exports.reports.words import few_names
from dpjax.exports.synthetic import network_of_records
from dpjax.posteriors.base import Posterior

_BLOCK = 1 << 14  # records that are counted at once: exact in single precision


def quality(
    key: Key,
    posterior: Posterior,
    records: Records | Table,
    given: Mapping[str, Any] | None = None,
    *,
    tables: int = 19,
) -> Report:
    """Compare synthetic records with the release that they are drawn from.

    The shares of all levels of each variable, and of all pairs of levels of two
    variables, are compared with their probabilities under the posterior means of all
    parameters. The numbers of a numeric leaf are in ten bins of equal width.

    Args:
        key: typed JAX key, of further tables to compare with.
        posterior: the posterior of a network, with or without numeric leaves, or of
            marginal tables, from which the records are drawn.
        records: encoded records, as `sample_records` returns them, or a table, as
            `dpjax.exports.synthesize` does.
        given: the levels that all records have, if any.
        tables: number of further tables of as many records that are drawn in the same
            manner. With 19, a distance is above the largest of theirs by chance in at
            most 1 of 20 cases.

    Returns:
        A report with the total variation distance of each variable and pair; those that
        are expected by sampling alone, if the records were drawn from the posterior
        means; those of the further tables; and the shares of all levels.

    Privacy:
        Post-processing of a release has no privacy cost, if `records` are synthetic.
        Figures that are computed from real records are not protected.

    Raises:
        ValueError: if the posterior has no synthetic records, these do not fit it or
            are none, the key is not typed, `tables` is below 1, or the network has too
            many paths between its variables for a junction tree.
    """
    typed_key(key=key)
    whole(1, tables=tables)
    net, made = network_of_records(posterior), dict(given or {})
    encoded = np.asarray(as_records(records, net.schema, ignore="*"))
    n = len(encoded)
    if n == 0:
        raise ValueError("`records` must be at least one record, got none.")
    levels = Levels.of(posterior)
    wanted = levels.probabilities(posterior, made)
    found = _shares(levels.codes(encoded), levels)
    source: Any = posterior
    others = [
        _shares(levels.codes(source.sample_records(x, n, given)), levels)
        for x in jr.split(key, tables)
    ]
    few = few_names(levels.names)
    return Report(
        {
            "title": f"Synthetic records of {few} and their release",
            "compared": {
                "records": n,
                "method": posterior.method,
                "given": {name: str(level) for name, level in made.items()},
                "tables": tables,
                "made_with": f"dpjax {__version__}",
            },
            "results": {"tables": _tables(levels, wanted, found, others, n)},
        },
        quality_page,
    )


def expected_difference(
    p: Float[np.ndarray, "*shape"], n: int
) -> Float[np.ndarray, "*shape"]:
    r"""Return $E|X / n - p|$ for binomial X with n trials of probability p.

    Reference:
        De Moivre's formula for the mean absolute deviation (Diaconis & Zabell,
        Statistical Science 1991): $E|X - np| = 2 m (1 - p) P(X = m)$ for $m = \lfloor
        np \rfloor + 1$.
    """
    p = np.clip(p, 0, 1)
    m = np.floor(n * p) + 1
    ways = special.gammaln(n + 1) - special.gammaln(m) - special.gammaln(n - m + 1)
    logs = ways + special.xlogy(m, p) + special.xlog1py(n - m + 1, -p)
    return 2 * np.exp(logs) / n


def _shares(
    codes: Integer[np.ndarray, "n d"], levels: Levels
) -> Float[np.ndarray, "k k"]:
    """Return the share of records with each pair of levels."""
    size, start = sum(levels.sizes), np.asarray(levels.starts)
    total = np.zeros((size, size))
    for first in range(0, len(codes), _BLOCK):
        block = codes[first : first + _BLOCK] + start
        ones = np.zeros((len(block), size), np.float32)
        np.put_along_axis(ones, block, 1, axis=1)
        total += ones.T @ ones
    return total / len(codes)


def _tables(
    levels: Levels,
    wanted: Float[np.ndarray, "k k"],
    found: Float[np.ndarray, "k k"],
    others: Sequence[Float[np.ndarray, "k k"]],
    n: int,
) -> dict[str, dict[str, list]]:
    """Return the columns of all tables; pairs that are least expected are first."""
    further = np.stack([levels.distances(abs(other - wanted)) for other in others])
    compared = {
        "distance": levels.distances(abs(found - wanted)),
        "sampling": levels.distances(expected_difference(wanted, n)),
        "usual": further.mean(axis=0),
        "largest": further.max(axis=0),
    }
    diagonals = np.stack([np.diagonal(other) for other in others])
    shares = {
        "release": np.diagonal(wanted),
        "records": np.diagonal(found),
        "lower": diagonals.min(axis=0),
        "upper": diagonals.max(axis=0),
    }
    first, second = np.triu_indices(len(levels.names), 1)
    excess = compared["distance"] - compared["usual"]
    order = np.argsort(-excess[first, second], kind="stable")
    first, second = first[order], second[order]
    names = levels.names
    tables: dict[str, dict[str, list]] = {
        "Variables": {
            "variable": [*names],
            **{name: np.diagonal(x).tolist() for name, x in compared.items()},
        },
        "Pairs of variables": {
            "first": [names[i] for i in first],
            "second": [names[i] for i in second],
            **{name: x[first, second].tolist() for name, x in compared.items()},
        },
    }
    for i, name in enumerate(names):
        own = slice(levels.starts[i], levels.starts[i] + levels.sizes[i])
        tables[f"Levels of {name}"] = {
            "level": [*levels.labels[i]],
            **{column: x[own].tolist() for column, x in shares.items()},
        }
    return tables
