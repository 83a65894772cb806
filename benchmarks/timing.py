"""Timing of candidates side by side: what counts is their ratio within one run."""

import statistics
import time
from collections.abc import Callable, Mapping

import jax
import numpy as np


def medians(
    candidates: Mapping[str, Callable[[], object]], rounds: int = 7
) -> dict[str, float]:
    """Median seconds of each candidate, called in turns after one call to warm up."""
    for candidate in candidates.values():
        jax.block_until_ready(candidate())
    seconds = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, candidate in candidates.items():
            start = time.perf_counter()
            jax.block_until_ready(candidate())
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def exponent(seconds: Mapping[int, float]) -> float:
    """The slope of log time against log size, by least squares."""
    logs = np.log(list(seconds)), np.log(list(seconds.values()))
    return float(np.polyfit(*logs, 1)[0])


def first_call(candidate: Callable[[], object]) -> float:
    """Seconds of one call that has yet to compile."""
    start = time.perf_counter()
    jax.block_until_ready(candidate())
    return time.perf_counter() - start
