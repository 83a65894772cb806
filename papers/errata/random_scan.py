"""E5: a random scan of a Gibbs sampler shows whose turn it was."""

__all__ = ["ERRATUM_5"]

import itertools
import math
from functools import partial

import jax.numpy as jnp
import numpy as np

from dpjax.chains import latents
from dpjax.plots import Panel, draw_panels
from papers.errata.lines import line
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

SMALL, LARGE = 0.1, 0.001  # chances that a label disagrees with its record
CASES = ((2, 1), (4, 1), (5, 2), (8, 3))  # N and Q, enumerated
REPLACED = ((1, 3), (2, 2), (2, 6))
SIZES = (2, 4, 8, 12, 16, 20)  # with Q = 1


def _run(setting: Setting) -> Reproduced:
    del setting  # nothing is random
    shown = [_row(n, q, SMALL, _loss_of_scan) for n, q in CASES]
    single = [_row(n, 1, SMALL, _loss_of_scan) for n in SIZES]
    again = [_row(n, q, SMALL, _loss_with_replacement) for n, q in REPLACED]
    hidden = [_row(n, 1, LARGE, _loss_of_hidden) for n in SIZES]
    kinds = ("shown", "shown, with replacement", "label alone")
    groups = ([*shown, *single], again, hidden)
    rows = [
        (kind, *x)
        for kind, group in zip(kinds, groups, strict=True)
        for x in dict.fromkeys(group)
    ]
    names = ("what", "N", "Q", "delta", "loss", "printed", "sound")
    return Reproduced(
        _words(shown, single[-1], again, hidden[-1]),
        {"": table(names, rows)},
        {"": partial(draw_panels, [_panel(single, hidden)])},
        _claims(shown, single, again, hidden),
    )


def _row(n: int, q: int, wrong: float, loss) -> tuple:
    """N, Q, Δ, the enumerated loss, 4ΔQ/N, and what the library charges."""
    width = math.log((1 - wrong) / wrong)
    replaced = loss is _loss_with_replacement
    step = latents(
        "labels",
        lambda state, record: jnp.zeros(2),
        (f"{math.log(wrong):.9f}", f"{math.log1p(-wrong):.9f}"),
        "1000",
        log_prior=lambda state: jnp.zeros(2),
        updates=q,
        replacement=replaced,
    )
    sound = float(step.cost.epsilon)
    return (n, q, width, loss(n, q, wrong), 4 * width * q / n, sound)


def _scan(data: tuple, before: tuple, q: int, wrong: float) -> dict[tuple, float]:
    """Law of all labels after Q of them, at random, were drawn anew."""
    found: dict[tuple, float] = {}
    choices = [*itertools.combinations(range(len(data)), q)]
    for which in choices:
        for labels in itertools.product((0, 1), repeat=q):
            after, chance = [*before], 1 / len(choices)
            for i, label in zip(which, labels, strict=True):
                after[i] = label
                chance *= 1 - wrong if label == data[i] else wrong
            found[tuple(after)] = found.get(tuple(after), 0.0) + chance
    return found


def _largest(laws: list[dict]) -> float:
    return max(abs(math.log(laws[0][z] / laws[1][z])) for z in laws[0])


def _neighbours(n: int) -> tuple[tuple, tuple]:
    return (0,) * n, (1, *(0,) * (n - 1))


def _loss_of_scan(n: int, q: int, wrong: float) -> float:
    """Of the labels, which were 0 before, by enumeration."""
    return _largest([_scan(data, (0,) * n, q, wrong) for data in _neighbours(n)])


def _loss_with_replacement(n: int, q: int, wrong: float) -> float:
    """Of all states on the way of Q draws, each of a label chosen anew."""
    laws = []
    for data in _neighbours(n):
        found = {((0,) * n,): 1.0}
        for _ in range(q):
            found = {
                (*path, z): chance * more
                for path, chance in found.items()
                for z, more in _scan(data, path[-1], 1, wrong).items()
            }
        laws.append(found)
    return _largest(laws)


