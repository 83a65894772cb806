"""What do samples of parameters cost and tell, with the choices made for them?

`python -m benchmarks.bench_samplers` prints three tables. The first has the share of ε
that some neighbours of 20 records use up, by enumeration of the exact laws. The second
has the expected error of limits and cells that are chosen by default, beside those that
were usual before. The third has the errors of all mechanisms for a family, and for an
event log of two hidden states. No data are used; errors are expected divergences of a
record (of a row for cells), in nats.
"""

import argparse
from fractions import Fraction

import dpjax as dp
from dpjax.audits import audit_suite
from dpjax.families import FAMILIES, Family
from dpjax.mechanisms import CellMass
from dpjax.mechanisms.cell_choice import choose_cells, expected_error
from dpjax.mechanisms.truncation_choice import Truths, choose_truncation, most_points
from dpjax.privacy import REPLACE_ONE, PureDP
from dpjax.statistics import Sufficient
from dpjax.study.plan import plan

AUDITED = ("posterior-grid", "map-cells", "poisson-grid", "gaussian-grid")
AUDITED = (*AUDITED, "regression-grid", "multivariate-grid")
USUAL = 0.05  # share of the limits before they were chosen
BOUNDS = {
    "poisson": ((0.0, 12.0),),
    "exponential": ((0.0, 5.0),),
    "gaussian": ((-1.0, 1.0),),
    "linear-regression": ((-1.0, 1.0), (-1.0, 1.0)),
    "multivariate-gaussian": ((-1.0, 1.0), (-1.0, 1.0)),
}
NETS = {
    "one row": dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []}),
    "three rows": dp.BayesNet.from_parents(
        {"x": [0, 1], "y": [0, 1]}, {"x": [], "y": ["x"]}
    ),
}


def family_of(name: str) -> Family:
    lower, upper = zip(*BOUNDS[name], strict=True)
    return FAMILIES[name].from_bounds(lower, upper)


def losses(epsilon: str) -> None:
    """The share of ε in the worst of many pairs of neighbours."""
    print(f"{'loss, exactly':<22}{'adjacency':<14}{'ε':>4}{'lost':>9}")
    for found in audit_suite(dp.study_key(0), AUDITED, epsilon=epsilon):
        line = f"{found.mechanism:<22}{found.adjacency:<14}{epsilon:>4}"
        print(f"{line}{found.verdict.reached:>9.0%}", flush=True)


def limits(epsilon: str, n: int) -> None:
    """Limits of families, chosen and usual."""
    print(f"\n{'limits':<22}{'n':>7}{'ε':>4}{'usual T':>10}{'error':>9}", end="")
    print(f"{'chosen T':>10}{'error':>9}")
    for name in BOUNDS:
        family, budget = family_of(name), Fraction(epsilon)
        chosen = choose_truncation(family, budget, REPLACE_ONE, n)
        line = f"{name:<22}{n:>7}{epsilon:>4}"
        for limit in (family.truncation(USUAL), chosen):
            delta = family.sampling_sensitivity(REPLACE_ONE, limit).value
            temperature = max(1.0, 2 * delta / float(budget))
            points = family.grid(limit, most_points(family, limit))
            error = Truths(family).of_sample(points, n / temperature).mean()
            line += f"{temperature:>10.4g}{error:>9.4f}"
        print(line)


def cells(epsilon: str, n: int) -> None:
    """Cells of `map-cells`, chosen and usual."""
    for name, net in NETS.items():
        cost = PureDP(Fraction(epsilon), REPLACE_ONE)
        usual = CellMass.calibrate(net.layout, epsilon, REPLACE_ONE, omega="1/10")
        chosen = choose_cells(net.layout, cost, n)
        line = f"{'map-cells, ' + name:<22}{n:>7}{epsilon:>4}"
        for made in (usual, chosen):
            line += f"{float(made.temperature):>10.4g}{expected_error(made, n):>9.4f}"
        print(line)


def plans(epsilon: str, n: int, repeats: int) -> None:
    """The error of every mechanism."""
    for name, bounds in BOUNDS.items():
        pairs = enumerate(bounds)
        variables = tuple(dp.Interval(f"x{i}", *ends) for i, ends in pairs)
        statistic = Sufficient.of(name, variables, REPLACE_ONE)
        key = dp.study_key(0)
        made = plan(statistic, n, epsilon, REPLACE_ONE, key=key, repeats=repeats)
        errors = [f"{x.name} {x.divergence:.4f}" for x in made.outlooks]
        print(f"{name:<22}{n:>7}{epsilon:>4}  {', '.join(errors)}", flush=True)


def event_logs(epsilon: str, n: int, repeats: int) -> None:
    """The error of noisy counts and of one sample of a hidden Markov model."""
    sizes = {"region": 5, "month": 24, "kind": 3, "dead": 2}
    variables = [dp.Variable(x, tuple(range(size))) for x, size in sizes.items()]
    net = dp.event_logs.event_network(variables, "region", "month")
    options = {"key": dp.study_key(0), "repeats": repeats, "states": 2}
    made = plan(net, n, epsilon, REPLACE_ONE, **options)
    errors = [f"{x.name} {x.divergence:.4f}" for x in made.outlooks]
    print(f"{'event log':<22}{n:>7}{epsilon:>4}  {', '.join(errors)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=16, help="default: 16")
    parser.add_argument("--n", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--epsilons", nargs="+", default=["1", "4"])
    options = parser.parse_args()
    losses(options.epsilons[0])
    pairs = [(epsilon, n) for epsilon in options.epsilons for n in options.n]
    for epsilon, n in pairs:
        limits(epsilon, n)
        cells(epsilon, n)
    print(f"\n{'all mechanisms':<22}{'n':>7}{'ε':>4}  expected divergence")
    for epsilon, n in pairs:
        plans(epsilon, n, options.repeats)
        event_logs(epsilon, n, options.repeats)


if __name__ == "__main__":
    main()
