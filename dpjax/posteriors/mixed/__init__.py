"""Posteriors of networks with numeric leaves."""
