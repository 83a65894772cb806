"""Timing of candidates side by side: what counts is their ratio within one run."""

import statistics
import time
from collections.abc import Callable, Mapping

import jax
import numpy as np

QUEUED = 10
_PARTS = {
    "jaxpr_trace_duration": "tracing",
    "jaxpr_to_mlir_module_duration": "lowering",
    "backend_compile_duration": "XLA",
}


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


def queued(candidate: Callable[[], object]) -> Callable[[], object]:
    """`QUEUED` calls, of which only the last is awaited."""

    def calls() -> object:
        for _ in range(QUEUED - 1):
            candidate()
        return candidate()

    return calls


def compilation_parts() -> dict[str, float]:
    """Seconds of each part of every compilation from now on, added up as they come."""
    spent = dict.fromkeys(_PARTS.values(), 0.0)

    def listen(event: str, duration: float, **_: object) -> None:
        part = _PARTS.get(event.rsplit("/", 1)[-1])
        if part is not None:
            spent[part] += duration

    jax.monitoring.register_event_duration_secs_listener(listen)
    return spent


def exponent(seconds: Mapping[int, float]) -> float:
    """The slope of log time against log size, by least squares."""
    logs = np.log(list(seconds)), np.log(list(seconds.values()))
    return float(np.polyfit(*logs, 1)[0])


def first_call(candidate: Callable[[], object]) -> float:
    """Seconds of one call that has yet to compile."""
    start = time.perf_counter()
    jax.block_until_ready(candidate())
    return time.perf_counter() - start
