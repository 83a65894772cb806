"""Sums over all hidden counts: stars, trees and single proportions."""
