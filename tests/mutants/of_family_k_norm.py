"""Faults of K-norm noise on families: of its parts, its steps, its law, its draws."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import fault

_NOISE = "mechanisms/norm_mechanism.py"
_EXACT = "mechanisms/family_k_norm.py"
_REAL = "mechanisms/continuous_family_k_norm.py"
_STATISTIC = "statistics/sufficient.py"
_MOMENTS = "families/moments.py"
_LAW = "noise/norm_law.py"
_IN = "tests/test_family_k_norm.py::"
_PARTS = _IN + "test_one_record_changes_a_part_by_its_bound_at_most"
_LOSS = _IN + "test_no_output_loses_more_than_epsilon_and_some_lose_all_of_it"
_DRAWS = _IN + "test_draws_follow_the_law"
_SUM = _IN + "test_probabilities_have_the_sum_one"
_DENSITY = _IN + "test_the_density_is_that_of_the_law"
_VARIANCE = _IN + "test_the_noise_has_the_stated_variance_which_is_less_than_of"
_VARIANCE += "_laplace_noise"
_WHOLE = _IN + "test_all_numbers_are_one_part_if_that_has_less_noise"
_STEPS = _IN + "test_steps_are_fine_for_every_epsilon"
_SAVED = _IN + "test_a_release_is_saved_verified_and_charged"
_RANGES = _IN + "test_components_have_the_ranges_that_the_family_states"
_MISTAKES = _IN + "test_each_mistake_gets_a_message"

MUTANTS = tuple(
    fault(kind, f"family K-norm: {what}", file, old, new, test)
    for kind, what, file, old, new, test in (
        (
            "ε doubled",
            "a recipe of twice the budget",
            "mechanisms/recipes.py",
            "return FamilyKNorm.of(statistic, budget)",
            "return FamilyKNorm.of(statistic, budget.repeated(2))",
            _SAVED,
        ),
        (
            "ε doubled",
            "a step of the radius loses all of ε",
            _EXACT,
            "return NormLaw(balls, widths, self.epsilon / self.steps)",
            "return NormLaw(balls, widths, self.epsilon)",
            _LOSS,
        ),
        (
            "ε doubled",
            "parts of half of their width",
            _EXACT,
            "widths = tuple(size // self.steps for",
            "widths = tuple(max(1, size // self.steps // 2) for",
            _LOSS,
        ),
        (
            "law changed",
            "every part has the same width",
            _EXACT,
            "widths = tuple(size // self.steps for _, size in self.parts)",
            "widths = (max(x for _, x in self.parts) // self.steps,) * len(balls)",
            _VARIANCE,
        ),
        (
            "law changed",
            "radii without the product of widths",
            _LAW,
            "j = pick(self._weights, below)",
            "j = pick([1] * len(self._weights), below)",
            _DRAWS,
        ),
        (
            "law changed",
            "the sum of norms where the largest is meant",
            _LAW,
            "return max(Fraction(part.norm(vector), step) for part, step in pairs)",
            "return sum(Fraction(part.norm(vector), step) for part, step in pairs)",
            _SUM,
        ),
        (
            "noise clipped",
            "only the first number gets noise",
            _NOISE,
            "value\n        return noise\n",
            "value\n        return noise * (np.arange(2) < 1)\n",
            _DRAWS,
        ),
        (
            "wrong adjacency",
            "a mechanism for another adjacency",
            _EXACT,
            "family.sensitivity(cost.adjacency)  # raises for",
            "family.sensitivity(family.adjacency)  # raises for",
            _MISTAKES,
        ),
        (
            "ε doubled",
            "the guarantee is twice what is spent",
            _EXACT,
            "return PureDP(self.epsilon, self.adjacency)",
            "return PureDP(2 * self.epsilon, self.adjacency)",
            _LOSS,
        ),
        (
            "sensitivity halved",
            "numbers change by half of their range",
            _STATISTIC,
            "max(b - a, 1)) for k",
            "max((b - a) // 2, 1)) for k",
            _PARTS,
        ),
        (
            "sensitivity halved",
            "the largest value alone counts",
            _STATISTIC,
            "max(-a, b, 1)) for k",
            "max(-a, 1)) for k",
            _PARTS,
        ),
        (
            "sensitivity halved",
            "n and its complement change by half a record",
            _STATISTIC,
            "return ((both, units), *(x for",
            "return ((both, units // 2), *(x for",
            _PARTS,
        ),
        (
            "sensitivity halved",
            "counts of levels change by half as much",
            _STATISTIC,
            "return super().changes",
            "return (((*range(self.length),), 1),)",
            _PARTS,
        ),
        (
            "wrong adjacency",
            "ranges and sizes of the other adjacency",
            _STATISTIC,
            "        if self.adjacency == REPLACE_ONE:\n            return tuple(((k,)",
            "        if self.adjacency != REPLACE_ONE:\n            return tuple(((k,)",
            _PARTS,
        ),
        (
            "bound loosened",
            "values of a range are not rounded",
            _STATISTIC,
            "far = 0.5 + units * 2.0**-20",
            "far = units * 2.0**-20",
            _PARTS,
        ),
        (
            "bound loosened",
            "products at one corner only",
            _MOMENTS,
            "corners = [x * y for x in ends[i] for y in ends[j]]",
            "corners = [ends[i][0] * ends[j][0], ends[i][1] * ends[j][1]]",
            _RANGES,
        ),
        (
            "bound loosened",
            "columns that are not centred",
            _MOMENTS,
            "ends = [[(x - c) / h for x in pair] for pair, c, h in triples]",
            "ends = [[x / h for x in pair] for pair, c, h in triples]",
            _RANGES,
        ),
        (
            "branch left out",
            "ranges of columns that are not measured",
            _MOMENTS,
            "first = [(low, high) for low, high in ends] if self.linear else []",
            "first = [(low, high) for low, high in ends]",
            _RANGES,
        ),
        (
            "bound loosened",
            "squares are not near zero",
            _MOMENTS,
            "low = 0.0 if i == j and min(ends[i]) <= 0 <= max(ends[i]) else",
            "low = 0.5 if i == j and min(ends[i]) <= 0 <= max(ends[i]) else",
            _RANGES,
        ),
        (
            "bound loosened",
            "sizes are rounded down to multiples",
            _REAL,
            "return q, tuple((places, q * -(-size // q)) for places, size in found)",
            "return q, tuple((places, q * (size // q)) for places, size in found)",
            _STEPS,
        ),
        (
            "law changed",
            "one step of the radius for a record",
            _REAL,
            "rounded = sum((-(-size // q)) ** 2 for _, size in found)",
            "rounded = 1",
            _STEPS,
        ),
        (
            "law changed",
            "parts of the largest variance",
            _REAL,
            "return min(statistic.changes, whole, key=unit_variance)",
            "return max(statistic.changes, whole, key=unit_variance)",
            _WHOLE,
        ),
        (
            "law changed",
            "the density has the sum of norms",
            _REAL,
            "loss = _largest(epsilon * sums / jnp.broadcast_to(sizes, sums.shape))",
            "loss = jnp.sum(epsilon * sums / jnp.broadcast_to(sizes, sums.shape), -1)",
            _DENSITY,
        ),
        (
            "law changed",
            "a simulated radius of some dimensions less",
            _REAL,
            "radius = sums.sum(axis=-1) / jnp.asarray",
            "radius = sums.max(axis=-1) / jnp.asarray",
            _VARIANCE,
        ),
        (
            "law changed",
            "simulated points on the surface of the ball",
            _REAL,
            "[..., None] * norms * sizes / sums",
            "[..., None] * sizes / sums",
            _VARIANCE,
        ),
    )
)
