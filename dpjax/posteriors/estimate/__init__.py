"""Point estimates for networks that are too large for exact posteriors."""
