"""Functions that make, save, load and verify releases."""

__all__ = [
    "InconsistentRelease",
    "Released",
    "UnreadableRelease",
    "consistent",
    "load",
    "release",
]

from dpjax.releases.file_format import InconsistentRelease, UnreadableRelease
from dpjax.releases.publish import release
from dpjax.releases.released import Released, consistent, load
