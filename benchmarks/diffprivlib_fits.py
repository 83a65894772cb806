"""Fits and predictions by diffprivlib, in a Python that imports it: see bench_peers.

    python diffprivlib_fits.py DATA.npz

DATA holds `features` (n, d), `labels` (n,), `training` (r, n) bool and `epsilons` (e,).
Prints the version; then, for each line of the standard input, fits and predicts once
for each row of `training` and each ε, and prints the seconds. Imports nothing of dpjax.
"""

import sys
import time

import diffprivlib
import numpy as np
from diffprivlib.models import GaussianNB


def fits(features, labels, training, epsilons) -> None:
    """One fit on the training records, and a prediction of the others, per cell."""
    for chosen in training:
        for epsilon in epsilons.tolist():
            model = GaussianNB(epsilon=epsilon, bounds=(0, 1))
            model.fit(features[chosen], labels[chosen])
            np.mean(model.predict(features[~chosen]) == labels[~chosen])


def main() -> None:
    """Answer each line with a time."""
    data = dict(np.load(sys.argv[1]))
    print(diffprivlib.__version__, flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        fits(**data)
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
