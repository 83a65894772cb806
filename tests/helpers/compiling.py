"""How programs are compiled sooner, for tests that do not ask how fast they run."""

__all__ = ["sooner"]

import os

import jax

_FLAGS = (
    "--xla_cpu_use_fusion_emitters=false",  # the older generator of code is faster
    "--xla_cpu_parallel_codegen_split_count=1",  # parts of programs cost CPU time
)


def sooner() -> dict[str, str]:
    """Return environment variables with which programs take less time to compile.

    XLA ends a process that sets a flag which it does not know; it may forget these.
    """
    variables = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    flags = os.environ.get("XLA_FLAGS", "")
    if jax.__version__.startswith("0.10."):
        missing = [x for x in _FLAGS if x not in flags]  # none in workers
        variables["XLA_FLAGS"] = " ".join([flags, *missing]).strip()
    return variables
