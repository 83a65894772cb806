"""Private naive Bayes as a loop over fits in NumPy: what a sweep is measured against.

Vectorised inside a fit; the split of a repeat and its exact counts are shared by its
fits, as in the sweep. Noise is of floats, a posterior sample by SciPy's inverse: both
are the quickest that NumPy and SciPy offer for the law.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

Counts = np.ndarray  # (target's level, feature's level, feature)


@dataclass(frozen=True)
class Loop:
    """Accuracies of all fits, a repeat at a time.

    Args:
        records: binary, the target first.
        training: number of training records.
        epsilons: of the noise.
        changes: L1 sensitivity of the measured statistic by mechanism.
        temperatures, omegas: of the posterior's sample, by ε.
    """

    records: np.ndarray
    training: int
    epsilons: list[float]
    changes: dict[str, float]
    temperatures: np.ndarray
    omegas: np.ndarray

    def __call__(self, rng: np.random.Generator, repeats: int) -> np.ndarray:
        """(repeats, mechanisms, ε)."""
        return np.array([self.repeat(rng) for _ in range(repeats)])

    def repeat(self, rng: np.random.Generator) -> list[list[float]]:
        features = self.records[:, 1:].astype(np.float32)
        target = self.records[:, 0].astype(np.float32)
        order = rng.permutation(len(target))
        train, rest = order[: self.training], order[self.training :]
        positive = target[train] @ features[train]
        every, ones = features[train].sum(axis=0), target[train].sum()
        rows = [[self.training - ones - (every - positive), every - positive]]
        rows += [[ones - positive, positive]]
        counts = np.array(rows, float)
        held_out, levels = features[rest], target[rest] > 0
        found = []
        for fit in (self.laplace, self.fourier, self.sample):
            accuracies = []
            for place in range(len(self.epsilons)):
                weights, constant = _line(*fit(rng, counts, place))
                margin = held_out @ weights + constant
                accuracies.append(np.mean((margin > 0) == levels))
            found.append(accuracies)
        return found

    def laplace(self, rng, counts: Counts, place: int) -> tuple[np.ndarray, float]:
        scale = self.changes["laplace"] / self.epsilons[place]
        noisy = counts + rng.laplace(scale=scale, size=counts.shape)
        return self._means(noisy, noisy[:, :, 0].sum(axis=1))

    def fourier(self, rng, counts: Counts, place: int) -> tuple[np.ndarray, float]:
        scale, n = self.changes["fourier"] / self.epsilons[place], self.training
        features = counts.shape[2]
        noise = rng.laplace(scale=scale, size=2 * features + 1)
        target = n - 2 * (counts[1, :, 0].sum() + noise[0])
        feature = n - 2 * (counts[:, 1].sum(axis=0) + noise[1 : features + 1])
        both = n - 2 * (counts[0, 1] + counts[1, 0] + noise[features + 1 :])
        low, high = n + target, n - target
        rows = [[low + feature + both, low - feature - both]]
        rows += [[high + feature - both, high - feature + both]]
        return self._means(np.array(rows) / 4, np.array([low, high]) / 2)

    def _means(self, counts: Counts, totals: np.ndarray) -> tuple[np.ndarray, float]:
        counts = np.clip(counts, 0, self.training) + 1
        totals = np.clip(totals, 0, self.training) + 1
        return counts[:, 1] / counts.sum(axis=1), totals[1] / totals.sum()

    def sample(self, rng, counts: Counts, place: int) -> tuple[np.ndarray, float]:
        heat, omega = self.temperatures[place], self.omegas[place]
        ones = np.append(counts[:, 1].ravel(), counts[1, :, 0].sum())
        zeros = np.append(counts[:, 0].ravel(), counts[0, :, 0].sum())
        a, b = 1 + ones / heat, 1 + zeros / heat
        low, high = special.betainc(a, b, omega), special.betainc(a, b, 1 - omega)
        share = low + rng.random(a.size) * (high - low)
        drawn = np.clip(special.betaincinv(a, b, share), omega, 1 - omega)
        return drawn[:-1].reshape(2, -1), drawn[-1]


def _line(theta: np.ndarray, share: float) -> tuple[np.ndarray, np.float32]:
    """Weights and constant of the log-odds."""
    zero = np.log1p(-theta)
    weights = (np.log(theta) - zero).astype(np.float32)
    constant = (zero[1] - zero[0]).sum() + np.log(share / (1 - share))
    return weights[1] - weights[0], np.float32(constant)
