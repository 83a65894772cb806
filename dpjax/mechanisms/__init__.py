"""How statistics are made private, one mechanism a module."""

__all__ = ["DiscreteLaplace", "Laplace", "Mechanism", "MechanismWithLaw"]

from dpjax.mechanisms.base import Mechanism, MechanismWithLaw
from dpjax.mechanisms.discrete_laplace import DiscreteLaplace
from dpjax.mechanisms.laplace import Laplace
