"""Sizes of blocks are those of the platform that a program is lowered for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from dpjax import _platforms
from dpjax._platforms import ACCELERATOR, CPU, by_platform, each


def words(x):
    return by_platform(lambda sizes, x: x + sizes.words, x)


@pytest.mark.parametrize(
    ("platform", "sizes"),
    [("cpu", CPU), ("cuda", ACCELERATOR), ("rocm", ACCELERATOR), ("tpu", ACCELERATOR)],
)
def test_an_exported_program_has_the_sizes_of_its_platform(platform, sizes):
    exported = export.export(jax.jit(words), platforms=[platform])(jnp.int32(0))
    found = {x for x in (CPU, ACCELERATOR) if f"<{x.words}>" in exported.mlir_module()}
    assert found == {sizes}


@pytest.mark.parametrize("function", [words, jax.jit(words), jax.vmap(words)])
def test_a_program_of_this_machine_has_the_sizes_of_a_cpu(function):
    assert (function(jnp.zeros(3, jnp.int32)) == CPU.words).all()


@pytest.mark.parametrize("size", [0, 1, 3, 7, 100])
def test_entries_are_mapped_in_blocks_of_any_size(size, monkeypatch):
    monkeypatch.setattr(_platforms, "CPU", CPU._replace(releases=size))
    offset, inputs = jnp.arange(2), jnp.arange(14).reshape(7, 2)
    function = jax.jit(lambda o, x: each(lambda y: y + o, x, lambda s: s.releases))
    np.testing.assert_array_equal(function(offset, inputs), inputs + offset[None])
