"""Key implementations: ChaCha20 against RFC 8439, threefry against JAX's own."""

import os
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from dpjax._platforms import ACCELERATOR
from dpjax.noise.keys import release_key, study_key
from dpjax.noise.keys.chacha import CHACHA20, block, stream_in
from tests.helpers.cases import mostly_thorough

pytestmark = pytest.mark.device

# RFC 8439: (section, key, counter, nonce, key stream)
VECTORS = [
    (
        "2.3.2",
        bytes(range(32)),
        1,
        "000000090000004a00000000",
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    (
        "A.1 #1",
        bytes(32),
        0,
        "000000000000000000000000",
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        "A.1 #3",
        bytes(31) + b"\x01",
        1,
        "000000000000000000000000",
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
]


blocks_of = jax.jit(block, static_argnums=2)


@pytest.mark.parametrize(
    ("secret", "counter", "nonce", "stream"),
    [x[1:] for x in VECTORS],
    ids=[x[0] for x in VECTORS],
)
def test_chacha20_gives_the_vectors_of_the_rfc(secret, counter, nonce, stream):
    key = jnp.asarray(np.frombuffer(secret, np.uint32))
    words = np.frombuffer(bytes.fromhex(nonce), np.uint32)
    nonces = tuple(int(word) for word in words)
    out = blocks_of(key, jnp.full((3,), counter, jnp.uint32), nonces)
    for lane in np.stack(out, axis=1):
        assert lane.tobytes().hex() == stream


def chacha(seed):
    return jr.key(seed, impl=CHACHA20)


@pytest.mark.parametrize("blocks", [1, 4096, 4097])
def test_bits_are_the_words_of_numbered_blocks(blocks):
    bits = jr.bits(chacha(1), (16 * blocks,), jnp.uint32)
    nonce = (int.from_bytes(b"bits", "little"), 32, 0)
    counter = jnp.arange(blocks if blocks <= 4096 else 8192, dtype=jnp.uint32)
    words = blocks_of(jr.key_data(chacha(1)), counter, nonce)
    np.testing.assert_array_equal(bits, by_parts(np.stack(words))[: 16 * blocks])


def by_parts(words):
    """The stream in parts of 4096 blocks, the last of them whole, word by word."""
    parts = np.array_split(words, range(4096, words.shape[1], 4096), axis=1)
    return np.concatenate([np.ravel(part) for part in parts])


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param(ACCELERATOR, id="rounds in turn"),
        pytest.param(ACCELERATOR._replace(least_unrolled=1), id="rounds unrolled"),
    ],
)
def test_an_accelerators_program_gives_the_same_bits(sizes):
    key, nonce = jr.key_data(chacha(1)), (5, 6, 7)
    stream = partial(stream_in, sizes, blocks=4100, nonce=nonce)
    counter = jnp.arange(2 * 4096, dtype=jnp.uint32)
    expected = by_parts(np.stack(blocks_of(key, counter, nonce)))
    np.testing.assert_array_equal(jax.jit(stream)(key), expected)


@pytest.mark.slow
def test_streams_children_and_folds_of_a_key_never_overlap():
    key = chacha(3)
    words = [np.asarray(jr.bits(jr.clone(key), (4096,), jnp.uint32))]
    words += [np.ravel(jr.key_data(jr.split(jr.clone(key), 512)))]
    fold = jax.vmap(lambda i: jr.key_data(jr.fold_in(key, i)))
    words += [np.ravel(fold(jnp.arange(64)))]
    words += [np.asarray(jr.bits(key, (4096,), jnp.uint16)).view(np.uint32)]
    total = sum(x.size for x in words)
    # 9,000 words of 32 bits share 10 by chance with probability below 1e-20
    assert len(np.unique(np.concatenate(words))) > total - 10


