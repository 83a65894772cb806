"""Foulds et al., section 4: private Gibbs sampling, enumerated on tiny models.

Records are bits, and agree with a hidden label, or not, with chances .9 and .1.
"""

__all__ = ["METROPOLIS", "SECTION_4_1", "SECTION_4_2"]

import itertools
import math

import jax.numpy as jnp
import numpy as np

from dpjax.chains import latents
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting
from papers.statements.foulds_collapsed import collapsed_pass
from papers.statements.foulds_laws import largest, logs_of, replaced

BOUNDS = ("-2.302585093", "-0.105360516")
DELTA, ROUNDING = math.log(9), 1e-9
LOGS = np.log([0.1, 0.9])
PRIORS = {"even": (0.5, 0.5), "rare": (0.999, 0.001)}


def _section_4_1(setting: Setting) -> Reproduced:
    passes = {
        (name, n): _pass_loss(n, np.log(prior))
        for name, prior in PRIORS.items()
        for n in (1, 2, 3, 4)
    }
    rare = [loss for (name, _), loss in passes.items() if name == "rare"]
    chain = [_chain_loss(2, sweeps) for sweeps in (1, 2)]
    lost, change = _conditional(setting.rng())
    collapsed = {n: collapsed_pass(n, (0.99, 0.01), 0.1) for n in (2, 3)}
    claims = [
        Claim.certain(
            "equations 18 and 19: an update costs at most 2Δ", rare[0] <= 2 * DELTA
        ),
        Claim.certain(
            "equation 20: twice the Δ of the joint law pays for an update of one of "
            "its variables, in all random models",
            bool((lost <= 2 * change + ROUNDING).all()),
        ),
        Claim.certain(
            "parallel composition: a pass over one label a record costs what one "
            "update does, for N = 1 to 4",
            max(rare) - min(rare) < ROUNDING and rare[0] <= 2 * DELTA,
        ),
        *_claims_1(rare[0], chain, collapsed[3]),
    ]
    words = _words_1(passes, chain, collapsed[3])
    rows = [(name, n, float(loss)) for (name, n), loss in passes.items()]
    rows += [("collapsed", n, float(loss)) for n, (loss, _) in collapsed.items()]
    return Reproduced(words, {"": table(("labels", "N", "loss"), rows)}, {}, claims)


def _claims_1(
    rare: float, chain: list[float], collapsed: tuple[float, float]
) -> list[Claim]:
    """Ours, on losses of a pass, of sweeps, and of a collapsed pass beside its 2Δ."""
    step = latents(
        "labels",
        lambda *_: jnp.zeros(2),
        BOUNDS,
        "100",
        log_prior=lambda _: jnp.zeros(2),
    )
    return [
        Claim.certain(
            "2Δ is nearly attained, by a label that is rare: to within .5 %",
            rare > 0.995 * 2 * DELTA,
            by="dpjax",
        ),
        Claim.certain(
            "a sweep of all labels and a parameter costs at most 4Δ, two at most 8Δ",
            chain[0] <= 4 * DELTA and chain[1] <= 8 * DELTA,
            by="dpjax",
        ),
        Claim.certain(
            "a pass costs 2Δ because each conditional reads its own record alone: with "
            "parameters summed out it costs more",
            collapsed[0] > collapsed[1] + ROUNDING,
            by="dpjax",
        ),
        Claim.certain(
            "the library charges 2Δ a pass",
            abs(float(step.cost.epsilon) - 2 * DELTA) < 1e-6,
            by="dpjax",
        ),
    ]


def _words_1(
    passes: dict[tuple[str, int], float],
    chain: list[float],
    collapsed: tuple[float, float],
) -> str:
    even, rare = passes["even", 4], passes["rare", 4]
    return (
        f"2Δ = {2 * DELTA:.3f}. A pass over all labels loses {even:.3f} with even "
        f"chances of the labels, {rare:.3f} if one of them is rare, whether N is 1 "
        f"or 4. A sweep of two labels and a parameter loses {chain[0]:.3f}, two sweeps "
        f"{chain[1]:.3f}. A collapsed pass over three labels, the emission "
        "probabilities being summed out (Beta(.1, .1)), loses "
        f"{collapsed[0]:.3f}, and 2Δ of that joint law is {collapsed[1]:.3f}: parallel "
        "composition is not for it. That a random scan is not amplified is shown by "
        "`python -m papers erratum-5`."
    )


def _label_law(record: int, prior: np.ndarray, parameter: int = 0) -> np.ndarray:
    """Log-chances of a label's two levels: agrees if label xor parameter is the bit."""
    agree = [LOGS[int((label + parameter) % 2 == record)] for label in (0, 1)]
    return logs_of(prior + np.array(agree))


def _pass_loss(n: int, prior: np.ndarray) -> float:
    """Of all labels, each drawn once from its conditional."""

    def law(records: tuple) -> np.ndarray:
        total = np.zeros((2,) * n)
        for i, record in enumerate(records):
            shape = [2 if i == j else 1 for j in range(n)]
            total = total + _label_law(record, prior).reshape(shape)
        return total.ravel()

    return max(float(largest(law(x), law(y))) for x, y in replaced(2, n))


