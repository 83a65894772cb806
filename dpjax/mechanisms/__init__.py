"""How statistics are made private, one mechanism a module."""

__all__ = [
    "CellMass",
    "DiscreteLaplace",
    "ExactMechanism",
    "FamilyPosterior",
    "GridPosterior",
    "Laplace",
    "Mechanism",
    "MechanismWithLaw",
    "ParameterMechanism",
    "PosteriorSample",
    "SplitLaplace",
]

from dpjax.mechanisms.base import (
    ExactMechanism,
    Mechanism,
    MechanismWithLaw,
    ParameterMechanism,
)
from dpjax.mechanisms.cell_mass import CellMass
from dpjax.mechanisms.discrete_laplace import DiscreteLaplace
from dpjax.mechanisms.family_posterior import FamilyPosterior
from dpjax.mechanisms.grid_posterior import GridPosterior
from dpjax.mechanisms.laplace import Laplace
from dpjax.mechanisms.posterior_sample import PosteriorSample
from dpjax.mechanisms.split_laplace import SplitLaplace
