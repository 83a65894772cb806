"""Results as JSON: integers by their hash, other numbers to a few digits."""

__all__ = ["CLOSE", "assert_same", "recorded", "save", "summary"]

import hashlib
import json
from collections.abc import Mapping

import jax
import numpy as np

from .cases import HERE

CLOSE = 1e-5


def summary(result):
    """Of arrays in mappings and sequences, plain data that a file can hold."""
    if isinstance(result, Mapping):
        return {str(name): summary(entry) for name, entry in result.items()}
    if isinstance(result, list | tuple):
        return [summary(entry) for entry in result]
    if not isinstance(result, jax.Array | np.ndarray | np.generic):
        return result
    array = np.asarray(result)
    if array.dtype.kind == "f":
        return [float(f"{x:.8g}") for x in array.ravel().tolist()]
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return f"{array.dtype}{list(array.shape)} {digest}"


def recorded(name):
    """The results at this precision."""
    return json.loads(_path(name).read_text("utf-8")).get(_precision(), {})


def save(name, results):
    """Replace the results at this precision."""
    path = _path(name)
    both = json.loads(path.read_text("utf-8")) if path.exists() else {}
    both = dict(sorted({**both, _precision(): results}.items()))
    text = json.dumps(both, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(f"{text}\n", "utf-8")


def assert_same(found, wanted, close=CLOSE):
    """The same entries; floats within `close`."""
    if isinstance(wanted, dict):
        assert sorted(found) == sorted(wanted)
        for name, entry in wanted.items():
            assert_same(found[name], entry, close)
    elif isinstance(wanted, list) and any(isinstance(x, float) for x in wanted):
        np.testing.assert_allclose(found, wanted, rtol=close, atol=close / 10)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other, close)
    else:
        assert found == wanted


def _path(name):
    return HERE / f"{name}.json"


def _precision():
    return "x64" if jax.config.jax_enable_x64 else "x32"