def _loss_of_hidden(n: int, q: int, wrong: float) -> float:
    """Of one new label alone: whose it is does not show."""
    del q
    ones = [sum(1 - wrong if x else wrong for x in data) / n for data in _neighbours(n)]
    return max(
        abs(math.log(f(ones[1]) / f(ones[0]))) for f in (lambda p: p, lambda p: 1 - p)
    )


def _claims(shown: list, single: list, again: list, hidden: list) -> list[Claim]:
    return [
        Claim.certain(
            "a random scan of Q of N labels costs at most 4ΔQ/N, at N = 20 and Q = 1",
            single[-1][3] <= single[-1][4],
            expected="fails",
        ),
        Claim.certain(
            "the loss exceeds the formula even if only the new label is shown, not "
            f"whose it is: Δ = {hidden[-1][2]:.2f}, N = 20",
            hidden[-1][3] > hidden[-1][4],
            by="dpjax",
        ),
        Claim.certain(
            "the loss does not depend on N: it is Δ for all N and Q shown",
            all(math.isclose(x[3], x[2], rel_tol=1e-9) for x in (*shown, *single)),
            by="dpjax",
        ),
        Claim.certain(
            "it is at most 2Δ without replacement, and 2ΔQ with",
            all(x[3] <= x[5] for x in (*shown, *single, *again)),
            by="dpjax",
        ),
        Claim.certain(
            "with replacement it can exceed 2Δ, at N = 2 and Q = 6",
            again[-1][3] > 2 * again[-1][2],
            by="dpjax",
        ),
        Claim.certain(
            "a hidden choice of one record in N lowers a loss of Δ to ln(1 + (exp(Δ) - "
            "1) / N), and not to less",
            all(
                math.isclose(x[3], math.log1p(math.expm1(x[2]) / x[0]), rel_tol=1e-9)
                for x in hidden
            ),
            by="dpjax",
        ),
    ]


def _panel(single: list, hidden: list) -> Panel:
    sizes = np.array([x[0] for x in single])
    return Panel(
        [
            line(f"loss, Δ = {single[0][2]:.2f}", sizes, [x[3] for x in single]),
            line("4Δ/N, as printed", sizes, [x[4] for x in single], style="dashed"),
            line(
                f"loss of the label alone, Δ = {hidden[0][2]:.2f}",
                sizes,
                [x[3] for x in hidden],
            ),
            line("4Δ/N for it", sizes, [x[4] for x in hidden], style="dashed"),
        ],
        "number of records N",
        "privacy loss (nats)",
        title="one label of N drawn anew (Q = 1)",
        log_y=True,
    )


def _words(shown: list, last: tuple, again: list, hidden: tuple) -> str:
    cases = ", ".join(f"({x[0]}, {x[1]})" for x in shown)
    return (
        "A random scan that updates Q of N latent variables is said to cost 4ΔQ/N, by "
        "the amplification that a random sample of records gives. But the state is "
        "shown before and after, and with it which variable moved: the sample is no "
        "secret. Enumerated, a label a record that agrees with it with probability "
        f"{1 - SMALL:g}, Δ = {last[2]:.3f}: the loss is {shown[0][3]:.3f} for (N, Q) = "
        f"{cases}, and at N = {last[0]}, Q = 1, where the formula gives {last[4]:.3f}. "
        f"With replacement, N = {again[-1][0]} and Q = {again[-1][1]}, all states "
        f"shown: {again[-1][3]:.3f}. And where only the new label shows, the formula "
        f"is too low for large Δ: at Δ = {hidden[2]:.2f} and N = {hidden[0]} the loss "
        f"is {hidden[3]:.3f}, the formula {hidden[4]:.3f}. **Corrected:** 2Δ without "
        "replacement, 2ΔQ with; a hidden sample gives ln(1 + q(exp(ε) - 1)). "
        "**Instead**, `dpjax.chains.latents(updates=…)` charges the former, "
        "and `dpjax.privacy.subsampled` the latter, for hidden samples only."
    )


ERRATUM_5 = Reproduction(
    "erratum-5",
    "A random scan is not amplified by subsampling",
    "Foulds et al., section 4.1",
    _run,
)
