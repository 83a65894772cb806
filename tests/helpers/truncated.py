"""References for truncated laws, in plain NumPy, from their unnormalised densities."""

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_HALVINGS = 2.0 ** -np.arange(1, 40)


class Law:
    """A law on an interval, by composite quadrature around the peak of its density.

    Args:
        log_density: vectorised, not normalised.
        low: end of the interval.
        high: likewise.
    """

    def __init__(self, log_density, low, high):
        self.edges = _edges(log_density, low, high)
        half = np.diff(self.edges)[:, None] / 2
        self.points = (self.edges[:-1, None] + half) + half * _NODES
        logs = log_density(self.points)
        self.weights = half * _WEIGHTS
        masses = np.exp(logs - logs.max()) * self.weights
        self.log_mass = logs.max() + np.log(masses.sum())
        self.masses = masses / masses.sum()
        self.below = np.append(0, self.masses.sum(1).cumsum())

    def cdf(self, x):
        """Exact at the ends of panels, linear in between."""
        return np.interp(x, self.edges, self.below)

    def expect(self, function):
        """Expected value of a vectorised function."""
        return (self.masses * function(self.points)).sum()

    @property
    def mean(self):
        """Expected value."""
        return self.expect(lambda x: x)

    @property
    def variance(self):
        """Variance."""
        return self.expect(lambda x: (x - self.mean) ** 2)


def _edges(log_density, low, high):
    """Panels, finer towards both ends, where the density is not negligible."""
    start, stop = low, high
    for _ in range(12):
        grid = _panels(start, stop, 100)
        logs = log_density(np.clip(grid, low, high))
        where = np.flatnonzero(logs > logs.max() - 45)
        start, stop = (
            grid[max(where[0] - 1, 0)],
            grid[min(where[-1] + 1, len(grid) - 1)],
        )
    return _panels(start, stop, 200)


def _panels(start, stop, count):
    steps = (stop - start) * np.concatenate([np.linspace(0, 1, count + 1), _HALVINGS])
    grid = np.unique(np.append(start + steps, stop - steps))
    return np.clip(grid, start, stop)


def beta_law(concentration1, concentration0, low, high):
    """The truncated Beta law."""

    def log_density(x):
        return (concentration1 - 1) * np.log(x) + (concentration0 - 1) * np.log1p(-x)

    return Law(log_density, low, high)


def dithered(draws, rng, low, high):
    """Draws as if not rounded: anywhere among what rounds to them."""
    draws = np.asarray(draws)
    step = np.spacing(np.abs(draws)).astype(float)
    wide = draws.astype(float) + step * (rng.random(draws.shape) - 0.5)
    wide = np.where(wide > high, 2 * high - wide, wide)
    return np.where(wide < low, 2 * low - wide, wide)
