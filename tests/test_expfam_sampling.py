"""What one posterior sample costs: sensitivities against grids of records and θ."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

from dpjax.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Gaussian,
    GaussianMean,
    LinearRegression,
    MultivariateGaussian,
    Poisson,
)
from tests.helpers.families import FAMILIES

BOTH = ["replace-one", "add-remove"]


def brute_force(adjacency, log_likelihood):
    """From log p(x|θ), records in rows and parameters in columns."""
    if adjacency == "add-remove":
        return np.ptp(log_likelihood, axis=1).max()
    return max(np.ptp(log_likelihood - row, axis=1).max() for row in log_likelihood) / 2


def grid(*limits, points=41):
    """All combinations of evenly spaced values, one column a parameter."""
    axes = [np.linspace(*pair, points) for pair in limits]
    return np.array(list(itertools.product(*axes)))


def normal(records, mean, variance):
    """Log-densities, records in rows."""
    return stats.norm.logpdf(records[:, None], mean, np.sqrt(variance))


def bernoulli(least, most):
    p = np.linspace(least, most, 2001)
    return Bernoulli(), {"probability": (least, most)}, np.log([1 - p, p])


def categorical(least, most):
    corners = grid((least, most), (least, most), points=121)
    theta = np.column_stack([corners, 1 - corners.sum(1)])
    inside = (theta[:, 2] >= least - 1e-12) & (theta[:, 2] <= most + 1e-12)
    return Categorical(3), {"probability": (least, most)}, np.log(theta[inside]).T


def poisson(least, most):
    rates = np.linspace(least, most, 3001)
    records = np.arange(8)
    values = stats.poisson.logpmf(records[:, None], rates)
    return Poisson(7), {"rate": (least, most)}, values


def exponential(lower, least, most):
    rates = np.geomspace(least, most, 3001)
    records = np.linspace(lower, 5.0, 41)
    family = Exponential(5.0, lower)
    return family, {"rate": (least, most)}, np.log(rates) - records[:, None] * rates


def gaussian_mean(least, most):
    values = normal(np.linspace(-1, 3, 41), np.linspace(least, most, 401), 0.5)
    return GaussianMean(-1.0, 3.0, 0.5), {"mean": (least, most)}, values


def gaussian(mean, variance):
    means, logs = grid(mean, np.log(variance), points=61).T
    values = normal(np.linspace(10, 13, 121), means, np.exp(logs))
    return Gaussian(10.0, 13.0), {"mean": mean, "variance": variance}, values


ONE_PARAMETER = {
    "Foulds' figure 1": bernoulli(0.2, 0.8),
    "any interval": bernoulli(0.05, 0.3),
    "three levels": categorical(0.1, 0.99),
    "three levels, at most": categorical(0.1, 0.5),
    "small rates": poisson(0.1, 3.0),
    "large rates": poisson(0.5, 40.0),
    "times from 0": exponential(0.0, 0.1, 3.0),
    "times from 1": exponential(1.0, 0.05, 0.2),
    "mean inside": gaussian_mean(0.0, 1.0),
    "mean beyond": gaussian_mean(-4.0, 2.0),
    "mean above": gaussian_mean(4.0, 6.0),
}
TWO_PARAMETERS = {
    "the records' bounds": gaussian((10.0, 13.0), (0.2, 4.0)),
    "narrow": gaussian((11.0, 12.5), (0.5, 0.6)),
    "wide": gaussian((5.0, 20.0), (1.0, 9.0)),
    "above": gaussian((14.0, 15.0), (0.5, 30.0)),
    "below": gaussian((4.0, 5.0), (0.3, 5.0)),
    "all but a point": gaussian((12.9, 13.1), (0.01, 50.0)),
    "large variances": gaussian((10.0, 13.0), (20.0, 90.0)),
}


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", {**ONE_PARAMETER, **TWO_PARAMETERS})
def test_sensitivities_equal_brute_force(name, adjacency):
    family, truncation, log_likelihood = {**ONE_PARAMETER, **TWO_PARAMETERS}[name]
    claimed = family.sampling_sensitivity(adjacency, truncation)
    found = brute_force(adjacency, log_likelihood)
    assert claimed.tight
    assert claimed.value * (1 - 2e-3) <= found <= claimed.value * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
def test_boxes_at_random_equal_brute_force(adjacency, rng):
    for _ in range(15):
        mean = tuple(np.sort(rng.normal(11.5, 3, 2)))
        variance = tuple(np.sort(rng.lognormal(0, 2, 2)))
        family, truncation, values = gaussian(mean, variance)
        claimed = family.sampling_sensitivity(adjacency, truncation).value
        found = brute_force(adjacency, values)
        assert claimed * (1 - 2e-3) <= found <= claimed * (1 + 1e-9)


def test_foulds_example():
    for edge in (0.05, 0.2):
        for adjacency in BOTH:
            limits = {"probability": (edge, 1 - edge)}
            claimed = Bernoulli().sampling_sensitivity(adjacency, limits)
            assert claimed.value == pytest.approx(np.log((1 - edge) / edge))
    figure = Bernoulli().sampling_sensitivity(
        "replace-one", {"probability": (0.2, 0.8)}
    )
    assert 2 * figure.value / 1 == pytest.approx(2.77, abs=0.005)  # T at ε = 1
    none = Poisson(7).sampling_sensitivity("add-remove", {"rate": (8.0, 20.0)})
    assert none.value == 12  # a record of 0, where g does not cancel


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_covariances_equal_brute_force(adjacency, columns, rng):
    family = MultivariateGaussian((0.0, -1.0, 2.0)[:columns], (1.5, 1.0, 3.0)[:columns])
    truncation = {"variance": (0.4, 3.0)}
    claimed = family.sampling_sensitivity(adjacency, truncation)
    assert claimed.tight
    records = grid(*family.bounds, points=4)
    values = []
    for mean, other in itertools.product(grid(*family.bounds, points=2), repeat=2):
        along = (other - mean) / max(np.linalg.norm(other - mean), 1e-9)
        for inside, outside in itertools.product((0.4, 3.0), repeat=2):
            covariance = outside * np.eye(columns)
            covariance += (inside - outside) * np.outer(along, along)
            if np.linalg.eigvalsh(covariance)[0] > 0.39:
                law = stats.multivariate_normal(mean, covariance)
                values.append(law.logpdf(records).reshape(len(records)))
    found = brute_force(adjacency, np.array(values).T)
    assert found == pytest.approx(claimed.value, rel=1e-6)


def test_covariances_at_random_cost_no_more(rng):
    family, truncation = FAMILIES["two columns"], {"variance": (0.3, 5.0)}
    records = grid(*family.bounds, points=5)
    values = []
    for _ in range(600):
        turn = stats.ortho_group.rvs(2, random_state=rng)
        covariance = turn @ np.diag(rng.uniform(0.3, 5.0, 2)) @ turn.T
        mean = rng.uniform(*np.array(family.bounds).T)
        values.append(stats.multivariate_normal(mean, covariance).logpdf(records))
    for adjacency in BOTH:
        claimed = family.sampling_sensitivity(adjacency, truncation)
        assert brute_force(adjacency, np.array(values).T) <= claimed.value


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", ["regression", "no intercept", "one side"])
@pytest.mark.parametrize("precision", [(2.0, 2.0), (0.5, 4.0)])
def test_regressions_equal_brute_force(name, adjacency, precision):
    family, norm = FAMILIES[name], 1.5
    truncation = {"norm": (0.0, norm), "precision": precision}
    claimed = family.sampling_sensitivity(adjacency, truncation)
    records = grid(*family.bounds, points=11) - np.array(family.centre)
    features = records[:, :-1]
    if family.intercept:
        features = np.column_stack([np.ones(len(records)), features])
        angles = np.linspace(0, 2 * np.pi, 73)
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
    else:
        circle = np.array([[1.0], [-1.0]])
    radii = np.linspace(0, norm, 31)[:, None, None]
    weights = (radii * circle[None]).reshape(-1, circle.shape[1])
    tau = np.linspace(*precision, 9)[None, None]
    residuals = (records[:, -1:] - features @ weights.T)[:, :, None]
    values = (np.log(tau) - tau * residuals**2) / 2
    found = brute_force(adjacency, values.reshape(len(records), -1))
    assert found <= claimed.value * (1 + 1e-9)
    if claimed.tight:
        assert found >= claimed.value * 0.99
    assert claimed.tight == (adjacency == "add-remove")


def test_regression_costs_what_zhang_et_al_leave_out():
    """With ‖x‖ and |y| at most 1 the cost is τ(1 + B)²/T under replace-one."""
    family = LinearRegression((-1.0,), (1.0,), (-1.0, 1.0), intercept=False)
    for precision, cost in ((1, 121), (100, 4)):
        norm = 10 / np.sqrt(precision)
        truncation = {"norm": (0.0, norm), "precision": (1.0, 1.0)}
        sensitivity = family.sampling_sensitivity("replace-one", truncation)
        assert 2 * sensitivity.value <= cost + 1e-9
        assert 2 * sensitivity.value >= 0.99 * cost - 1.1


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", ONE_PARAMETER)
def test_a_sample_at_the_temperature_costs_epsilon_and_hardly_less(name, adjacency):
    """Data of one or two kinds, enough of them to concentrate the posterior."""
    family, truncation, log_likelihood = ONE_PARAMETER[name]
    delta = family.sampling_sensitivity(adjacency, truncation).value
    epsilon, uses = 1.0, 2 if adjacency == "replace-one" else 1
    temperature = uses * delta / epsilon
    rows, worst = log_likelihood[[0, len(log_likelihood) // 2, -1]], 0.0
    for row, beside, new in itertools.product(rows, repeat=3):
        less = row if adjacency == "replace-one" else 0
        for n in (1, 100_000):
            data = n * (2 * row + beside)
            one, other = data / temperature, (data + new - less) / temperature
            loss = (one - special.logsumexp(one)) - (other - special.logsumexp(other))
            worst = max(worst, np.abs(loss).max())
    assert 0.95 * epsilon <= worst <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize(
    ("family", "truncation", "message"),
    [
        (Poisson(7), {}, "must bound the rate of the poisson family, as in .'rate': "),
        (Poisson(7), {"rate": (0, 3)}, r"0.0 < least <= most < inf, got \(0, 3\)"),
        (Exponential(5.0), {"rate": (1, float("inf"))}, "must bound the rate"),
        (Gaussian(0.0, 1.0), {"mean": (0, 1)}, "must bound the variance"),
        (Gaussian(0.0, 1.0), {"variance": (1, 2)}, "must bound the mean"),
        (GaussianMean(0.0, 1.0, 1.0), {"mean": (1, 0)}, "must bound the mean"),
        (Bernoulli(), {"probability": (0, 1)}, "must bound the probability"),
        (Bernoulli(), {"probability": (0.1, 0.9), "x": (1, 2)}, "got 'x'"),
        (Categorical(4), {"probability": (0.25, 0.9)}, "least < 1/4 < most"),
        (Categorical(4), {"probability": (0.1, 0.2)}, "least < 1/4 < most"),
        (FAMILIES["two columns"], {}, "must bound the variance"),
        (FAMILIES["regression"], {"precision": (1, 1)}, "must bound the norm"),
        (
            FAMILIES["regression"],
            {"norm": (1, 2), "precision": (1, 1)},
            "must let the norm start at 0",
        ),
    ],
)
def test_a_family_without_truncation_is_refused(family, truncation, message):
    for adjacency in BOTH:
        with pytest.raises(ValueError, match=message):
            family.sampling_sensitivity(adjacency, truncation)


def test_adjacency_has_no_default():
    with pytest.raises(ValueError, match="`adjacency` must be 'replace-one' or"):
        Bernoulli().sampling_sensitivity("both", {"probability": (0.1, 0.9)})
