"""An entry for the public registry of deployments of differential privacy."""

import json
from collections.abc import Mapping
from typing import Any

from dpjax.exports.reports.words import (
    implied_by,
    mechanism_in_words,
    promises,
    what_in_words,
)
from dpjax.privacy import Guarantee, in_words
from dpjax.releases.released import Released

_FLAVOURS = {"pure-dp": "Pure DP", "approximate-dp": "Approximate DP", "zcdp": "zCDP"}


def entry_of(released: Released, title: str) -> dict[str, Any]:
    """Return the entry, with the fields of the registry; "" where a steward must write.

    Reference:
        Nanayakkara, Ghazi & Vadhan, "Practitioners' perspectives on a differential
        privacy deployment registry" (arXiv:2509.13509), and the entries of the registry
        itself.
    """
    cost, facts = released.guarantee(), dict(released.about)
    description = facts.get("description", what_in_words(released))
    curators = [facts["steward"]] if "steward" in facts else []
    return {
        "status": "Draft",
        "deployment": {
            "product": {
                "name": title,
                "data_curators": curators,
                "intended_use": facts.get("use", ""),
                "data_product_type": "Statistical model",
                "data_product_region": facts.get("region", ""),
                "description": description,
                "publication_date": facts.get("published", ""),
            },
            "dp_flavor": {"name": _FLAVOURS.get(cost.kind, cost.kind)},
            "privacy_loss": {
                "privacy_unit": cost.unit,
                "privacy_unit_description": promises(cost)[0],
                "privacy_parameters": {
                    name: float(number) for name, number in cost.numbers.items()
                },
                "privacy_parameters_description": _parameters_in_words(cost),
            },
            "model": {
                "model_name": "Central",
                "release_type": "One release",
                "release_type_description": "Static",
                "access_type": "Non-interactive",
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": "",
                "mechanisms": mechanism_in_words(released.mechanism),
                "justification": "",
            },
            "resources": {"sources": "", "registry_authors": []},
        },
    }


def yaml_of(entry: Mapping[str, Any], indent: str = "") -> str:
    """Return nested mappings as YAML, with JSON for all other values."""
    lines = []
    for name, value in entry.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}{name}:", yaml_of(value, f"{indent}  ").rstrip("\n")]
        else:
            lines.append(f"{indent}{name}: {json.dumps(value, ensure_ascii=False)}")
    return "\n".join([*lines, ""])


def _parameters_in_words(cost: Guarantee) -> str:
    implied = implied_by(cost)
    rest = f" This implies {in_words(implied)}." if implied else ""
    return f"Neighbours: {cost.adjacency}.{rest}"
