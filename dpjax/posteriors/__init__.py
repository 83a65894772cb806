"""Posterior distributions of model parameters given a release."""

__all__ = [
    "METHODS",
    "ChainDiagnostics",
    "ChainPosterior",
    "ClippedPosterior",
    "ExactPosterior",
    "FamilyPosterior",
    "FieldPosterior",
    "InferenceMethod",
    "LatentRecords",
    "MixedPosterior",
    "NetworkPosterior",
    "NoiseAwareFamilyPosterior",
    "PlugInPosterior",
    "PointEstimate",
    "PooledEstimate",
    "Posterior",
    "ProportionsPosterior",
    "SampledParameters",
    "SampledPosterior",
    "SeparateTables",
    "SweepInfo",
    "TooExpensive",
    "TreePosterior",
    "Windows",
    "check_exact",
    "check_tree",
    "clipped_posterior",
    "exact_posterior",
    "family_posterior",
    "field_posterior",
    "gibbs_posterior",
    "gibbs_start",
    "gibbs_step",
    "law_of",
    "mixed_posterior",
    "normal_model",
    "normal_posterior",
    "plug_in_posterior",
    "point_estimate",
    "point_estimate_of",
    "pooled_estimate",
    "posterior",
    "proportions_posterior",
    "rank_in",
    "record_updates",
    "release_law",
    "release_law_of_total",
    "separate_tables",
    "sums_of",
    "total_of",
    "tree_posterior",
    "widen",
]

from typing import TYPE_CHECKING

from dpjax._later import names_of
from dpjax.families.conjugate_base import FamilyPosterior, Posterior
from dpjax.posteriors.base import NetworkPosterior
from dpjax.posteriors.choice import posterior
from dpjax.posteriors.estimate.point_estimate import (
    PointEstimate,
    point_estimate,
    point_estimate_of,
)
from dpjax.posteriors.estimate.pooled import PooledEstimate, pooled_estimate
from dpjax.posteriors.estimate.separate_tables import SeparateTables, separate_tables
from dpjax.posteriors.exact.clipped import ClippedPosterior, clipped_posterior
from dpjax.posteriors.exact.exact_posterior import (
    ExactPosterior,
    check_exact,
    exact_posterior,
    sums_of,
)
from dpjax.posteriors.exact.proportions import (
    ProportionsPosterior,
    proportions_posterior,
)
from dpjax.posteriors.exact.star_sums import rank_in
from dpjax.posteriors.exact.tree_posterior import (
    TreePosterior,
    check_tree,
    tree_posterior,
)
from dpjax.posteriors.exact.windows import TooExpensive, Windows, widen
from dpjax.posteriors.gibbs.chain_posterior import ChainDiagnostics, ChainPosterior
from dpjax.posteriors.gibbs.gibbs import gibbs_posterior
from dpjax.posteriors.gibbs.latent_records import (
    LatentRecords,
    SweepInfo,
    gibbs_start,
    gibbs_step,
)
from dpjax.posteriors.gibbs.normal_model import normal_model, normal_posterior
from dpjax.posteriors.hidden_totals.family_posterior import (
    NoiseAwareFamilyPosterior,
    family_posterior,
)
from dpjax.posteriors.laws import law_of
from dpjax.posteriors.methods import METHODS, InferenceMethod
from dpjax.posteriors.mixed.choice import mixed_posterior
from dpjax.posteriors.mixed.posterior import MixedPosterior
from dpjax.posteriors.plug_in import PlugInPosterior, plug_in_posterior
from dpjax.posteriors.random_fields.posterior import (
    FieldPosterior,
    field_posterior,
)
from dpjax.posteriors.sampled import SampledPosterior
from dpjax.posteriors.sampled_parameters import SampledParameters

if TYPE_CHECKING:
    from dpjax.posteriors.own_models import (
        record_updates,
        release_law,
        release_law_of_total,
        total_of,
    )


__getattr__, __dir__ = names_of(
    __name__,
    {
        "own_models": (
            "record_updates",
            "release_law",
            "release_law_of_total",
            "total_of",
        ),
    },
)
