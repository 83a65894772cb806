"""Posteriors that know about their own noise: the hidden exact counts are summed over.

A release states the law of its noise. To take the noisy numbers at their word makes
posteriors too narrow; here the exact statistic is one more unknown.
"""

__all__ = [
    "ChainDiagnostics",
    "ChainPosterior",
    "ExactPosterior",
    "LatentRecords",
    "NoiseAwareFamilyPosterior",
    "PointEstimate",
    "ProportionsPosterior",
    "SweepInfo",
    "TooDear",
    "TreePosterior",
    "Windows",
    "check_exact",
    "check_tree",
    "exact_posterior",
    "family_posterior",
    "gibbs_posterior",
    "gibbs_start",
    "gibbs_step",
    "law_of",
    "normal_model",
    "normal_posterior",
    "point_estimate",
    "point_estimate_of",
    "proportions_posterior",
    "rank_in",
    "sums_of",
    "tree_posterior",
    "widen",
]

from dpjax.noise_aware.chains.chain_posterior import ChainDiagnostics, ChainPosterior
from dpjax.noise_aware.chains.gibbs import gibbs_posterior
from dpjax.noise_aware.chains.latent_records import (
    LatentRecords,
    SweepInfo,
    gibbs_start,
    gibbs_step,
)
from dpjax.noise_aware.chains.normal_model import normal_model, normal_posterior
from dpjax.noise_aware.estimate.point_estimate import (
    PointEstimate,
    point_estimate,
    point_estimate_of,
)
from dpjax.noise_aware.exact.exact_posterior import ExactPosterior, exact_posterior
from dpjax.noise_aware.exact.proportions import (
    ProportionsPosterior,
    proportions_posterior,
)
from dpjax.noise_aware.exact.releases import check_exact, sums_of
from dpjax.noise_aware.exact.star_inputs import Windows
from dpjax.noise_aware.exact.star_sums import rank_in
from dpjax.noise_aware.exact.tree_posterior import (
    TreePosterior,
    check_tree,
    tree_posterior,
)
from dpjax.noise_aware.exact.windows import TooDear, widen
from dpjax.noise_aware.families.family_posterior import (
    NoiseAwareFamilyPosterior,
    family_posterior,
)
from dpjax.noise_aware.laws import law_of
