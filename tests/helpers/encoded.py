"""What encoded numbers must be."""

import jax.numpy as jnp
import numpy as np


def assert_encoded(records, expected):
    """Exactly the nearest numbers of JAX's default precision."""
    assert records.dtype == jnp.result_type(float)
    np.testing.assert_array_equal(records, np.array(expected, records.dtype))
