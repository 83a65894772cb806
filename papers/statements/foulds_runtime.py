"""What Foulds et al. say of the time that their chains take."""

__all__ = ["RUNTIME"]

import time

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from papers.foulds.event_log import afghanistan_like
from papers.foulds.event_log_fits import fit_chains, noisy_counts, tempered_counts
from papers.numbers import table
from papers.reproduction import (
    NOT_CHECKABLE,
    Claim,
    Reproduced,
    Reproduction,
    Setting,
)

_EPSILON, _TRUNCATION, _STATES = "5", 100, 3
_METHODS = ("non-private", "noise on counts", "OPS")


def _runtime(setting: Setting) -> Reproduced:
    repeats, sweeps = (6, 100) if setting.quick else (15, 200)
    seconds = _seconds(setting, repeats, sweeps)
    noisy, ops = seconds[1:] / seconds[0]
    medians = np.median(seconds, axis=1).tolist()
    shown = ", ".join(f"{x:.3f} s {y}" for x, y in zip(medians, _METHODS, strict=True))
    return Reproduced(
        f"A chain of {sweeps} sweeps with {_STATES} states on an Afghanistan-like log, "
        f"compiled, {repeats} times in turn on this machine, takes {shown} (medians). "
        f"OPS takes {np.median(ops):.1f} times as long as a chain without privacy, "
        "since it draws tables from truncated laws, and noise on counts "
        f"{np.median(noisy):.1f} times. The paper says that OPS roughly doubled the "
        "runtime; that is of its own program.",
        {"": table(("method", "seconds"), zip(_METHODS, medians, strict=True))},
        {},
        [
            Claim.mean_positive(
                "OPS roughly doubled the runtime (our reading: by less than 3), of the "
                "paper's own program",
                3 - ops,
                expected=NOT_CHECKABLE,
            ),
            Claim.mean_positive(
                "noise on counts did not greatly affect it (less than doubled it)",
                2 - noisy,
                expected=NOT_CHECKABLE,
            ),
        ],
    )


def _seconds(setting: Setting, repeats: int, sweeps: int) -> np.ndarray:
    """Of each method, by repeat; the first run, which compiles, does not count."""
    log = afghanistan_like(setting.rng(), 72)
    counts, bound = log.counts[None], jnp.asarray(_TRUNCATION, float)
    noisy = noisy_counts(setting.key, counts, _EPSILON, log.fields)
    hot = tempered_counts(counts, _EPSILON, log.fields, _TRUNCATION)
    cases = (jnp.asarray(counts, float), None), (noisy, None), (hot, bound)
    rows = []
    for key in jr.split(setting.key, repeats + 1)[:, None]:
        rows.append([])
        for given, most in cases:
            start = time.perf_counter()
            same, half = jr.clone(key), sweeps // 2
            found = fit_chains(same, given, most, log.fields, _STATES, sweeps, half)
            jax.block_until_ready(found)
            rows[-1].append(time.perf_counter() - start)
    return np.array(rows[1:]).T


RUNTIME = Reproduction(
    "foulds-section-5-runtime",
    "How long chains take, with noise on counts and by OPS",
    "Foulds et al., section 5",
    _runtime,
)
