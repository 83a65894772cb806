"""Building blocks of Gibbs samplers, many chains in the array."""

__all__ = [
    "draw_log_gamma",
    "draw_paths",
    "draw_states",
    "log_normalise",
    "path_counts",
]

from dpjax.gibbs.gamma import draw_log_gamma, log_normalise
from dpjax.gibbs.hidden_paths import draw_paths, draw_states, path_counts
