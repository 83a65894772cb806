"""Key implementations: ChaCha20 for releases, an unrolled threefry for studies."""

__all__ = ["release_key", "study_key"]

from dpjax.random.chacha import release_key
from dpjax.random.threefry import study_key
