"""Posteriors from marginal tables without a network, by Markov random fields."""
