"""How programs are compiled sooner, for tests that do not ask how fast they run."""

__all__ = ["sooner"]

import os

import jax

_OLDER = "--xla_cpu_use_fusion_emitters=false"  # generator of code, which is faster


def sooner() -> dict[str, str]:
    """Return environment variables with which programs take less time to compile.

    XLA ends a process that sets a flag which it does not know; it may forget this one.
    """
    variables = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    flags = os.environ.get("XLA_FLAGS", "")
    if jax.__version__.startswith("0.10.") and _OLDER not in flags:  # workers have it
        variables["XLA_FLAGS"] = f"{flags} {_OLDER}".strip()
    return variables
