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
    "paid_chain",
    "price_of",
    "public_chain",
    "refuse_prior",
    "table",
    "table_width",
]

from dpjax.private_chains.annealing import AnnealedSample, annealed
from dpjax.private_chains.barker import barker
from dpjax.private_chains.chains import (
    PaidChain,
    PaidStep,
    PublicChain,
    paid_chain,
    public_chain,
)
from dpjax.private_chains.charging import charge
from dpjax.private_chains.price import price_of, refuse_prior, table_width
from dpjax.private_chains.updates import choice, collapsed, latents, table
