import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import hadamard

from dpjax._platforms import ACCELERATOR, TPU
from dpjax.tables import walsh
from dpjax.tables.walsh import walsh_hadamard
from tests.helpers.cases import mostly_thorough

pytestmark = pytest.mark.device

DTYPES = ["int32", "float32"] + ["int64", "float64"] * jax.config.jax_enable_x64
FLOATS = [dtype for dtype in DTYPES if dtype.startswith("float")]


@pytest.fixture
def parts(monkeypatch):
    """Parts of 16 cells, so that tables need not be long to be worked on in parts."""
    monkeypatch.setattr(walsh, "_MOST_AT_ONCE", 16)
    walsh._transform.clear_cache()
    yield
    walsh._transform.clear_cache()


def reference(table):
    """The transform of integers in int64, level by level."""
    table, stride = np.array(table, np.int64), 1
    while stride < table.shape[-1]:
        pairs = table.reshape(-1, 2, stride)
        pairs[:] = np.stack([pairs.sum(1), pairs[:, 0] - pairs[:, 1]], axis=1)
        stride *= 2
    return table


def counts(rng, shape, total=1000, dtype="int32"):
    """Tables of whole numbers of both signs, of which the sizes sum to `total`."""
    length = shape[-1]
    sizes = rng.multinomial(total, np.full(length, 1 / length), size=shape[:-1])
    return jnp.asarray((sizes * rng.choice([-1, 1], shape)).astype(dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "levels", mostly_thorough([0, 1, 5, 8, 12, 2, 3, 4, 6, 7, 11], 5)
)
def test_it_is_multiplication_by_the_hadamard_matrix(levels, dtype, rng):
    table = counts(rng, (2, 3, 2**levels), dtype=dtype)
    coefficients = walsh_hadamard(table)
    dense = hadamard(2**levels, np.float32)
    np.testing.assert_array_equal(coefficients, np.float32(table) @ dense)
    assert coefficients.dtype == dtype


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(32,), (256,), (2, 3, 64)])
@pytest.mark.usefixtures("parts")
def test_parts_of_a_long_table_fit_together(shape, dtype, rng):
    table = counts(rng, shape, dtype=dtype)
    coefficients = walsh_hadamard(table)
    np.testing.assert_array_equal(coefficients, reference(table))
    assert coefficients.dtype == dtype


AT_ONCE = jax.jit(walsh.transform_in, static_argnames="sizes")


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [ACCELERATOR, TPU], ids=["gpu", "tpu"])
@pytest.mark.parametrize(("dtype", "n"), [("float32", 2**24), ("int32", 2**31 - 1)])
@pytest.mark.parametrize("shape", [(2, 3, 1), (3, 2**9), (2**14,)])
def test_an_accelerators_program_is_as_exact(shape, dtype, n, sizes, rng):
    table = counts(rng, shape, n, dtype=dtype)
    np.testing.assert_array_equal(AT_ONCE(sizes, table), reference(table))


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "n"), [("float32", 2**24), ("int32", 2**30)])
def test_no_error_at_the_largest_number_of_records(dtype, n, rng):
    table = counts(rng, (2**20,), n, dtype)
    np.testing.assert_array_equal(walsh_hadamard(table), reference(table))


@pytest.mark.parametrize(("dtype", "n"), [("float32", 2**24), ("int32", 2**31 - 1)])
def test_no_error_when_every_record_is_in_one_cell(dtype, n):
    table = np.zeros((2, 256), dtype)
    table[:, 77] = n, -n
    table = jnp.asarray(table)
    np.testing.assert_array_equal(walsh_hadamard(table), reference(table))


@pytest.mark.parametrize("dtype", DTYPES)
def test_twice_it_multiplies_by_the_length(dtype, rng):
    table = counts(rng, (3, 512), dtype=dtype)
    np.testing.assert_array_equal(walsh_hadamard(walsh_hadamard(table)), 512 * table)


def test_it_is_linear_and_loses_nothing_of_real_numbers(rng):
    a, b = (jnp.asarray(rng.normal(size=(3, 1024)), float) for _ in range(2))
    tolerance = 1024 * jnp.finfo(a.dtype).eps
    expected = 2 * walsh_hadamard(a) - walsh_hadamard(b)
    np.testing.assert_allclose(walsh_hadamard(2 * a - b), expected, atol=tolerance)
    dense = hadamard(1024)
    np.testing.assert_allclose(walsh_hadamard(a), np.asarray(a) @ dense, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.usefixtures("parts")
def test_the_gradient_is_the_transform_of_the_cotangent(dtype, rng):
    table, cotangent, tangent = (counts(rng, (2, 64), dtype=dtype) for _ in range(3))
    _, pullback = jax.vjp(walsh_hadamard, table)
    np.testing.assert_array_equal(pullback(cotangent)[0], walsh_hadamard(cotangent))
    _, pushed = jax.jvp(walsh_hadamard, (table,), (tangent,))
    np.testing.assert_array_equal(pushed, walsh_hadamard(tangent))


def test_the_gradient_of_each_table_in_a_batch(rng):
    tables = counts(rng, (3, 64), dtype="float32")
    gradient = jax.vmap(jax.grad(lambda table: jnp.sum(walsh_hadamard(table) ** 2)))
    np.testing.assert_array_equal(gradient(tables), 2 * 64 * tables)


@pytest.mark.slow
@pytest.mark.usefixtures("parts")
def test_jit_and_vmap_change_nothing(rng):
    tables = walsh_hadamard(counts(rng, (4, 3, 64)))
    expected = walsh_hadamard(tables)
    np.testing.assert_array_equal(jax.jit(walsh_hadamard)(tables), expected)
    np.testing.assert_array_equal(jax.vmap(walsh_hadamard)(tables), expected)
    swapped = jax.vmap(walsh_hadamard, in_axes=1, out_axes=1)(tables)
    np.testing.assert_array_equal(swapped, expected)


def test_a_long_table_takes_little_memory_beside_itself():
    place = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
    table = jax.ShapeDtypeStruct((2**24,), jnp.float32, sharding=place)
    memory = jax.jit(walsh_hadamard).lower(table).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 4 * 2**24 / 4


@pytest.mark.parametrize("shape", [(), (0,), (3,), (8, 12), (0, 8), (8, 0)])
def test_shapes_without_a_transform_are_refused(shape):
    with pytest.raises(ValueError, match="must have no empty axis and end in one of"):
        walsh_hadamard(jnp.zeros(shape))


@pytest.mark.parametrize("dtype", ["bool", "uint32", "int8", "float16", "complex64"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(ValueError, match="must be int32, float32 or"):
        walsh_hadamard(jnp.zeros(8, dtype))
