"""Fits and predictions by diffprivlib, in a Python that imports it: see bench_peers.

    python diffprivlib_fits.py DATA.npz

DATA holds `records` (n, d), the label first, `training` (r, n) bool, `epsilons` (e,).
Prints the version; then, for each line of the standard input, fits and predicts once
for each row of `training` and each ε, and says so. Imports nothing of dpjax.
"""

import sys

import diffprivlib
import numpy as np
from diffprivlib.models import GaussianNB


def fits(records, training, epsilons) -> None:
    """One fit on the training records, and a prediction of the others, per cell."""
    features, labels = records[:, 1:].astype(float), records[:, 0]
    for chosen in training:
        for epsilon in epsilons.tolist():
            model = GaussianNB(epsilon=epsilon, bounds=(0, 1))
            model.fit(features[chosen], labels[chosen])
            np.mean(model.predict(features[~chosen]) == labels[~chosen])


def main() -> None:
    """Answer each line once its fits are made."""
    data = dict(np.load(sys.argv[1]))
    print(diffprivlib.__version__, flush=True)
    for _ in sys.stdin:
        fits(**data)
        print("done", flush=True)


if __name__ == "__main__":
    main()
