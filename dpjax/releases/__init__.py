"""Functions that make, save, load and verify releases."""

__all__ = [
    "InconsistentRelease",
    "Released",
    "UnreadableRelease",
    "chow_liu",
    "consistent",
    "learn",
    "load",
    "release",
]

from dpjax.releases.chow_liu import chow_liu
from dpjax.releases.entries import InconsistentRelease, UnreadableRelease
from dpjax.releases.learning import learn
from dpjax.releases.publish import release
from dpjax.releases.released import Released, consistent, load
