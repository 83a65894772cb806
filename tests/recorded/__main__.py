"""Record results anew: `DPJAX_X64=0 python -m tests.recorded`, then with 1."""

import os

import jax

from .cases import ALL, DEFAULT, DRAWS, facts, mean
from .results import save, summary


def main() -> None:
    """Write the results at this precision; leave those at the other, and all files."""
    jax.config.update("jax_enable_x64", os.environ.get("DPJAX_X64", "0") == "1")
    save("facts", {name: facts(name) for name in ALL})
    save("means", {name: summary(mean(name)) for name in ALL})
    save("defaults", {name: summary(mean(name, True)) for name in DEFAULT})
    save("draws", {name: summary(case()) for name, case in DRAWS.items()})


if __name__ == "__main__":
    main()
