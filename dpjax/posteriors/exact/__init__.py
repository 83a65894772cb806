"""Exact posteriors of stars, trees and proportions, by sums over hidden counts."""
