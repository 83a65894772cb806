"""The release file, format 1: what it says, and how each line of it is derived again.

Reading a release *is* verifying it: the network is rebuilt, its sensitivity computed,
the noise table built and certified from ε and that sensitivity, and every number that
the file states is compared with the one derived.
"""

__all__ = ["InconsistentRelease", "UnreadableRelease", "dump", "parse"]

import hashlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Array

from dpjax._documents import canonical_json, parse_json
from dpjax._version import __version__
from dpjax.graph import BayesNet
from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise import tables
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.privacy import REPLACE_ONE, Sensitivity
from dpjax.statistics import FamilyCounts, Statistic
from dpjax.variables import Variable

FORMAT, VERSION = "dpjax-release", 1

_STATISTICS: dict[str, Callable[..., Statistic]] = {"family-counts": FamilyCounts}


class UnreadableRelease(ValueError):
    """The file is not a whole release file of a format that this version knows."""


class InconsistentRelease(ValueError):
    """The file contradicts itself: it was altered, or made wrongly."""


def dump(
    values: Array, statistic: Statistic, mechanism: DiscreteLaplace, n: int | None
) -> str:
    """The text of a release file; the same text for the same release."""
    guarantee, sensitivity = mechanism.guarantee(), mechanism.sensitivity
    content = {
        "library": f"dpjax {__version__}",
        "guarantee": {
            "kind": "pure-dp",
            "epsilon": str(guarantee.epsilon),
            "adjacency": guarantee.adjacency,
        },
        "records": n,
        "variables": [_describe_variable(v) for v in statistic.net.variables],
        "parents": statistic.net.parent_names(),
        "statistic": statistic.describe(),
        "sensitivity": _describe_sensitivity(sensitivity),
        "mechanism": {
            "kind": "discrete-laplace",
            "scale": str(Fraction(int(sensitivity.value)) / guarantee.epsilon),
            "table": tables.fingerprint(mechanism.table),
        },
        "values": np.asarray(values).tolist(),
    }
    document = {
        "format": FORMAT,
        "version": VERSION,
        "sha256": _digest(content),
        "content": content,
    }
    return canonical_json(document) + "\n"


def parse(text: str) -> tuple[np.ndarray, Statistic, DiscreteLaplace, int | None]:
    """The parts of a release, each derived again from the file's public facts.

    Raises:
        UnreadableRelease: if the text is damaged, truncated, something else or newer.
        InconsistentRelease: if anything stated differs from what is derived.
    """
    content = _read_content(text)
    try:
        return _derive(content)
    except InconsistentRelease:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InconsistentRelease(f"`release` must be well formed; {reason}") from None


def _read_content(text: str) -> dict[str, Any]:
    try:
        document = parse_json(text, "release")
    except ValueError as error:
        raise UnreadableRelease(f"{error} The file is damaged or truncated.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UnreadableRelease(f"`release` must be a file of format {FORMAT!r}.")
    version = document.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise UnreadableRelease(
            f"`release` must have a format version up to {VERSION}, got {version!r}: "
            "install a newer dpjax."
        )
    content = document.get("content")
    if not isinstance(content, dict):
        raise UnreadableRelease("`release` must have a content.")
    _same("content hash", document.get("sha256"), _digest(content))
    return content


def _derive(
    content: dict[str, Any],
) -> tuple[np.ndarray, Statistic, DiscreteLaplace, int | None]:
    variables = {x["name"]: _parse_variable(x) for x in content["variables"]}
    net = BayesNet.from_parents(variables, content["parents"])
    _same("variables", [x["name"] for x in content["variables"]], [*net.names])
    kind, *options = sorted(content["statistic"].items(), key=lambda x: x[0] != "kind")
    statistic = _STATISTICS[kind[1]](net, **dict(options))
    stated = content["guarantee"]
    _same("kind of guarantee", stated["kind"], "pure-dp")
    sensitivity = statistic.sensitivity(stated["adjacency"])
    _same("sensitivity", content["sensitivity"], _describe_sensitivity(sensitivity))
    _same("kind of mechanism", content["mechanism"]["kind"], "discrete-laplace")
    scale = Fraction(content["mechanism"]["scale"])
    cost = Fraction(int(sensitivity.value)) / scale
    _same("total cost ε = sensitivity / scale", stated["epsilon"], str(cost))
    mechanism = DiscreteLaplace.calibrate(cost, sensitivity)
    fingerprint = tables.fingerprint(mechanism.table)
    _same("noise table", content["mechanism"]["table"], fingerprint)
    n = _parse_number_of_records(content["records"], stated["adjacency"])
    return _parse_values(content["values"], statistic.length), statistic, mechanism, n


def _same(what: str, stated: object, derived: object) -> None:
    if stated != derived:
        shown = f"stated {stated}, derived {derived}"
        raise InconsistentRelease(
            f"`release` must state the {what} that is derived from it; "
            f"{shown if len(shown) < 200 else 'it does not'}."
        )


def _parse_number_of_records(n: object, adjacency: str) -> int | None:
    if adjacency != REPLACE_ONE:
        if n is not None:
            raise InconsistentRelease("`records` must be null where n is private.")
        return None
    if type(n) is not int or not 1 <= n <= LARGEST:
        raise InconsistentRelease("`records` must be the number n, from 1 to 2^29.")
    return n


def _parse_values(values: object, length: int) -> np.ndarray:
    if not isinstance(values, list) or len(values) != length:
        raise InconsistentRelease(f"`values` must be a list of {length} integers.")
    if any(type(x) is not int or abs(x) > LARGEST for x in values):
        raise InconsistentRelease("`values` must be integers between -2^29 and 2^29.")
    return np.array(values, np.int32)


def _describe_variable(variable: Variable) -> dict[str, object]:
    other = {} if variable.other is None else {"other": variable.other}
    return {"name": variable.name, "levels": list(variable.levels), **other}


def _parse_variable(described: dict[str, Any]) -> Variable:
    return Variable(
        described["name"], tuple(described["levels"]), described.get("other")
    )


def _describe_sensitivity(sensitivity: Sensitivity) -> dict[str, object]:
    return {
        "value": int(sensitivity.value),
        "adjacency": sensitivity.adjacency,
        "tight": sensitivity.tight,
    }


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()
