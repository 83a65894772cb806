"""Posteriors at a temperature, of any NumPyro model, by Markov chains.

The likelihood of the observed sites is raised to one over the temperature.
"""

__all__ = ["TemperedSamples", "tempered", "tempered_posterior"]

from collections.abc import Callable, Collection

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int
from numpyro import diagnostics, handlers
from numpyro.infer import MCMC, NUTS
from numpyro.primitives import Messenger

from dpjax._checks import positive, typed_key, whole
from dpjax._types import Key, Scalar

Sites = dict[str, Array]


class TemperedSamples(eqx.Module):
    """Draws of Markov chains for a posterior at a temperature, and how well they mix.

    Args:
        samples: by site, chains and draws first.
        r_hat: split R-hat of every number, by site; near 1 once chains agree.
        effective_size: how many independent draws the chains are worth, likewise.
        divergences: draws whose trajectory broke down; more than none is a warning.
        temperature: the power of the likelihood is one over it.

    Privacy:
        None that anybody could check: see `tempered_posterior`.
    """

    samples: Sites
    r_hat: Sites
    effective_size: Sites
    divergences: Int[Array, ""]
    temperature: Float[Array, ""]

    @property
    def grade(self) -> str:
        """How near the draws are to the law that they stand for: not known."""
        return "mcmc"


def tempered_posterior(
    key: Key,
    model: Callable,
    temperature: Scalar,
    *args: object,
    likelihood: Collection[str] | None = None,
    warmup: int = 1000,
    samples: int = 1000,
    chains: int = 4,
    **kwargs: object,
) -> TemperedSamples:
    """Sample a NumPyro model's posterior at a temperature by NUTS.

    Args:
        key: typed.
        model: NumPyro model, which observes the records it is given.
        temperature: > 0; 1 is the posterior itself.
        *args: arguments of the model.
        likelihood: names of the observed sites to temper; all of them unless given.
        warmup: draws of each chain for adaptation, left out.
        samples: draws of each chain.
        chains: how many, run side by side.
        **kwargs: further arguments of the model.

    Privacy:
        None as such. A draw of the exact law at temperature T would cost the privacy
        of the posterior sample, but a Markov chain only nears that law. Foulds et al.,
        Proposition 3, makes (ε, (1 + e^ε) δ) of it for a caller who states how far the
        chain is off, δ, for every data set: a number that nobody can observe, and that
        neither R-hat nor the effective size bounds. A start that depends on the data
        breaks it. The result is of grade "mcmc", which `release` refuses.

    Raises:
        ValueError: if an argument is out of its range, or the model observes nothing,
            or not what `likelihood` names.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), sections 3.1 and 4 and
        Proposition 3; Hoffman & Gelman (JMLR 2014) for NUTS.
    """
    typed_key(key=key)
    positive(temperature=temperature)
    whole(1, warmup=warmup, samples=samples, chains=chains)
    key_look, key_run = jr.split(key)
    _check_observed(handlers.seed(model, key_look), likelihood, args, kwargs)
    chain = MCMC(
        NUTS(tempered(model, temperature, likelihood)),
        num_warmup=warmup,
        num_samples=samples,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    chain.run(key_run, *args, **kwargs)
    drawn = chain.get_samples(group_by_chain=True)
    return TemperedSamples(
        drawn,
        _for_each_site(diagnostics.split_gelman_rubin, drawn),
        _for_each_site(diagnostics.effective_sample_size, drawn),
        jnp.sum(chain.get_extra_fields()["diverging"]),
        jnp.asarray(temperature, float),
    )


def tempered(
    model: Callable, temperature: Scalar, likelihood: Collection[str] | None = None
) -> Callable:
    """The model with its likelihood raised to one over the temperature.

    Args:
        model: NumPyro model.
        temperature: > 0.
        likelihood: names of the observed sites to temper; all of them unless given.

    Returns:
        A NumPyro model, for any of NumPyro's inference algorithms.
    """
    return _Tempered(model, 1 / jnp.asarray(temperature, float), likelihood)


class _Tempered(Messenger):
    """Scales observed sites, where `numpyro.handlers.scale` scales all."""

    def __init__(
        self,
        model: Callable,
        power: Float[Array, ""],
        likelihood: Collection[str] | None,
    ):
        self.scale = handlers.scale(scale=power)
        self.likelihood = likelihood
        Messenger.__init__(self, model)

    def process_message(self, msg: dict) -> None:
        if msg["type"] == "sample" and msg["is_observed"]:
            if self.likelihood is None or msg["name"] in self.likelihood:
                self.scale.process_message(msg)


def _check_observed(
    model: Callable, likelihood: Collection[str] | None, args: tuple, kwargs: dict
) -> None:
    sites = handlers.trace(model).get_trace(*args, **kwargs).values()
    observed = {
        site["name"]
        for site in sites
        if site["type"] == "sample" and site["is_observed"]
    }
    missing = [name for name in likelihood or () if name not in observed]
    if missing:
        raise ValueError(
            f"`likelihood` must name observed sites of the model, got {missing[0]!r}."
        )
    if not observed:
        raise ValueError("`model` must observe a site: pass `obs` to `numpyro.sample`.")


def _for_each_site(diagnostic: Callable, samples: Sites) -> Sites:
    return jax.tree.map(lambda draws: jnp.asarray(diagnostic(draws)), samples)
