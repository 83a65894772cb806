"""Branches of critical functions that still lack a mutant, and should have one.

This list may only become shorter: what is covered must be taken out.
"""

__all__ = ["UNCOVERED"]

UNCOVERED = (
    (
        "mechanisms/discrete_laplace.py:DiscreteLaplace.calibrate_many",
        "exact = [exact_epsilon(epsilon",
    ),
    (
        "mechanisms/discrete_laplace.py:DiscreteLaplace.sample",
        "if not jnp.issubdtype(exact.dt",
    ),
    (
        "mechanisms/discrete_laplace.py:DiscreteLaplace.certify",
        "rho = self.guarantee().epsilon",
    ),
    ("mechanisms/discrete_laplace.py:_to_words", "if integer >> 32 * _WORDS:"),
    (
        "mechanisms/split_laplace.py:SplitLaplace.calibrate",
        "if set(split) != set(lengths):",
    ),
    ("mechanisms/split_laplace.py:SplitLaplace.sample", "return part.sample(key, row)"),
    ("mechanisms/split_laplace.py:SplitLaplace.draw", "self._refuse_length(exact)"),
    ("mechanisms/split_laplace.py:_rows", "ends = np.cumsum(lengths)"),
    ("mechanisms/truncation.py:grids_of_share", "return tuple("),
    ("mechanisms/parameter_grid.py:_integers", "if not np.isfinite(scaled).all"),
    ("mechanisms/family_loss.py:sample_loss", "if n is None or grid.tables[0]"),
    ("mechanisms/family_loss.py:sample_loss", "for start, moved in ((grid.low"),
    (
        "mechanisms/family_posterior.py:FamilyPosterior.calibrate",
        "public = n if adjacency == REP",
    ),
    (
        "mechanisms/family_posterior.py:FamilyPosterior.scores",
        "n = vector[carrier] + vector[-",
    ),
    ("mechanisms/cell_grid.py:CellGrid._tables", "for group in self.layout.group"),
    ("mechanisms/cell_mass.py:CellMass.scores", "self._check(exact)"),
    ("mechanisms/cell_mass.py:_exponential_below", "numerator, denominator = map(d"),
    ("publish.py:release", "recipe.statistic(what, adjacen"),
    ("publish.py:_refuse_empty", "if n == 0 and adjacency == REP"),
    ("private_chains/price.py:price_of", "if latents and adjacency == AD"),
    ("private_chains/price.py:_signed", "if magnitude and not magnitude"),
    ("private_chains/price.py:_signed", "return exact_epsilon(magnitude"),
    ("hidden_markov/paid.py:paid_hidden_markov", "if ledger is not None:"),
)
