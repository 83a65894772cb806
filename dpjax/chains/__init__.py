"""Gibbs samplers, and chains whose privacy cost is charged to a ledger."""

__all__ = [
    "AnnealedSample",
    "ChargedChain",
    "ChargedStep",
    "PublicChain",
    "State",
    "Step",
    "annealed",
    "barker",
    "block",
    "charge",
    "charged_chain",
    "choice",
    "collapsed",
    "collapsed_weights",
    "draw_beta",
    "draw_categorical",
    "draw_dirichlet",
    "draw_gamma",
    "draw_gaussian",
    "draw_gaussian_vector",
    "draw_log_gamma",
    "draw_paths",
    "draw_states",
    "in_turn",
    "latents",
    "log_normalise",
    "path_counts",
    "price_of",
    "public_chain",
    "refuse_prior",
    "run",
    "table",
    "table_width",
    "update_sites",
    "update_sites_collapsed",
]

from dpjax.chains.annealing import AnnealedSample, annealed
from dpjax.chains.barker import barker
from dpjax.chains.blocks import State, Step, block, in_turn, run
from dpjax.chains.hidden_paths import (
    collapsed_weights,
    path_counts,
    update_sites,
    update_sites_collapsed,
)
from dpjax.chains.laws import draw_categorical, draw_gaussian, draw_gaussian_vector
from dpjax.chains.path_draws import draw_paths, draw_states
from dpjax.chains.price import charge, price_of, refuse_prior, table_width
from dpjax.chains.private_chain import (
    ChargedChain,
    ChargedStep,
    PublicChain,
    charged_chain,
    public_chain,
)
from dpjax.chains.updates import choice, collapsed, latents, table
from dpjax.distributions.gamma_draws import (
    draw_beta,
    draw_dirichlet,
    draw_gamma,
    draw_log_gamma,
    log_normalise,
)
