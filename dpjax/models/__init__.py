"""Posteriors: what a release, or data of one's own, says about a model."""

__all__ = ["BayesNetPosterior", "posterior"]

from dpjax.models.bayes_net import BayesNetPosterior, posterior
