"""Markov chains: Gibbs sampling of hidden records; NUTS for a normal approximation."""
