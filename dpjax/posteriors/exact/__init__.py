"""Exact posteriors by sums over hidden counts: stars, trees and proportions."""
