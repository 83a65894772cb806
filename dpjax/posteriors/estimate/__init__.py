"""Point estimates of networks that are too large for more."""
