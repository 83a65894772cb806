"""Markov chains over the hidden totals of exponential families."""
