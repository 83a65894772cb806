"""Random JAX keys: ChaCha20 for releases, unrolled Threefry for studies."""

__all__ = ["release_key", "study_key"]

from dpjax.noise.keys.chacha import release_key
from dpjax.noise.keys.threefry import study_key
