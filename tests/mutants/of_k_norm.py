"""Faults of K-norm noise: of its norms, its points, its radius and its files."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import Mutant

_BALLS = "noise/norm_balls.py"
_COUNTS = "noise/compositions.py"
_LAW = "noise/norm_law.py"
_GROUPS = "mechanisms/norm_groups.py"
_NOISE = "mechanisms/norm_mechanism.py"
_MECHANISM = "mechanisms/k_norm.py"
_DRAWS = "mechanisms/norm_simulation.py"
_SIMULATED = "mechanisms/continuous_k_norm.py"
_JOINT = "tests/test_k_norm_law.py::"
_STATISTIC = "statistics/block_statistic.py"
_POINTS = "tests/test_norm_balls.py::test_numbers_of_points_are_those_of_an_enumeration"
_NORMS = "tests/test_norm_balls.py::test_the_norm_is_that_of_its_definition"
_BALLS_IN = "tests/test_norm_balls.py::"
_BALL = _BALLS_IN + "test_each_point_of_a_ball_is_drawn_with_the_same_probability"
_IN = "tests/test_k_norm.py::"
_ONE = _IN + "test_one_record_changes_each_group_by_norm_one_at_most"
_LOSS = _IN + "test_the_loss_is_epsilon_and_not_much_less"
_WORD = _IN + "test_a_word_below_the_threshold_prolongs_the_radius"
_LAW_TEST = _IN + "test_draws_follow_the_law"
_MOMENTS = _IN + "test_simulated_noise_has_the_moments_of_exact_noise"
_SPLIT = "tests/test_k_norm_split.py::"
_TABLES = _IN + "test_tables_are_those_of_the_records"

MUTANTS = (
    Mutant(
        "law changed",
        "K-norm: points of rows without their signs",
        _BALLS,
        "return tuple(math.comb(size, j) * way for j, way in enumerate(ways))",
        "return tuple(math.comb(size, j) + 0 * way for j, way in enumerate(ways))",
        (_POINTS,),
    ),
    Mutant(
        "law changed",
        "K-norm: the largest norm where the sum is meant",
        _BALLS,
        "return sum(max(x.norm(vector) for x in tables) for tables in self.classes)",
        "return max(max(x.norm(vector) for x in tables) for tables in self.classes)",
        (_NORMS,),
    ),
    Mutant(
        "law changed",
        "K-norm: the sum of norms where the largest is meant",
        _BALLS,
        "return sum(max(x.norm(vector) for x in tables) for tables in self.classes)",
        "return sum(sum(x.norm(vector) for x in tables) for tables in self.classes)",
        (_NORMS,),
    ),
    Mutant(
        "law changed",
        "K-norm: a table before the first may reach its norm",
        _BALLS,
        "yield from table.draw(radius - (i < first), below)",
        "yield from table.draw(radius, below)",
        (_BALL,),
    ),
    Mutant(
        "law changed",
        "K-norm: nonzero parts are split without their weights",
        _COUNTS,
        "weights = (one[j] * other[total - j] for j in range(least, most + 1))",
        "weights = (1 for j in range(least, most + 1))",
        (_BALL,),
    ),
    Mutant(
        "law changed",
        "K-norm: compositions that are not uniform",
        _COUNTS,
        "chosen.add(top if drawn in chosen else drawn)",
        "chosen.add(most if drawn in chosen else drawn)",
        ("tests/test_norm_balls.py::test_compositions_are_uniform",),
    ),
    Mutant(
        "law changed",
        "K-norm: one geometric number too few",
        _LAW,
        "radius = j + self._failures(j + 1, bits)",
        "radius = j + self._failures(max(j, 1), bits)",
        (_LAW_TEST,),
    ),
    Mutant(
        "ε doubled",
        "K-norm: words are compared with a reduced numerator",
        _LAW,
        'np.frombuffer(words, "<u8") >= np.uint64(self.threshold)',
        'np.frombuffer(words, "<u8") >= np.uint64(self.threshold >> 3)',
        (_WORD,),
    ),
    Mutant(
        "ε doubled",
        "K-norm: the ratio is rounded down",
        _LAW,
        "return math.ceil((1 << _BITS) / exp_lower_bound(self.epsilon))",
        "return math.floor((1 << _BITS) / exp_lower_bound(self.epsilon))",
        (_LOSS,),
    ),
    Mutant(
        "sensitivity halved",
        "K-norm: a replaced record moves by one half once",
        _GROUPS,
        "return 2 if self.statistic.adjacency == REPLACE_ONE and not counts else 1",
        "return 4 if self.statistic.adjacency == REPLACE_ONE and not counts else 1",
        (_ONE,),
    ),
    Mutant(
        "wrong adjacency",
        "K-norm: halves under add-remove too",
        _GROUPS,
        "return 2 if self.statistic.adjacency == REPLACE_ONE and not counts else 1",
        "return 1 if counts else 2",
        (_ONE,),
    ),
    Mutant(
        "table row shifted",
        "K-norm: classes of other variables than the common ones",
        _GROUPS,
        "return levels.transpose([*first, *rest]).reshape(self.classes, -1)",
        "return levels.reshape(self.classes, -1)",
        (_ONE,),
    ),
    Mutant(
        "bound loosened",
        "K-norm: a block may be missing from the stars of a file",
        _MECHANISM,
        "if not whole or sorted(places) != list(range(len(self.statistic.blocks))):",
        "if not whole or {*places} - {*range(len(self.statistic.blocks))}:",
        (_IN + "test_each_mistake_gets_a_message",),
    ),
    Mutant(
        "float noise",
        "K-norm: `draw` takes the simulation",
        _NOISE,
        "return np.clip(counts + self.draw_noise(system_bits), -WIDEST, WIDEST)",
        "key = __import__('jax').random.key(0)\n"
        "        return np.asarray(self.sample(key, jnp.asarray(exact, jnp.int32)))",
        (_IN + "test_two_releases_differ",),
    ),
    Mutant(
        "law changed",
        "K-norm: norms of a chain without the steps",
        _DRAWS,
        "stars = stars / jnp.broadcast_to(_like(self._steps), stars.shape)",
        "stars = stars / jnp.ones_like(stars)",
        (_JOINT + "test_norms_are_those_of_the_exact_law",),
    ),
    Mutant(
        "law changed",
        "K-norm: norms of a chain are sums over groups",
        _DRAWS,
        "return self._groups.members(_largest, stars, 0)",
        "return self._groups.members(add, stars, 0)",
        (_JOINT + "test_norms_are_those_of_the_exact_law",),
    ),
    Mutant(
        "law changed",
        "K-norm: norms of a chain by the mean of a row",
        "mechanisms/row_draws.py",
        "return order[..., self.width - half :].sum(-1) - order[..., :half].sum(-1)",
        "return jnp.abs(cells - cells.mean(-1, keepdims=True)).sum(-1)",
        (_JOINT + "test_norms_are_those_of_the_exact_law",),
    ),
    Mutant(
        "law changed",
        "K-norm: norms of whole numbers are not rounded up",
        _SIMULATED,
        "        norms = jnp.ceil(norms)\n",
        "        norms = norms + 0\n",
        (_JOINT + "test_ratios_of_integers_are_those_of_the_exact_law",),
    ),
    Mutant(
        "law changed",
        "K-norm: the volume of a simplex is that of a ball",
        "mechanisms/row_draws.py",
        "ways = 1 << k if self.law is None else math.comb(2 * k, k)",
        "ways = 1 << k",
        (_JOINT + "test_volumes_are_those_of_the_exact_balls",),
    ),
    Mutant(
        "law changed",
        "K-norm: the simulation forgets the classes",
        _DRAWS,
        "by_star[self._stars.of] * size_of_class / within",
        "by_star[self._stars.of] * size_of_class",
        (_MOMENTS,),
    ),
    Mutant(
        "law changed",
        "K-norm: the radius of a simulation by norms of rows",
        "mechanisms/row_draws.py",
        "return jnp.pad(points, missing), radius, whole",
        "return jnp.pad(points, missing), radius, radius",
        (_MOMENTS,),
    ),
    Mutant(
        "law changed",
        "K-norm: simulated cells of size 0",
        _DRAWS,
        "jr.uniform(key, (ends[-1], number), minval=least)",
        "jr.uniform(key, (ends[-1], number))",
        (_IN + "test_simulated_noise_is_finite_for_the_least_numbers[replace-one]",),
    ),
    Mutant(
        "ε doubled",
        "K-norm: in a stack each group has all of ε",
        _SIMULATED,
        "each = np.outer(budgets, parts).astype",
        "each = np.outer(budgets, np.ones(len(parts))).astype",
        (_IN + "test_a_stack_for_studies_has_the_budgets_and_the_noise_of_each",),
    ),
    Mutant(
        "law changed",
        "K-norm: budgets of other groups in a simulation",
        _DRAWS,
        "far = size_of_group / (epsilons[:, None] * largest)",
        "far = size_of_group / (epsilons[::-1, None] * largest)",
        (_IN + "test_one_group_under_the_budget_has_larger_noise",),
    ),
    Mutant(
        "table row shifted",
        "K-norm: margins of rows are those of the row before",
        _STATISTIC,
        "place[start:stop] = number + np.repeat(np.arange(rows), cells)",
        "place[start:stop] = number + np.repeat(np.arange(rows) - (rows > 1), cells)",
        (_TABLES,),
    ),
    Mutant(
        "law changed",
        "K-norm: an estimate takes deviations for variances",
        "posteriors/estimate/number_law.py",
        "total = jnp.maximum(variance, 0) + deviation**2",
        "total = jnp.maximum(variance, 0) + deviation",
        (
            "tests/test_k_norm_posterior.py::"
            "test_a_number_with_normal_noise_has_the_sum_of_the_variances",
        ),
    ),
    Mutant(
        "law changed",
        "deviations of many estimates at once, as constants",
        "posteriors/estimate/curvature.py",
        "directions = directions + 0 * theta[None]",
        "directions = directions + 0",
        (
            "tests/test_k_norm_posterior.py::"
            "test_intervals_of_many_releases_at_once_cover_the_truth",
        ),
    ),
    Mutant(
        "ε doubled",
        "K-norm: twice the budget of each group of a split",
        _MECHANISM,
        'exact_epsilon(x, "split") for x in split.values()',
        '2 * exact_epsilon(x, "split") for x in split.values()',
        (_SPLIT + "test_each_group_has_its_tables_and_its_budget",),
    ),
    Mutant(
        "ε doubled",
        "K-norm: budgets of a split in another order",
        _MECHANISM,
        'exact_epsilon(x, "split") for x in split.values()',
        'exact_epsilon(x, "split") for x in reversed(split.values())',
        (_SPLIT + "test_each_group_has_its_tables_and_its_budget",),
    ),
    Mutant(
        "law changed",
        "K-norm: a private number of records is 30 too few",
        "posteriors/estimate/point_estimate.py",
        "jnp.maximum(start[: net.layout.offsets[1]].sum(), 1)",
        "jnp.maximum(start[: net.layout.offsets[1]].sum() - 30, 1)",
        (
            "tests/test_k_norm_posterior.py::"
            "test_a_private_number_of_records_is_estimated_without_bias",
        ),
    ),
)