def _chain_loss(n: int, sweeps: int) -> float:
    """Of all states of a chain: labels given the parameter, and it given them."""
    rare = np.log(PRIORS["rare"])
    states = [*itertools.product(range(2), repeat=n + 1)]

    def sweep(records: tuple, parameter: int) -> np.ndarray:
        logs = []
        for *labels, new in states:
            of_labels = sum(
                _label_law(record, rare, parameter)[label]
                for record, label in zip(records, labels, strict=True)
            )
            fits = np.array(
                [
                    sum(
                        LOGS[int((z + p) % 2 == x)]
                        for x, z in zip(records, labels, strict=True)
                    )
                    for p in (0, 1)
                ]
            )
            logs.append(of_labels + logs_of(rare + fits)[new])
        return np.array(logs)

    def law(records: tuple) -> np.ndarray:
        each = [sweep(records, parameter) for parameter in (0, 1)]
        total, last = each[0], [state[-1] for state in states]
        for _ in range(sweeps - 1):
            total = np.concatenate(
                [x + each[p] for x, p in zip(total, last, strict=True)]
            )
            last = [state[-1] for state in states] * len(last)
        return total

    return max(float(largest(law(x), law(y))) for x, y in replaced(2, n))


def _conditional(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Losses of draws of one of two variables given the other, and Δ of both."""
    joint = rng.normal(size=(5000, 2, 3, 3))  # of two neighbouring tables
    drawn = logs_of(np.swapaxes(joint, 2, 3))  # the first, given each of the second
    lost, change = (np.abs(x[:, 0] - x[:, 1]).max(axis=(1, 2)) for x in (drawn, joint))
    return lost, change


def _section_4_2(setting: Setting) -> Reproduced:
    rng, n, models = setting.rng(), 4, 200
    counts, outputs = np.arange(n + 1), np.arange(-8, n + 9)
    release = -np.abs(outputs[None] - counts[:, None]).astype(float)
    first = largest(release[1:], release[:-1]).max()
    kernels = np.log(rng.dirichlet(np.full(3, 0.3), (models, outputs.size, 3)) + 1e-12)
    start = np.log(rng.dirichlet(np.full(3, 0.3), (models, outputs.size)) + 1e-12)
    chain = start[:, :, :, None, None] + kernels[:, :, :, :, None]
    chain = logs_of((chain + kernels[:, :, None]).reshape(models, outputs.size, -1))
    states = np.logaddexp.reduce(release[None, :, :, None] + chain[:, None], axis=2)
    shown = largest(states[:, 1:], states[:, :-1]).max(axis=1)
    claims = [
        Claim.certain(
            "a chain on privatised statistics costs nothing more, converged or not: "
            "two states of any random chain from any start lose at most what the "
            "release does",
            bool((shown <= first + ROUNDING).all()),
        ),
    ]
    words = (
        f"A count of {n} records with noise, every outcome listed: the release loses "
        f"{first:.3f}. Of {models} random chains of three states, started anywhere, "
        f"the states of two steps lose at most {shown.max():.3f}."
    )
    rows = [("release", float(first)), ("states", float(shown.max()))]
    return Reproduced(words, {"": table(("shown", "largest_loss"), rows)}, {}, claims)


def _metropolis(setting: Setting) -> Reproduced:
    """Stay or move, of a parameter of two values whose proposal is the other one."""
    target = {x: np.array([LOGS[int(p == x)] for p in (0, 1)]) for x in (0, 1)}
    slopes = {x: logs[1] - logs[0] for x, logs in target.items()}
    usual = {
        x: (1 - min(1, math.exp(r)), min(1, math.exp(r))) for x, r in slopes.items()
    }
    barker = [np.array([0.0, slopes[x]]) for x in (0, 1)]
    slope = math.log(0.001 / 0.999)  # of a prior that brings out the whole loss
    tilted = [np.array([0.0, slope + slopes[x]]) for x in (0, 1)]
    loss = max(float(largest(*barker)), float(largest(*tilted)))
    claims = [
        Claim.certain(
            "with the usual acceptance, min(1, r), the loss is infinite: under one of "
            "two neighbours the chain cannot stay",
            usual[0][0] > 0 == usual[1][0],
            by="dpjax",
        ),
        Claim.certain(
            "with Barker's acceptance r / (1 + r) a move costs at most 2Δ",
            loss <= 2 * DELTA + ROUNDING,
            by="dpjax",
        ),
    ]
    words = (
        "The paper says that Metropolis-Hastings has a privacy guarantee, and shows it "
        "in a supplement that we do not have. A record that agrees with the proposed "
        f"value leaves a chance of staying of {usual[1][0]:.3f}, one that does not "
        f"{usual[0][0]:.3f}: where the move is rejected, one of two neighbours is "
        f"impossible. Barker's acceptance loses {loss:.3f} of 2Δ = {2 * DELTA:.3f}."
    )
    rows = [(x, usual[x][0], usual[x][1]) for x in (0, 1)]
    found = table(("record", "chance_to_stay", "chance_to_move"), rows)
    return Reproduced(words, {"": found}, {}, claims)


SECTION_4_1 = Reproduction(
    "foulds-section-4-1",
    "What Gibbs updates and passes cost",
    "Foulds et al., section 4.1, equations 18-20",
    _section_4_1,
)
SECTION_4_2 = Reproduction(
    "foulds-section-4-2",
    "Chains on privatised statistics are free",
    "Foulds et al., section 4.2",
    _section_4_2,
)
METROPOLIS = Reproduction(
    "foulds-section-4-metropolis",
    "Metropolis-Hastings, with the usual and with Barker's acceptance",
    "Foulds et al., section 4, on its supplement",
    _metropolis,
)
