"""Building blocks of Gibbs samplers, many chains in the array."""

__all__ = [
    "State",
    "Step",
    "block",
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
    "log_normalise",
    "path_counts",
    "run",
    "update_sites",
    "update_sites_collapsed",
]

from dpjax.gibbs.blocks import State, Step, block, in_turn, run
from dpjax.gibbs.gamma import draw_log_gamma, log_normalise
from dpjax.gibbs.hidden_paths import draw_paths, draw_states, path_counts
from dpjax.gibbs.laws import (
    draw_beta,
    draw_categorical,
    draw_dirichlet,
    draw_gamma,
    draw_gaussian,
    draw_gaussian_vector,
)
from dpjax.gibbs.sites import (
    collapsed_weights,
    update_sites,
    update_sites_collapsed,
)
