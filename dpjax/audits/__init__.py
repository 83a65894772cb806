"""Audits, which test whether a mechanism loses more privacy than it claims."""

__all__ = [
    "Audited",
    "Verdict",
    "audit",
    "audit_exactly",
    "audit_suite",
    "case_names",
    "largest_loss",
    "neighbouring",
]

from dpjax.audits.exact import audit_exactly, largest_loss, neighbouring
from dpjax.audits.monte_carlo import audit
from dpjax.audits.suite import Audited, audit_suite, case_names
from dpjax.audits.verdict import Verdict
