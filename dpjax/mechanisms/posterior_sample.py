r"""Samples from the truncated, tempered posterior of a network, in real arithmetic.

For studies only, since floats leak data. Publish by `NetworkPosteriorSampler`.
"""

import math
from fractions import Fraction

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int

from dpjax import distributions
from dpjax._checks import one_of, positive, typed_key
from dpjax._types import Key, Scalar, Scalars
from dpjax.mechanisms.base import Mechanism
from dpjax.privacy import ADJACENCIES, REPLACE_ONE, Adjacency, PureDP
from dpjax.tables.layout import TableLayout


class PosteriorSample(Mechanism):
    r"""Draw all tables θ ≥ ω from $\propto \prod \theta^{\alpha - 1 + N/T}$.

    The product is over all cells of the tables, with counts N and Dirichlet prior α.

    Args:
        layout: table layout (`BayesNet.layout`); a variable's own levels are the last
            axis of its table.
        temperature: T > 0; the likelihood is taken to the power 1/T. Traced; an array
            with a leading axis makes a stack of mechanisms, for `sweep`.
        omega: smallest probability of a level, below 1 / (number of levels): one number
            for all cells, or one for each cell.
        neighbours: which data sets are neighbours, "replace-one" or "add-remove".
        prior: Dirichlet parameter α of every cell, > 0.

    Privacy:
        In real arithmetic, a sample costs $\sum_i 2 C_i / T$ under replace-one and half
        of that under add-remove, with $C_i = \ln((1 - (r_i - 1)\omega)/\omega)$ for a
        variable of $r_i$ levels. The posterior is renormalised on its truncated
        support; clipping draws from the whole simplex would not be private. Floats leak
        data: do not publish the draws.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Theorem 4, part 1, and Appendix C.2;
        Foulds et al. (UAI-16), Theorem 2 and equations 14 and 15.
    """

    layout: TableLayout = eqx.field(static=True)
    temperature: Scalars
    omega: Scalar | Float[Array, " m"]
    neighbours: Adjacency = eqx.field(static=True)
    prior: Scalar = 1.0

    def __check_init__(self):
        one_of(ADJACENCIES, neighbours=self.neighbours)
        positive(temperature=self.temperature, omega=self.omega, prior=self.prior)

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours: "replace-one" or "add-remove"."""
        return self.neighbours

    def sample(self, key: Key, exact: Int[Array, " m"]) -> Float[Array, " m"]:
        """Draw the vector of all tables, given the exact counts of all tables."""
        typed_key(key=key)
        counts = exact.astype(float) / jnp.asarray(self.temperature, float)
        least = jnp.broadcast_to(jnp.asarray(self.omega, float), counts.shape)
        concentration = jnp.asarray(self.prior, float) + counts
        keys = iter(jr.split(key, len(self.layout.matrices_of_rows)))

        def draw(rows, cells):
            present = jnp.asarray(cells < self.layout.length)
            return _sample_rows(next(keys), rows, least[cells[:, 0]], present)

        return self.layout.map_rows(concentration, draw, 1)

    def guarantee(self) -> PureDP:
        """Return the guarantee of pure DP, with ε rounded up, for any n.

        `omega` and `temperature` must be single numbers, and not traced by JAX.
        """
        omega, total = float(self.omega), 0.0
        for group in self.layout.groups:
            levels = self.layout.sizes[group[-1]]
            total += math.log((1 - (levels - 1) * omega) / omega)
        times = 2 if self.adjacency == REPLACE_ONE else 1
        loss = times * total / float(self.temperature)
        return PureDP(
            Fraction(math.ceil(loss * (1 << 30) + 1), 1 << 30), self.adjacency
        )


def _sample_rows(
    key: Key,
    concentration: Float[Array, "j k"],
    least: Float[Array, " j"],
    present: Bool[Array, "j k"],
) -> Float[Array, "j k"]:
    """Draw rows of a table; rows of two levels have a faster method."""
    if concentration.shape[1] > 2:
        given = concentration, least  # the bound depends on how many are present
        law = distributions.TruncatedDirichlet(*given, validate_args=False)
        return law.sample_present(key, present)
    zero, one = concentration[:, 0], concentration[:, 1]
    share = distributions.TruncatedBeta(one, zero, least, 1 - least).sample(key)
    return jnp.stack([1 - share, share], axis=1)
