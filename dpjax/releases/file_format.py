"""The format of release files, with verification of every entry.

To verify a file, `parse` rebuilds the network, computes its sensitivity, and builds and
certifies the noise table from ε and the sensitivity. A file written from these parts
must equal the file that was read. Files are written in the canonical form of RFC 8785
(format version 3 and later); those of versions 1 and 2 are read by their own rule.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from dpjax._documents import (
    canonical_json,
    escaped_json,
    is_text,
    parse_json,
    printable,
)
from dpjax._version import __version__
from dpjax.data.bayes_net import BayesNet
from dpjax.data.schema import Schema
from dpjax.mechanisms import MECHANISMS, ParameterMechanism
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.privacy import (
    GUARANTEES,
    Guarantee,
    exact_epsilon,
    guarantee_of,
)
from dpjax.releases.about import about_of
from dpjax.releases.entries import (
    InconsistentRelease,
    UnreadableRelease,
    parse_number_of_records,
    parse_values,
    parse_variables,
    refuse_missing,
)
from dpjax.releases.exact_levels import exact_level, parsed_level, with_levels
from dpjax.releases.learned import Learned
from dpjax.releases.sampled import Sampled
from dpjax.statistics import STATISTICS, Statistic

FORMAT, VERSION = "dpjax-release", 3
_CANONICAL = 3  # first version in the form of RFC 8785
_LONGEST_NAME = 40
_MOST_UNLISTED = 100_000  # levels that a file need not list
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)

_SHARED = {"library", "records", "variables", "impossible"}  # with earlier releases

Make = Callable[..., Any]
"""A function that makes a `Released`, whose module imports this one."""


def dump(released: Any) -> str:
    """Return the text of a release's file; equal releases have equal texts."""
    content = _describe(released)
    document = {
        "format": FORMAT,
        "version": max(_CANONICAL, _version(content)),
        "content": with_levels(content, exact_level),
    }
    return canonical_json({**document, "sha256": _digest(document)}) + "\n"


def parse(text: str, make: Make) -> Any:
    """Parse and verify a release file.

    Args:
        text: the content of the file.
        make: the class `Released`.

    Raises:
        UnreadableRelease: if the text is damaged or truncated, is not of a release, or
            has an unknown format version.
        InconsistentRelease: if an entry contradicts the other entries.
    """
    version, stated = _read_content(text)
    try:
        is_canonical = version >= _CANONICAL
        content = with_levels(stated, parsed_level) if is_canonical else stated
        derived = _derive(content, make, len(content["variables"]) - 1)
        library = content["library"]  # the version that made the file
        if not isinstance(library, str) or len(library) > _LONGEST_NAME:
            raise InconsistentRelease("`library` must be the name of a version.")
        stated = stated if is_canonical else with_levels(stated, exact_level)
        found = with_levels({**_describe(derived), "library": library}, exact_level)
        _compare(stated, found)
        lowest = _version(content)
        _same("version", version, max(_CANONICAL, lowest) if is_canonical else lowest)
        return derived
    except InconsistentRelease:
        raise
    except _MALFORMED as error:
        reason = printable(f"{type(error).__name__}: {error}")
        raise InconsistentRelease(
            f"`release` must be well formed; {reason:.300}"
        ) from None


