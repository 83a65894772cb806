"""One format under atheris, in a process of its own: `python -m tests.fuzz` starts it.

    python -m tests.fuzz.guided FORMAT [options and folders of libFuzzer]

Atheris counts which branches of the library, and of the checker without it, an input
takes, and keeps inputs that take new ones. JAX is not looked at.
"""

import inspect
import pathlib
import random
import sys
import tempfile

import atheris

# What a reader runs through. To prepare all of the library takes twice as long.
READERS = "_documents data families mechanisms noise privacy releases statistics tables"
READERS = [f"dpjax.{x}" for x in (*READERS.split(), "study.sweeps.checkpoint")]

with atheris.instrument_imports(include=READERS):
    from tests.helpers.checker import checker

    from .corpus import seeds
    from .formats import FORMATS, file_name
    from .verdicts import attempt, limits

_WHOLE = 0.3  # of the alterations take a file as bytes, whatever its structure


def main(format: str, folder: pathlib.Path, options: list[str]) -> None:
    """Look for files that a reader of the format must not treat as it does."""

    def try_one(data: bytes) -> None:
        path = folder / file_name(data)
        path.write_bytes(data)
        attempt(format, path)
        path.unlink()

    def alter(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() > _WHOLE:
            try:
                made = FORMATS[format].alter(rng, data, _mutated)
            except Exception:  # not of the structure, by an earlier alteration
                made = b""
            if 0 < len(made) <= most:
                return made
        return atheris.Mutate(data, most)

    with atheris.instrument_imports(include=READERS):  # of what is imported late
        for data in seeds(format).values():
            try_one(data)
    for function in vars(checker).values():
        if inspect.isfunction(function):
            atheris.instrument_func(function)
    atheris.Setup(["", *options], try_one, custom_mutator=alter)
    with limits():
        atheris.Fuzz()


def _mutated(data: bytes) -> bytes:
    return atheris.Mutate(data, 2 * len(data) + 64)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(sys.argv[1], pathlib.Path(name), sys.argv[2:])
