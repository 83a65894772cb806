"""What Zhang et al. say of how noisy the tables of Algorithm 2 are."""

__all__ = ["SECTION_5_1", "THEOREM_3"]

import itertools
import math

import numpy as np
from jaxtyping import Float

from dpjax.audits import neighbouring
from dpjax.data.bayes_net import BayesNet
from dpjax.privacy import REPLACE_ONE
from dpjax.theory import remark_1, theorem_3
from papers.networks import (
    CLIQUE,
    NAIVE_BAYES,
    TINY,
    all_records,
    counts_of_each,
    signs,
    subsets,
)
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

_DELTA = 0.2


def _theorem_3(setting: Setting) -> Reproduced:
    draws, epsilon, rows = 5_000 if setting.quick else 50_000, 0.5, []
    rng, nets = setting.rng(), {**TINY, "clique of 5": CLIQUE}
    for (name, net), t in itertools.product(nets.items(), (0.0, 0.1, 2.0)):
        limits = np.array(list(theorem_3(net, epsilon, _DELTA, t).values()))
        errors = _errors(rng, net, epsilon, t, draws)
        kept = float((errors <= limits).all(axis=1).mean())
        noise = limits - 4 * t * _size(net) ** 2 / epsilon
        parents = np.array([len(group) for group in net.parents])
        better = noise * 2.0 ** (-(parents + 1) / 2) + limits - noise
        sharper = float((errors <= better).all(axis=1).mean())
        used = float((errors / limits).mean())
        rows.append((name, t, kept, sharper, used))
    kept, sharper = np.array([row[2:4] for row in rows]).T
    error = math.sqrt(_DELTA * (1 - _DELTA) / draws)  # at 1 - δ
    claims = [
        Claim.positive(
            "with probability at least 1 - δ = 0.8 every table is within (4|N|/ε)(2^π "
            "ln(|N|/δ) + t|N|) of the exact one in L1, all families at once",
            kept - (1 - _DELTA),
            error,
        ),
        Claim.positive(
            "that is loose: with 2^((π - 1)/2) in place of 2^π it holds too",
            sharper - (1 - _DELTA),
            error,
            by="dpjax",
        ),
    ]
    return Reproduced(
        f"{draws:,} draws of what Algorithm 2 adds to the tables, ε = {epsilon:g}. All "
        f"bounds at once were kept in {min(kept):.1%} of the draws or more (1 - δ = "
        f"{1 - _DELTA:.0%}); the errors were {min(row[-1] for row in rows):.0%} to "
        f"{max(row[-1] for row in rows):.0%} of them on average.",
        {"": table(("network", "t", "kept", "sharper", "used"), rows)},
        {},
        claims,
    )


def _size(net: BayesNet) -> int:
    return len({gamma for family in net.families for gamma in subsets(family)})


def _errors(
    rng: np.random.Generator, net: BayesNet, epsilon: float, t: float, draws: int
) -> Float[np.ndarray, "draws d"]:
    """L1 norms of what noise and increment add to each family's table."""
    closure = sorted({gamma for family in net.families for gamma in subsets(family)})
    noise = rng.laplace(0, 2 * len(closure) / epsilon, (draws, len(closure)))
    noise[:, 0] += 4 * t * len(closure) ** 2 / epsilon
    found = []
    for family in net.families:
        inside = list(subsets(family))
        turned = [
            signs(len(family), [family.index(i) for i in g]).ravel() for g in inside
        ]
        cells = noise[:, [closure.index(gamma) for gamma in inside]] @ np.array(turned)
        found.append(np.abs(cells).sum(axis=1) / 2 ** len(family))
    return np.stack(found, axis=1)


def _section_5_1(setting: Setting) -> Reproduced:
    noise = remark_1(NAIVE_BAYES, 1)
    rows = [(name, *spread) for name, spread in noise.items()]
    ratios = np.array([cell.algorithm_2 / cell.algorithm_1 for cell in noise.values()])
    changes = {n: _change(TINY["naive Bayes"], n) for n in (1, 2, 3)}
    claims = [
        Claim.certain(
            "noise does not depend on the size of the training set: updates change as "
            "much with 1, 2 and 3 records",
            len(set(changes.values())) == 1,
        ),
        Claim.certain(
            "it is similar in scale: a cell of a pair of variables has the same "
            "standard deviation under both, one of the class within a factor of 1.5",
            bool(math.isclose(ratios[-1], 1) and ratios.max() < 1.5),
        ),
    ]
    return Reproduced(
        "Naive Bayes with 16 attributes, ε = 1: noise on a cell of a pair of variables "
        f"has standard deviation {rows[-1][1]:.1f} under Algorithm 1 and "
        f"{rows[-1][2]:.1f} under Algorithm 2 (one of the class alone: "
        f"{rows[0][1]:.1f} and {rows[0][2]:.1f}), in records, however many there are.",
        {"": table(("variable", "algorithm_1", "algorithm_2", "ours"), rows)},
        {},
        claims,
    )


THEOREM_3 = Reproduction(
    "zhang-theorem-3",
    "How far off the tables of Algorithm 2 are",
    "Zhang et al., Theorem 3",
    _theorem_3,
)


def _change(net: BayesNet, n: int) -> int:
    """The largest L1 change of the updates, over all neighbours of n records."""
    one = {
        tuple(record): counts
        for record, counts in zip(
            all_records(net).tolist(), counts_of_each(net), strict=True
        )
    }
    return max(
        int(
            np.abs(
                sum(one[tuple(x)] for x in data.tolist())
                - sum(one[tuple(x)] for x in other.tolist())
            ).sum()
        )
        for data, other in neighbouring(net.sizes, n, REPLACE_ONE)
    )


SECTION_5_1 = Reproduction(
    "zhang-section-5-1",
    "Noise of the two Laplace mechanisms on naive Bayes",
    "Zhang et al., section “Bayesian Discrete Naïve Bayes”",
    _section_5_1,
)
