"""The noise-aware method of inference for networks with numeric leaves."""

from typing import Any

from dpjax._checks import whole
from dpjax._types import Key, Scalar
from dpjax.posteriors.choice import posterior
from dpjax.posteriors.methods import METHODS, InferenceMethod
from dpjax.posteriors.mixed.parts import is_mixed, posterior_of_parts
from dpjax.posteriors.mixed.posterior import MixedPosterior
from dpjax.releases.released import Released


def mixed_posterior(
    key: Key,
    released: Released,
    prior: Any = None,
    *,
    chains: int = 4,
    warmup: int = 200,
    draws: int = 300,
) -> MixedPosterior:
    """Infer a network with numeric leaves, given noisy counts and totals.

    The tables are inferred by the first method of `posterior` that suits a release of
    their counts, and the leaves by Markov chains over the hidden totals of each row.

    Args:
        key: key for Markov chains.
        released: a release of `MixedTotals` with Laplace noise.
        prior: a Dirichlet parameter for all cells of tables; or a dictionary with a
            table of such parameters for every categorical variable or for none, and
            `NormalInverseGammaParameters` for some leaves. By default 1, and for leaves
            `Gaussian.prior`, which weighs one record.
        chains: number of Markov chains of each row of a leaf.
        warmup: number of discarded first draws of each chain.
        draws: number of draws kept of each chain. Densities of numbers far from a row's
            mean depend on few of the draws: more make predictions more exact.

    Privacy:
        Post-processing has no privacy cost, and may be repeated with other priors.

    Raises:
        ValueError: if the release is another one, its numbers do not fit 32 bits, or
            the prior is not positive or has the wrong shape, or a setting is not
            positive.
    """
    whole(1, chains=chains, warmup=warmup, draws=draws)
    sizes = chains, warmup, draws

    def tables(key: Key, part: Released, prior: Any) -> Any:
        return posterior(part, prior, key=key)

    return posterior_of_parts(key, released, prior, tables, aware=True, sizes=sizes)


@METHODS.add
class _Mixed(InferenceMethod):
    kind, rank = "mixed", 60

    @classmethod
    def suits(cls, released: Released) -> bool:
        return is_mixed(released) and not released.is_wide

    @classmethod
    def infer(
        cls, released: Released, prior: Any, key: Key, increment: Scalar
    ) -> MixedPosterior:
        return mixed_posterior(key, released, prior)
