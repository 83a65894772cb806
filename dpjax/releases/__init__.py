"""Functions that make, save, load and verify releases."""

__all__ = [
    "InconsistentRelease",
    "Released",
    "UnreadableRelease",
    "consistent",
    "learn",
    "load",
    "release",
]

from dpjax.releases.entries import InconsistentRelease, UnreadableRelease
from dpjax.releases.learning import learn
from dpjax.releases.publish import release
from dpjax.releases.released import Released, consistent, load
