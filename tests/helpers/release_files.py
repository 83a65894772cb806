"""Release files of someone who alters them and knows how their hash is made."""

__all__ = ["rehashed"]

import hashlib

from dpjax._documents import canonical_json


def rehashed(document, **altered):
    """The document with some of its content altered, and the hash of that."""
    content = {**document["content"], **altered}
    digest = hashlib.sha256(canonical_json(content).encode()).hexdigest()
    return {**document, "content": content, "sha256": digest}
