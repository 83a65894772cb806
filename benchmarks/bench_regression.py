"""Linear regression: one posterior sample against noise on the sufficient statistics.

`python -m benchmarks.bench_regression DATA SCHEMA TARGET` takes a table of numbers, its
schema with bounds, and the column to predict. Columns are scaled by their public bounds
so that every record's features and its target are in unit balls; a tenth of the records
is used for training. Each method's mean squared error on the others is printed, in the
target's unit, with the ε that it really costs under replace-one.
"""

import argparse

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import dpjax as dp
from dpjax.data.intervals import Interval
from dpjax.families import KnownNoiseParameters, conjugate_posterior
from dpjax.mechanisms import DiscreteLaplace, RegressionSample
from dpjax.statistics import Sufficient

PRECISIONS = (1.0, 3.0, 10.0, 30.0, 100.0)
TRAINING_FRACTION = 0.1
EPSILON = "1"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("schema")
    parser.add_argument("target")
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args(arguments)
    records, width = load(options.data, options.schema, options.target)
    print(f"{len(records)} records, {records.shape[1] - 1} features and the intercept")
    variance = records[:, -1].var() * width**2
    print(f"variance of the target: {variance:.4f}")
    print("method                         b        ε      MSE ± s.e.")
    for precision in PRECISIONS:
        for name, epsilon, errors in study(records, precision, options.repeats):
            mse = np.asarray(errors) * width**2
            se = mse.std(ddof=1) / len(mse) ** 0.5
            cost = "∞" if epsilon is None else f"{epsilon:.4g}"
            print(f"{name:<26}{precision:>6g}{cost:>9}   {mse.mean():.4f} ± {se:.4f}")


def load(data, path, target):
    """Records with features within 1/√d of 0 and the target within 1."""
    schema = dp.Schema.from_json(path)
    names = [name for name in schema if name != target] + [target]
    schema = dp.Schema([schema[name] for name in names])
    lower, upper = (
        np.array([getattr(v, end) for v in schema.values()]) for end in ENDS
    )
    table = np.asarray(schema.encode(data, ignore="*"), float)
    scaled = (np.clip(table, lower, upper) - (lower + upper) / 2) / (
        (upper - lower) / 2
    )
    scaled[:, :-1] /= (len(names) - 1) ** 0.5
    return scaled, (upper[-1] - lower[-1]) / 2


ENDS = ("lower", "upper")


def study(records, precision, repeats):
    """Name, ε, and squared errors of every repeat, for every method."""
    features, n = records.shape[1] - 1, round(TRAINING_FRACTION * len(records))
    bound = 1 / features**0.5
    variables = [Interval(f"x{i}", -bound, bound) for i in range(features)]
    variables = (*variables, Interval("y", -1, 1))
    statistic = Sufficient.of("linear-regression", variables, "replace-one")
    family = statistic.family
    size = features + 1
    prior = KnownNoiseParameters(jnp.zeros(size), jnp.eye(size) * precision, 1.0)
    warm = RegressionSample(statistic, 1.0, 10 / precision**0.5, precision, n=n)
    real = warm.guarantee().epsilon
    hot = RegressionSample.calibrate(statistic, EPSILON, precision, n=n)
    sensitivity = statistic.sensitivity("replace-one")

    def point(vector):
        posterior = conjugate_posterior(family, *statistic.decode(vector, n), prior)
        return posterior.predict

    def sampled(law):
        return lambda key, exact: lambda x: law.predict(law.sample(key, exact), x)

    def noised(epsilon):
        noise = DiscreteLaplace.calibrate(epsilon, sensitivity)
        return lambda key, exact: point(noise.sample(key, exact))

    methods = {
        "non-private": (None, lambda key, exact: point(exact)),
        "one sample, T = 1": (float(real), sampled(warm)),
        "Laplace at that ε": (float(real), noised(real)),
        f"one sample, T = {float(hot.temperature):.4g}": (1.0, sampled(hot)),
        "Laplace at ε = 1": (1.0, noised(EPSILON)),
    }
    for name, (epsilon, fit) in methods.items():
        yield name, epsilon, squared_errors(fit, statistic, records, n, repeats)


def squared_errors(fit, statistic, records, n, repeats):
    @jax.jit
    def one(key, records):
        key_split, key_fit = jr.split(key)
        shuffled = jr.permutation(key_split, records)
        train, test = shuffled[:n], shuffled[n:]
        predict = fit(key_fit, statistic.measure(train))
        return ((predict(test[:, :-1]) - test[:, -1]) ** 2).mean()

    keys = jr.split(dp.study_key(0), repeats)
    table = jnp.asarray(records, jnp.float32)
    return [float(one(key, table)) for key in keys]


if __name__ == "__main__":
    main()
