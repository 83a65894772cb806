"""Markov chains over the tables of a network, by Gibbs sampling or by NUTS."""