@pytest.mark.parametrize("dtype", [jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64])
def test_bits_of_every_width_are_balanced(dtype):
    if dtype == jnp.uint64 and not jax.config.jax_enable_x64:
        dtype = jnp.uint32
    bits = np.asarray(jr.bits(chacha(4), (3, 10_001), dtype))
    assert bits.dtype == dtype
    ones = np.unpackbits(bits.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 5 * 0.5 / np.sqrt(bits.size * 8 * bits.dtype.itemsize)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_bits_of_every_width_are_all_bits_of_a_block(width):
    with jax.enable_x64(True):
        bits = jr.bits(chacha(1), (512 // width,), jnp.dtype(f"uint{width}"))
    nonce = (int.from_bytes(b"bits", "little"), width, 0)
    block = blocks_of(jr.key_data(chacha(1)), jnp.zeros(1, jnp.uint32), nonce)
    words = np.concatenate(block)
    if width == 64:  # the first word is the high one
        words = words.reshape(-1, 2)[:, ::-1].copy()
    np.testing.assert_array_equal(bits, words.ravel().view(f"uint{width}"))


def test_seeds_and_batches_of_keys():
    keys = jax.vmap(chacha)(jnp.arange(3))
    split = jax.jit(lambda k: jr.key_data(jr.split(k, 2)))
    together = np.asarray(jax.jit(jax.vmap(split))(keys))
    assert len(np.unique(together.reshape(-1, 8), axis=0)) == 6
    for i in range(3):
        np.testing.assert_array_equal(split(chacha(i)), together[i])


def test_release_keys_are_fresh_and_whole():
    data = [np.asarray(jr.key_data(release_key())) for _ in range(8)]
    assert all(x.shape == (8,) and x.dtype == np.uint32 for x in data)
    assert len(np.unique(data)) == 64


def test_each_of_256_bits_of_the_system_is_a_bit_of_the_key(monkeypatch):
    def words(number):
        source = [number.to_bytes(32, "little")]
        monkeypatch.setattr(os, "urandom", lambda n: source.pop()[:n])
        data = np.asarray(jr.key_data(release_key()))
        assert not source
        return int.from_bytes(data.tobytes(), "little")

    some = int.from_bytes(bytes(range(7, 39)), "little")
    for bit in range(256):
        assert words(some) ^ words(some ^ (1 << bit)) == 1 << bit


def test_a_key_of_a_program_would_be_the_same_at_every_call():
    with pytest.raises(ValueError, match="outside of `jit`"):
        jax.jit(lambda x: jr.bits(release_key()) + x)(jnp.uint32(1))


FUNCTIONS = {
    "bits": lambda k: jr.bits(k, (3, 101)),
    "bits 8": lambda k: jr.bits(k, (101,), jnp.uint8),
    "bits 16": lambda k: jr.bits(k, (101,), jnp.uint16),
    "bits, widest": lambda k: jr.bits(
        k, (101,), jnp.uint64 if jax.config.jax_enable_x64 else jnp.uint32
    ),
    "split": lambda k: jr.key_data(jr.split(k, (2, 3))),
    "fold_in": lambda k: jr.key_data(jr.fold_in(k, 2**32 - 1)),
    "uniform": lambda k: jr.uniform(k, (101,)),
    "laplace": lambda k: jr.laplace(k, (101,)),
    "normal": lambda k: jr.normal(k, (101,)),
    "gamma": lambda k: jr.gamma(k, jnp.linspace(0.5, 4, 11)),
    "permutation": lambda k: jr.permutation(k, 101),
    "randint": lambda k: jr.randint(k, (101,), 0, 1000),
    "categorical": lambda k: jr.categorical(k, jnp.zeros((7, 5))),
}


COMPILED = {name: jax.jit(function) for name, function in FUNCTIONS.items()}


@pytest.mark.relaxed
@pytest.mark.parametrize("name", mostly_thorough(FUNCTIONS, 6))  # the rest follow
@pytest.mark.parametrize("seed", [0, 12345, 2**31 - 1])
def test_unrolled_threefry_equals_jaxs_bit_for_bit(name, seed):
    ours = COMPILED[name](study_key(seed))
    jaxs = COMPILED[name](jr.key(seed, impl="threefry2x32"))
    np.testing.assert_array_equal(ours, jaxs)


def test_unrolled_threefry_equals_jaxs_under_jit_and_vmap():
    draw = jax.jit(jax.vmap(lambda k: jr.bits(k, (5,))))
    ours, jaxs = study_key(7), jr.key(7, impl="threefry2x32")
    np.testing.assert_array_equal(draw(jr.split(ours, 4)), draw(jr.split(jaxs, 4)))


def test_wide_seeds_equal_jaxs():
    for seed in (2**40 + 17, 2**63 - 1) if jax.config.jax_enable_x64 else (2**31 - 1,):
        ours = jr.key_data(study_key(seed))
        np.testing.assert_array_equal(ours, jr.key_data(jr.key(seed)))
