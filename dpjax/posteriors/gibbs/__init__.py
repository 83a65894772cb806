"""Markov chains: Gibbs over hidden records, and NUTS under a normal approximation."""
