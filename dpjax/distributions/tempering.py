"""Tempered posteriors of any NumPyro model, sampled by Markov chains.

Tempering raises the likelihood of the observed sites to the power 1 / temperature.
"""

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
    """Markov chain draws of a tempered posterior, with convergence diagnostics.

    A tempered posterior has the likelihood raised to the power 1 / `temperature`.

    Args:
        samples: draws by name of the NumPyro site, with axes (chains, draws, ...).
        r_hat: split R-hat of every number, by site; near 1 after convergence.
        effective_size: effective sample size of every number, by site.
        divergences: number of divergent transitions; above 0, draws may be biased.
        temperature: inverse of the likelihood's power.

    Privacy:
        No guarantee that can be verified: see `tempered_posterior`.
    """

    samples: Sites
    r_hat: Sites
    effective_size: Sites
    divergences: Int[Array, ""]
    temperature: Float[Array, ""]

    @property
    def grade(self) -> str:
        """The name "mcmc": draws are approximate, with an unknown error."""
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
    """Sample a NumPyro model's posterior with the likelihood raised to 1 / temperature.

    Args:
        key: typed JAX key.
        model: NumPyro model that observes the records.
        temperature: inverse of the power, > 0; 1 gives the posterior itself.
        *args: positional arguments of the model.
        likelihood: names of the observed sites whose likelihood is raised to the power;
            None: all observed sites.
        warmup: adaptation draws of each chain, which are discarded.
        samples: draws of each chain.
        chains: number of chains, run in parallel.
        **kwargs: keyword arguments of the model.

    Privacy:
        No guarantee. A draw of the exact tempered posterior would be a private
        posterior sample, but a Markov chain only approximates it. Foulds et al.,
        Proposition 3, gives (ε, (1 + e^ε) δ) if the chain's distance from the posterior
        is at most δ for every data set and its start does not depend on the data. This
        δ cannot be observed, and neither R-hat nor the effective size bounds it. The
        result has grade "mcmc", which `release` refuses.

    Raises:
        ValueError: if an argument is out of its range, the model observes no site, or
            `likelihood` names a site that the model does not observe.

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
    with jax.default_matmul_precision("highest"):
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
    """Return a NumPyro model with the likelihood raised to the power 1 / temperature.

    Arguments are those of `tempered_posterior`. The result can be used with any of
    NumPyro's inference algorithms.
    """
    return _Tempered(model, 1 / jnp.asarray(temperature, float), likelihood)


class _Tempered(Messenger):
    """Scales observed sites only, unlike `numpyro.handlers.scale`."""

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
