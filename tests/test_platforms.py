"""Sizes of blocks are those of the platform that a program is lowered for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import dpjax as dp
from dpjax import _platforms
from dpjax._platforms import ACCELERATOR, CPU, by_platform, each, on_cpu
from dpjax.posteriors.exact.exact_posterior import sums_of
from dpjax.posteriors.exact.windows import Windows


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
    with jax.default_device(jax.devices("cpu")[0]):
        assert (function(jnp.zeros(3, jnp.int32)) == CPU.words).all()


def test_programs_run_on_the_cpu_or_where_jax_runs_them(monkeypatch):
    with on_cpu():
        (device,) = jnp.zeros(3).devices()
    assert device.platform == "cpu"

    def none(backend):
        raise RuntimeError(f"Unknown backend {backend}")

    monkeypatch.setattr(jax, "local_devices", none)
    with on_cpu():
        assert jnp.zeros(3).devices() == {jax.devices()[0]}


@pytest.mark.parametrize("size", [0, 1, 3, 7, 100])
def test_entries_are_mapped_in_blocks_of_any_size(size, monkeypatch):
    monkeypatch.setattr(_platforms, "CPU", CPU._replace(estimates=size))
    offset, inputs = jnp.arange(2), jnp.arange(14).reshape(7, 2)
    function = jax.jit(lambda o, x: each(lambda y: y + o, x, lambda s: s.estimates))
    np.testing.assert_array_equal(function(offset, inputs), inputs + offset[None])


def test_blocks_of_entries_without_numbers(monkeypatch):
    """Such as the factors of a query that has none."""
    monkeypatch.setattr(_platforms, "CPU", CPU._replace(estimates=3))
    inputs = jnp.arange(7), jnp.zeros((7, 0))
    function = jax.jit(lambda x: each(lambda y: y[0] + 1, x, lambda s: s.estimates))
    np.testing.assert_array_equal(function(inputs), jnp.arange(7) + 1)


@pytest.mark.parametrize(
    ("platform", "blocks"), [("cpu", 1024), ("cuda", 1), ("tpu", 16)]
)
def test_blocks_are_smaller_on_a_tpu_where_its_tiles_need_it(platform, blocks):
    function = jax.jit(lambda x: each(lambda x: x + 1, x, lambda s: s.weights >> 20))
    exported = export.export(function, platforms=[platform])(jnp.zeros(1024))
    assert (f"tensor<{blocks}x{1024 // blocks}x" in exported.mlir_module()) == (
        blocks > 1
    )


@pytest.mark.slow
@pytest.mark.parametrize(("number", "weights"), [(5, 1), (7, 2100), (6, 1 << 30)])
def test_stacked_posteriors_do_not_depend_on_the_block(
    number, weights, monkeypatch, rng
):
    """Up to rounding, since a fused multiplication and addition rounds once."""
    net = dp.BayesNet.naive_bayes({"t": [0, 1], "a": [0, 1, 2], "b": [0, 1]}, "t")
    statistic = dp.statistics.NetworkCounts(net)
    noise = dp.mechanisms.DiscreteLaplace.calibrate(
        "1", statistic.sensitivity("replace-one")
    )
    values = rng.integers(0, 9, (number, statistic.length))
    monkeypatch.setattr(_platforms, "CPU", CPU._replace(weights=weights))

    def infer(values):
        released = dp.Released(jnp.asarray(values, jnp.int32), statistic, noise, 12)
        prior = jnp.ones(net.layout.length)
        return sums_of(released, prior, Windows(13, 13, 13)).moments()

    together = jax.tree.leaves(infer(values))
    for i, one in enumerate(values):
        for many, alone in zip(together, jax.tree.leaves(infer(one)), strict=True):
            np.testing.assert_allclose(many[i], alone, rtol=1e-6)
