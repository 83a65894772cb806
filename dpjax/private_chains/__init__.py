"""Markov chains on private data: on a release, or paid for at each update."""

__all__ = [
    "AnnealedSample",
    "PaidChain",
    "PaidStep",
    "PublicChain",
    "annealed",
    "barker",
    "charge",
    "choice",
    "collapsed",
    "latents",
    "log_acceptance",
    "paid_chain",
    "price_of",
    "public_chain",
    "table",
    "table_width",
]

from dpjax.private_chains.annealing import AnnealedSample, annealed
from dpjax.private_chains.barker import barker, log_acceptance
from dpjax.private_chains.chains import (
    PaidChain,
    PaidStep,
    PublicChain,
    paid_chain,
    public_chain,
)
from dpjax.private_chains.charging import charge
from dpjax.private_chains.price import price_of, table_width
from dpjax.private_chains.updates import choice, collapsed, latents, table
