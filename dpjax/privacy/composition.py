"""Privacy cost of several releases together, and of a release from a sample.

Numbers are exact fractions; irrational results are rounded up to a fraction. Each
function requires the adjacency for which its theorem is proved (`docs/proofs.md`,
section 14).
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import cast

from dpjax._checks import one_of
from dpjax.privacy.guarantee import Guarantee, Kind, one_adjacency
from dpjax.privacy.kinds import ApproximateDP, PureDP
from dpjax.privacy.rounding import (
    Epsilon,
    exact_epsilon,
    exponential_above,
    logarithm_above,
    root_above,
    rounded_up,
)
from dpjax.privacy.sensitivity import ADD_REMOVE, ADJACENCIES, REPLACE_ONE, Adjacency
from dpjax.privacy.unit import per_row

_PARTS = {"index": REPLACE_ONE, "value": ADD_REMOVE}  # adjacency of the cost of a part
_SHORT_OF = Fraction(1, 10**11)  # share of a cost, more than rounding takes
_SAMPLING = {"poisson": ADD_REMOVE, "fixed-size": REPLACE_ONE}


def basic(*costs: Kind) -> Kind:
    r"""Add up the costs of several releases, by basic composition.

    The result is $\sum_i \epsilon_i$ and, if costs have a δ, $\sum_i \delta_i$. It is
    valid even if each release is chosen after seeing the earlier releases.

    Args:
        costs: costs of releases from the same table, at least one.

    Returns:
        The sum: a guarantee of the class of the first cost to whose class all costs
        can be converted (`PureDP` converts to `ApproximateDP`).

    Raises:
        ValueError: if there is no cost, the adjacencies differ, the costs cannot be
            converted to one class, or the sum of the δs is at least 1.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), Theorem 1.
    """
    one_adjacency(costs)  # raises if there is no cost
    return cast(Kind, costs[0].composed(*costs[1:]))


def parallel(costs: Sequence[Guarantee], parts: str, adjacency: Adjacency) -> PureDP:
    r"""Return the cost of one release from each of several disjoint parts of a table.

    With `parts` "index", the position of a record in the table determines its part. A
    replaced record stays in its part, so that one part changes, and the cost is
    $\max_i \epsilon_i$ under replace-one. Add-remove is refused, since all later
    records move if a record appears or disappears.

    With `parts` "value", the record's content (a column, or a hash of an identifier)
    determines its part. The size of a part is then private, so its release must be
    private under add-remove. Under add-remove one part changes, and the cost is
    $\max_i \epsilon_i$. Under replace-one a record can leave one part and enter
    another, and the cost is $2 \max_i \epsilon_i$.

    Args:
        costs: pure-DP costs of the releases from the parts for one row, at least one;
            for replace-one if `parts` is "index", for add-remove if it is "value". The
            cost for a person is `of_group` of the result.
        parts: "index" or "value".
        adjacency: "replace-one" or "add-remove", for the whole table.

    Returns:
        The cost of all releases together, under `adjacency`.

    Raises:
        ValueError: if there is no cost, a cost is for several rows, or an adjacency is
            not one of those above.
    """
    one_of(tuple(_PARTS), parts=parts)
    one_of(ADJACENCIES, adjacency=adjacency)
    if parts == "index" and adjacency == ADD_REMOVE:
        raise ValueError(
            "`parts` must be 'value' under 'add-remove', where a record that goes "
            f"moves all later ones to other places, got {parts!r}."
        )
    given = one_adjacency(costs)
    if given != _PARTS[parts]:
        raise ValueError(
            f"`costs` must be for {_PARTS[parts]!r}, under which a part by {parts} "
            f"changes, got {given!r}."
        )
    largest = max(PureDP.of(per_row(x, "costs"), "costs").epsilon for x in costs)
    return PureDP(largest if adjacency == given else 2 * largest, adjacency)


def advanced(cost: Guarantee, times: int, delta: Epsilon) -> ApproximateDP:
    r"""Return the (ε', δ) cost of k releases of equal cost ε, by advanced composition.

    Here $\epsilon' = \sqrt{2k \ln(1/\delta)}\,\epsilon + k\epsilon(e^\epsilon - 1)$.
    If $\epsilon' \ge k\epsilon$, the result is (kε, 0) instead, as from `basic`.

    Args:
        cost: pure-DP cost of one release, which may depend on the earlier releases.
        times: number of releases k, at least 1.
        delta: δ of all releases together, > 0 and below 1.

    Returns:
        The guarantee of all releases together; its ε is rounded up.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Dwork, Rothblum & Vadhan (FOCS 2010); mentioned by Foulds, Geumlek, Welling &
        Chaudhuri (UAI-16), section 2.1.3.
    """
    pure = PureDP.of(cost, "cost")
    simple, approximate = pure.repeated(times).epsilon, ApproximateDP.of(pure)
    chance = _below_one(exact_epsilon(delta, "delta"), "delta")
    if pure.epsilon < 1:  # else e^ε - 1 > 1, so that ε' > kε
        spread = root_above(2 * int(times) * logarithm_above(1 / chance))
        drift = int(times) * (exponential_above(pure.epsilon) - 1)
        epsilon = rounded_up(pure.epsilon * (spread + drift))
        if epsilon < simple:
            return replace(approximate, epsilon=epsilon, delta=chance)
    return replace(approximate, epsilon=simple)


def subsampled(cost: Guarantee, rate: Epsilon, sampling: str) -> Guarantee:
    r"""Return the cost of a release from a secret random sample of the records.

    It is $(\ln(1 + q(e^\epsilon - 1)), q\delta)$ if the release depends only on the
    values of the sampled records, so that its output cannot show which records were
    sampled. If a Gibbs sampler updates latent variables of random records, its output
    can show that: sampling does not lower its cost, contrary to Foulds et al. (UAI-16),
    section 4.1.

    Args:
        cost: cost of the release from the sample, for one row: (ε, δ)-DP, or ε-DP, for
            which δ = 0.
        rate: sampling rate q, > 0 and at most 1.
        sampling: "poisson" if each record is sampled independently with probability q;
            `cost` must then be for add-remove. "fixed-size" if qn of n records are
            sampled without replacement; `cost` must then be for replace-one.

    Returns:
        The cost for the whole table, of the class of `cost`; its ε is rounded up, and
        is at most that of `cost`.

    Raises:
        ValueError: if `rate` is outside its range, or `cost` has another adjacency or
            kind, or is for several rows.

    Reference:
        Balle, Barthe & Gaboardi (NeurIPS 2018).
    """
    row, share = _sampling(cost, rate, sampling)
    epsilon = row.numbers["epsilon"]
    unsampled = (1 - share) * exponential_above(-epsilon)  # bounded for any ε
    loss = rounded_up(epsilon + logarithm_above(share + unsampled))
    return _changed(row, min(loss, epsilon), share)


def for_sample(cost: Guarantee, rate: Epsilon, sampling: str) -> Guarantee:
    r"""Return what a release from a secret random sample of the records may cost.

    It is $(\ln(1 + (e^\epsilon - 1) / q), \delta / q)$ with ε rounded down, so that
    `subsampled` of the result is at most `cost`, and nearly as large.

    Args:
        cost: cost for the whole table, as that of `subsampled`.
        rate, sampling: as for `subsampled`.

    Raises:
        ValueError: as for `subsampled`, or if δ / q is 1 or more.
    """
    row, share = _sampling(cost, rate, sampling)
    below = row.numbers["epsilon"] * (1 - _SHORT_OF)
    odds = 1 + (1 / exponential_above(-below) - 1) / share
    return _changed(row, -rounded_up(logarithm_above(1 / odds)), 1 / share)


def _sampling(
    cost: Guarantee, rate: Epsilon, sampling: str
) -> tuple[Guarantee, Fraction]:
    """Return the cost of one row and the rate; `ValueError` if they do not fit."""
    one_of(tuple(_SAMPLING), sampling=sampling)
    if cost.adjacency != _SAMPLING[sampling]:
        raise ValueError(
            f"`cost` must be for {_SAMPLING[sampling]!r} with {sampling} sampling, got "
            f"{cost.adjacency!r}."
        )
    share = exact_epsilon(rate, "rate")
    if share > 1:
        raise ValueError(f"`rate` must be at most 1, got {rate}.")
    row = per_row(cost, "cost")
    return row if row.kind == PureDP.kind else ApproximateDP.of(row, "cost"), share


def _changed(row: Guarantee, epsilon: Fraction, factor: Fraction) -> Guarantee:
    """Return the guarantee with this ε and `factor` times its δ, if it has one."""
    delta = {x: factor * y for x, y in row.numbers.items() if x != "epsilon"}
    return replace(row, epsilon=epsilon, **delta)


def converged_within(cost: Guarantee, total_variation: Epsilon) -> ApproximateDP:
    r"""Return the cost of a sampler that approximates an exact sampler of known cost.

    The cost is $(\epsilon, (1 + e^\epsilon)\delta)$ if, on every data set, the total
    variation $\sup_S |P(S) - P'(S)| = \frac{1}{2}\|P - P'\|_1$ between the law P' of
    the sampler and the exact law P is at most δ. The bound is attained. Proposition 3
    assumes $\|P - P'\|_1 \le \delta$ instead, for which `total_variation` is δ/2.

    Args:
        cost: pure-DP cost ε of one exact sample.
        total_variation: δ, an assumption of the caller that must hold for all data
            sets. It cannot be observed: no diagnostic of a chain bounds it.

    Returns:
        The approximate-DP guarantee; its δ is rounded up by less than 1 part in 10^12.

    Raises:
        ValueError: if the distance is not a finite number > 0, or is so large that the
            result would guarantee nothing.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), Proposition 3.
    """
    pure = PureDP.of(cost, "cost")
    distance = exact_epsilon(total_variation, "total_variation")
    factor = 1 + exponential_above(min(pure.epsilon, Fraction(100)))  # beyond: empty
    delta = rounded_up(factor * distance)
    if delta >= 1:
        raise ValueError(
            "`total_variation` must be below 1 / (1 + exp(ε)), here "
            f"{float(1 / factor):.3g}, to promise anything, got {total_variation}."
        )
    return replace(ApproximateDP.of(pure), delta=delta)


def _below_one(value: Fraction, name: str) -> Fraction:
    if value >= 1:
        raise ValueError(f"`{name}` must be below 1, got {float(value)}.")
    return value
