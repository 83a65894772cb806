"""Release files of someone who alters them and knows how their hash is made."""

__all__ = ["rehashed"]

import hashlib

from dpjax._documents import canonical_json, escaped_json


def rehashed(document, **altered):
    """The document with some of its content altered, and the hash of that.

    A document without a canonical form has no hash.
    """
    document = {**document, "content": {**document["content"], **altered}}
    document.pop("sha256", None)
    try:
        old = document.get("version") in (1, 2)
        text = escaped_json(document["content"]) if old else canonical_json(document)
    except (ValueError, TypeError):
        return document
    return {**document, "sha256": hashlib.sha256(text.encode()).hexdigest()}
