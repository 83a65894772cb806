"""Posterior samples as a posterior: averages over the few draws that were paid for."""

__all__ = ["SampledPosterior"]

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from dpjax._checks import typed_key, whole
from dpjax._types import Key, Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.columns import Table
from dpjax.data.schema import as_records
from dpjax.posteriors.prediction import joint, log_likelihood, sample_records


class SampledPosterior(eqx.Module):
    r"""The empirical law of m samples of all conditional probability tables.

    Args:
        net: the network.
        samples: tables, laid out as `net.layout`, a row a sample.

    Methods go under `equinox.filter_jit`.

    Privacy:
        Post-processing of a release: costs nothing. More samples cost more; averages
        over many of them are not what the ε of one sample pays for.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Appendix C.2.
    """

    net: BayesNet = eqx.field(static=True)
    samples: Float[Array, "samples m"]

    def mean(self) -> dict[str, Array]:
        """Average of the sampled tables, by variable: parents first, it last."""
        return self._by_name(self.samples.mean(axis=0))

    def tables(self) -> dict[str, Array]:
        """The sampled tables by variable, the samples on the first axis."""
        return self._by_name(self.samples)

    def sample(self, key: Key) -> dict[str, Array]:
        """One of the samples, at random."""
        typed_key(key=key)
        return self._by_name(jr.choice(key, self.samples))

    def predict_proba(self, rows: Records | Table, target: str) -> Float[Array, "n k"]:
        """The law of `target` in each record, given all other variables.

        The joint probability of record and level is averaged over the samples, then
        normalised. Arguments are those of `PlugInPosterior.predict_proba`.
        """
        index = self.net.index(target)
        records = as_records(rows, self.net.variables, target, ignore="*")
        return _predict(self.samples, records, self.net, index)

    def log_likelihood(self, rows: Records | Table) -> Float[Array, " n"]:
        """Log of each record's probability, averaged over the samples."""
        records = as_records(rows, self.net.variables, ignore="*")
        return _log_likelihood(self.samples, records, self.net)

    def sample_records(self, key: Key, n: int) -> Int[Array, "n d"]:
        """A synthetic data set: one of the samples, then n records by ancestry."""
        typed_key(key=key)
        whole(0, n=n)
        key_tables, key_records = jr.split(key)
        return sample_records(
            key_records, jr.choice(key_tables, self.samples), self.net, n
        )

    def _by_name(self, vector: Array) -> dict[str, Array]:
        return dict(zip(self.net.names, self.net.layout.split(vector), strict=True))


@partial(jax.jit, static_argnames=("net", "target"))
def _predict(samples: Array, records: Array, net: BayesNet, target: int) -> Array:
    logs = jax.lax.map(lambda theta: joint(theta, records, net, target), samples)
    return jax.nn.softmax(jax.nn.logsumexp(logs, axis=0), axis=-1)


@partial(jax.jit, static_argnames="net")
def _log_likelihood(samples: Array, records: Array, net: BayesNet) -> Array:
    logs = jax.lax.map(lambda theta: log_likelihood(theta, records, net), samples)
    return jax.nn.logsumexp(logs, axis=0) - jnp.log(jnp.asarray(len(samples), float))
