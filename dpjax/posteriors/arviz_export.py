"""Posteriors for ArviZ: the one module that touches it."""

__all__ = ["to_arviz"]

from typing import TYPE_CHECKING, Any

import jax
import jax.random as jr
import numpy as np

from dpjax._checks import typed_key, whole
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.base import NetworkPosterior, Posterior

if TYPE_CHECKING:
    az: Any = None
else:
    try:
        import arviz as az
    except Exception:  # absent or broken: said when it is wanted
        az = None


def to_arviz(key: Key, posterior: Posterior, draws: int = 1000) -> Any:
    """Draws of a posterior with named axes.

    Args:
        key: typed.
        posterior: any of dpjax's. Of Markov chains over a network the chains' own draws
            are exported, and `key` and `draws` are not used.
        draws: independent ones of any other posterior, as one chain.

    Returns:
        `arviz.InferenceData` before ArviZ 1.0, `xarray.DataTree` after. The axes of a
        network's tables are called after their variables, "x_level", parents first.

    Privacy:
        Post-processing: costs nothing.

    Raises:
        ImportError: if ArviZ is not installed.
        ValueError: if the key is not typed or `draws` not at least 1.
    """
    if az is None:
        raise ImportError('this needs ArviZ: pip install "dpjax[arviz]"')
    typed_key(key=key)
    whole(1, draws=draws)
    values = posterior.chains()
    if values is None:
        drawn = jax.vmap(posterior.sample)(jr.split(key, draws))
        drawn = drawn if isinstance(drawn, dict) else {"parameter": drawn}
        values = {name: value[None] for name, value in drawn.items()}
    arrays = {name: np.asarray(value) for name, value in values.items()}
    axes = {}
    if isinstance(posterior, NetworkPosterior):
        axes = {"dims": _dims(posterior.net), "coords": _coords(posterior.net)}
    if int(az.__version__.split(".")[0]) >= 1:
        return az.from_dict({"posterior": arrays}, **axes)
    return az.from_dict(posterior=arrays, **axes)


def _dims(net: BayesNet) -> dict[str, list[str]]:
    """Axes of every table: no axis may have the name of the table itself."""
    return {
        net.names[family[-1]]: [f"{net.names[i]}_level" for i in family]
        for family in net.families
    }


def _coords(net: BayesNet) -> dict[str, list]:
    return {f"{x.name}_level": list(x.levels) for x in net.variables}