def _read_content(text: str) -> tuple[int, dict[str, Any]]:
    try:
        document = parse_json(text, "release")
    except ValueError as error:
        raise UnreadableRelease(f"{error} It is no release, or damaged.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UnreadableRelease(f"`release` must be a file of format {FORMAT!r}.")
    if set(document) - {"format", "version", "content", "sha256"}:
        raise UnreadableRelease("`release` must have no entry beside its content.")
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise UnreadableRelease(
            f"`release` must have a format version from 1 to {VERSION}, got "
            f"{version!r:.20}: if it is newer, install a newer dpjax."
        )
    content = document.get("content")
    if not isinstance(content, dict):
        raise UnreadableRelease("`release` must have a content.")
    try:
        digest = _digest(document)
    except (ValueError, RecursionError) as error:
        raise InconsistentRelease(
            f"`release` must have a content hash; {printable(str(error)):.300}"
        ) from None
    hashed = document.get("sha256")
    _same("content hash", hashed if is_text(hashed) else None, digest)
    return version, content


def _version(content: dict[str, Any]) -> int:
    """Return the lowest format version that allows all entries."""
    old = {"levels", "other"}, {"lower", "upper", "missing"}
    keys = [set(x) - {"name"} for x in content["variables"]]
    new = any(all(not x <= known for known in old) for x in keys)
    numbers = np.asarray(content["values"], np.int64)
    wide = max(content["records"] or 0, np.abs(numbers).max(initial=0)) > LARGEST
    several = "contributions" in content["guarantee"]
    lowest = 2 if new or wide or several or "impossible" in content else 1
    lowest = _CANONICAL if {"about", "learned", "sampled"} & {*content} else lowest
    statistic = STATISTICS[content["statistic"]["kind"]]
    mechanism = MECHANISMS[content["mechanism"]["kind"]]
    guarantee = GUARANTEES[content["guarantee"]["kind"]]
    if issubclass(mechanism, ParameterMechanism) and "family" in content["statistic"]:
        first = content["statistic"]["family"] in mechanism.first_families
        if not first or content["mechanism"]["kind"] != mechanism.kind:
            lowest = max(lowest, 2)
    return max(lowest, *(x.format_version for x in (guarantee, statistic, mechanism)))


def _derive(content: dict[str, Any], make: Make, most: int) -> Any:
    """Rebuild a release from the entries of a file that others do not determine.

    There may be at most `most` earlier releases.
    """
    values = parse_values(content["values"])
    variables = parse_variables(content["variables"], _MOST_UNLISTED + values.size)
    schema = Schema([*variables.values()])
    described = content["mechanism"]
    maker = MECHANISMS[described["kind"]]
    statistic = _derive_statistic(content, schema)
    refuse_missing(values, statistic, maker)
    if "impossible" in content:  # now that the tables are known to be no larger
        schema = Schema([*schema.values()], impossible=content["impossible"])
        statistic = _derive_statistic(content, schema)
    cost = guarantee_of(content["guarantee"])
    n = parse_number_of_records(content["records"], cost.adjacency)
    learned = _derive_learned(content, statistic, make, most)
    each = cost.per_record() if learned is None else learned.cost_of_tables(cost)
    sampled, each = _derive_sampled(content, each)
    mechanism = maker.from_description(described, statistic, each, n)
    if not mechanism.accepts(statistic):
        raise InconsistentRelease("`mechanism` must be one for what was measured.")
    states = content.get("hidden_states")
    if states is not None and (type(states) is not int or states < 1):
        raise InconsistentRelease("`hidden_states` must be a number of states.")
    if not mechanism.is_possible_output(values, statistic.length):
        raise InconsistentRelease("`values` must be what the mechanism could draw.")
    zeros = statistic.zeros
    if zeros is not None and (not maker.additive or values[zeros].any()):
        raise InconsistentRelease("`values` must be 0 for impossible combinations.")
    about = about_of(content.get("about"))
    if "about" in content and not about:
        raise InconsistentRelease("`about` must have a fact, or be left out.")
    made = values, statistic, mechanism, n, states, cost.contributions
    return make(*made, about, learned, sampled)


def _derive_learned(
    content: dict[str, Any], statistic: Statistic, make: Make, most: int
) -> Learned | None:
    """Rebuild how a network was learned; the earlier release shares the variables."""
    stated, net = content.get("learned"), None
    if stated is None:
        return None
    if most < 1:
        raise InconsistentRelease("`learned` must have fewer releases than variables.")
    shared = {key: x for key, x in content.items() if key in _SHARED}
    earlier = _derive({**stated["earlier"], **shared}, make, most - 1)
    if statistic.network is None:
        net = BayesNet.from_parents(Schema(statistic.variables), content["parents"])
    return Learned(earlier, exact_epsilon(stated["epsilon"]), stated.get("draws"), net)


def _derive_sampled(
    content: dict[str, Any], cost: Guarantee
) -> tuple[Sampled | None, Guarantee]:
    """Rebuild how records were sampled, and return the cost for a row of the sample."""
    if (stated := content.get("sampled")) is None:
        return None, cost
    known = parse_number_of_records(stated.get("records"), cost.adjacency)
    sampled = Sampled(exact_epsilon(stated["rate"]), cost, known)
    return sampled, guarantee_of(stated["guarantee"])


def _derive_statistic(content: dict[str, Any], schema: Schema) -> Statistic:
    parents, stated = content["parents"], content["statistic"]
    net = None if parents is None else BayesNet.from_parents(schema, parents)
    columns: Any = tuple(schema.values())  # the statistic refuses mixed kinds
    kind = STATISTICS[stated["kind"]]
    adjacency = content["guarantee"]["adjacency"]
    return kind.from_description(stated, columns, net, adjacency)


def _describe(released: Any) -> dict[str, Any]:
    statistic, mechanism = released.statistic, released.mechanism
    net, states, about = released.network, released.hidden_states, released.about
    impossible = {} if net is None else net.schema.to_json()
    return {
        "library": f"dpjax {__version__}",
        "guarantee": released.guarantee().describe(),
        "records": None if released.n is None else int(released.n),
        "variables": [{"name": v.name, **v.to_json()} for v in statistic.variables],
        "parents": net and net.parent_names(),
        **{k: x for k, x in impossible.items() if k == "impossible"},
        "statistic": statistic.describe(),
        **mechanism.derived_facts(),
        "mechanism": mechanism.describe(),
        "values": np.asarray(released.values).astype(np.int64).tolist(),
        **({} if states is None else {"hidden_states": states}),
        **({"about": dict(about)} if about else {}),
        **_describe_learned(released.learned),
        **_describe_sampled(released),
    }


def _describe_learned(learned: Learned | None) -> dict[str, Any]:
    if learned is None:
        return {}
    every = _describe(learned.earlier).items()
    earlier = {key: x for key, x in every if key not in _SHARED}
    drawn = {} if learned.draws is None else {"draws": learned.draws}
    return {"learned": {"epsilon": str(learned.epsilon), "earlier": earlier, **drawn}}


def _describe_sampled(released: Any) -> dict[str, Any]:
    if (sampled := released.sampled) is None:
        return {}
    known = {} if sampled.records is None else {"records": sampled.records}
    spent = released.mechanism.guarantee().describe()
    return {"sampled": {"guarantee": spent, "rate": str(sampled.rate), **known}}


def _compare(stated: Any, derived: Any, place: str = "content") -> None:
    """Raise unless two documents are equal, including the types of all entries."""
    if isinstance(stated, dict) and isinstance(derived, dict):
        _same(f"entries of {place}", sorted(stated), sorted(derived))
        for key, entry in derived.items():
            _compare(stated[key], entry, f"{place}.{key}")
    else:
        _same(place, stated, derived)


def _same(place: str, stated: object, derived: object) -> None:
    if canonical_json(stated) != canonical_json(derived):
        shown = f"stated {stated!r}, derived {derived!r}"
        raise InconsistentRelease(
            f"`release` must state what is derived from it, {place} differs"
            f"{f': {shown}' if len(shown) < 200 else ''}."
        )


def _digest(document: dict[str, Any]) -> str:
    """Return the hash of a file: of its content alone in versions 1 and 2."""
    rest = {key: entry for key, entry in document.items() if key != "sha256"}
    old = document["version"] < _CANONICAL
    text = escaped_json(document["content"]) if old else canonical_json(rest)
    return hashlib.sha256(text.encode()).hexdigest()
