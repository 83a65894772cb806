"""Networks with numeric leaves, small ones and tables drawn from them."""

import numpy as np

from dpjax.data import MixedNet

TINY = MixedNet.from_parents(
    {"x": {"lower": -1, "upper": 3}, "y": [0, 1], "s": list("abc"), "v": [0, 1]},
    {"x": ["y"], "s": ["y"], "v": []},
)
BAYES = MixedNet.from_parents(
    {
        "age": {"lower": 0, "upper": 100},
        "y": ["no", "yes"],
        "s": list("abc"),
        "hours": {"lower": 0, "upper": 10},
    },
    {"age": ["y"], "s": ["y"], "hours": ["y", "s"]},
)
MEANS = {
    "age": np.array([40.0, 55.0]),
    "hours": np.array([[3.0, 4.0, 5.0], [4.0, 6.0, 7.0]]),
}
SDS = {"age": 12.0, "hours": 1.5}
SHARES = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])


def drawn(rng, n):
    """A table of n records of `BAYES`, whose classes are equally frequent."""
    y = rng.integers(0, 2, n)
    s = np.array([rng.choice(3, p=SHARES[i]) for i in y], int)
    age = rng.normal(MEANS["age"][y], SDS["age"])
    hours = rng.normal(MEANS["hours"][y, s], SDS["hours"])
    levels = {"y": np.array(["no", "yes"])[y], "s": np.array(list("abc"))[s]}
    return {"age": age, "hours": hours, **levels}
