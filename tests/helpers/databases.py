"""Databases of SQLite in memory, which are closed after each test."""

import ibis

_OPEN = []


def sqlite():
    """Ibis leaves its databases open, of which Python 3.13 warns."""
    _OPEN.append(ibis.sqlite.connect())
    return _OPEN[-1]


def close_all():
    while _OPEN:
        _OPEN.pop().disconnect()
