"""Chains over the hidden totals of exponential families."""
