"""The functions on which privacy rests, and which of their branches need no mutant."""

__all__ = ["EXEMPT", "FUNCTIONS", "REFUSALS"]

FUNCTIONS = {
    "data/sources/csv_blocks.py": (
        "blocks", "_pieces", "_scan", "_is_regular", "_marks",
    ),
    "data/sources/csv_tables.py": ("_texts", "_parse"),
    "data/sources/encoded_columns.py": (
        "encode_column", "_from_categories", "_from_objects",
    ),
    "data/sources/frames.py": ("as_arrow",),
    "data/sources/streams.py": ("Stream.read",),
    "data/sources/reading.py": ("parts", "_check_columns"),
    "data/levels.py": ("Variable.code",),
    "data/matching.py": (
        "Matching.match", "Matching.is_outside", "Matching._near", "Matching.is_clear",
        "rounding", "shown_by",
    ),
    "data/marks.py": ("Marks.find",),
    "data/bins.py": ("Bins.code", "Bins._places"),
    "data/periods.py": (
        "Periods.code", "Periods._places", "_hour", "_to_hours",
        "_numbers",
    ),
    "data/sources/queries.py": ("Query._with_keys", "_is_countable", "_of_duckdb"),
    "data/grouping.py": ("weighted_counts", "_add"),
    "data/impossible.py": ("excluded_cells", "refuse_counts"),
    "data/beside.py": ("Beside.see", "Beside.of_the"),
    "data/multiplicities.py": ("Multiplicities.integer", "Multiplicities.see"),
    "data/persons.py": (
        "check_id", "kept_rows", "person_of", "_of_text", "_People.integer", "_cut",
    ),
    "privacy/unit.py": (
        "Unit.of_group", "Unit.per_record", "rows_of", "per_row",
    ),
    "privacy/ledger.py": (
        "Ledger.charge", "Ledger._forked", "Ledger._opened", "Ledger._agree",
        "Ledger._refuse",
    ),
    "privacy/ledger_file.py": (
        "LedgerFile.opened", "LedgerFile.append", "LedgerFile._extend",
        "LedgerFile._create", "LedgerFile._absent", "LedgerFile._read", "_locked",
        "_attempt",
    ),
    "noise/tables.py": (
        "build", "certify", "_exact_laws", "_digit_law", "_thresholds", "to_limbs",
        "from_limbs", "_to_law", "_laws", "_neighbouring_ratios", "_exp",
        "exp_lower_bound",
    ),
    "noise/discrete_laplace.py": (
        "sample", "limbs", "_noise", "_block", "_drawn", "_marked", "_of_one_shape",
        "_digit", "_assembled", "_completed", "_resolved", "_count_reached", "_signed",
        "_sum", "_carried", "add", "add_wide",
    ),
    "noise/pending.py": ("in_blocks", "completed", "at", "_some"),
    "noise/discrete_gaussian.py": (
        "sample", "add", "_block", "_split", "_value", "_at_edge", "_completed",
        "_is_below",
    ),
    "noise/gaussian_tables.py": (  # each table is certified, whatever made it
        "build", "certify", "_edge", "_bound", "_largest_error", "_error",
        "_densities",
    ),
    "privacy/concentrated.py": ("_epsilon_at", "_largest"),
    "noise/exact_choice.py": (
        "system_bits", "drawn_below", "choose", "_index_without_doubt", "exponentials",
        "softmax", "log_of_sum", "_log",
    ),
    "noise/simplex_grid.py": (
        "SimplexGrid.most", "SimplexGrid.log_range", "SimplexGrid.draw", "log_table",
        "_Law.__init__", "_Law.draw", "_Law._conditional", "_Law._sums", "_convolve",
        "_polynomial_product",
    ),
    "noise/keys/chacha.py": (
        "block", "block_in", "_double_round", "_rotate", "_random_bits", "stream_in",
        "map_rows", "_split", "_fold_in", "release_key",
    ),
    "noise/keys/threefry.py": ("map_rows",),
    "noise/keys/rows.py": ("mapped_rows",),
    "noise/compositions.py": (
        "pick", "points", "differences", "largest", "product",
        "_times", "split", "gaps", "shuffled",
    ),
    "noise/norm_balls.py": (
        "Simplex.newton", "Simplex.norm", "Simplex._by_positive", "Simplex.draw",
        "_ByNonzero.draw", "_ByNonzero.draw_at", "Cells.newton", "Cells.norm",
        "Cells.place", "Rows.newton", "Rows.norm", "Rows.place", "_distance", "_row",
        "_by_negative", "_of_row", "Classes.newton", "Classes.norm", "Classes._each",
        "Classes.place", "_largest_at",
    ),
    "noise/norm_law.py": (
        "NormLaw.threshold", "NormLaw.newton", "NormLaw.points", "NormLaw._weights",
        "NormLaw.norm", "NormLaw.probability", "NormLaw.certify", "NormLaw.draw",
        "NormLaw._failures", "_points", "_newton",
    ),
    "statistics/cell_statistic.py": (
        "CellStatistic.sensitivity", "CellStatistic.part_sensitivity",
    ),
    "statistics/fourier.py": (
        "FourierCoefficients._first", "FourierCoefficients.of_counts",
        "FourierCoefficients._choose", "FourierCoefficients._largest",
    ),
    "statistics/fourier_sensitivity.py": (
        "states", "largest_change_over_groups", "largest_change_of_order", "_terms",
        "_factor", "_eliminate", "_next", "_sum", "_compositions", "_polynomials",
        "_one", "_times", "elementary",
    ),
    "statistics/blocks.py": ("check_blocks",),
    "statistics/block_statistic.py": (
        "BlockStatistic.shapes", "BlockStatistic.is_whole", "BlockStatistic.is_counts",
        "BlockStatistic.of_counts",
    ),
    "statistics/sufficient.py": (
        "Sufficient.lowest", "Sufficient._measures_complement",
        "Sufficient._round", "Sufficient.sensitivity", "Sufficient.changes",
    ),
    "privacy/rounding.py": (
        "exact_epsilon", "rounded_up", "exponential_above", "logarithm_above",
        "root_above", "_within_range", "_decimal", "_next",
    ),
    "privacy/sensitivity.py": ("Sensitivity.__check_init__",),
    "privacy/guarantee.py": (
        "Guarantee.__post_init__", "Guarantee.of", "Guarantee.composed",
        "Guarantee.repeated", "Guarantee.remaining", "Guarantee.fits",
        "Guarantee.from_description", "one_adjacency",
    ),
    "privacy/kinds.py": (
        "PureDP.numbers_of_group", "PureDP.numbers_per_record",
        "ApproximateDP.numbers_of_group", "ApproximateDP.numbers_per_record",
        "_powers", "_rounded_down",
        "PureDP.divergence_of_events", "ApproximateDP.__post_init__",
        "ApproximateDP.implied_by", "ApproximateDP.divergence",
        "ApproximateDP.divergence_of_events", "budget_of",
    ),
    "privacy/ledger_lines.py": (
        "Book.of", "Book.spent", "Book.before", "Book.on", "Book.plus",
    ),
    "privacy/composition.py": (
        "basic", "parallel", "advanced", "subsampled", "for_sample", "converged_within",
        "_below_one",
    ),
    "mechanisms/discrete_laplace.py": (
        "DiscreteLaplace._build", "DiscreteLaplace.draw", "DiscreteLaplace.guarantee",
        "DiscreteLaplace.padded_table", "DiscreteLaplace.certify",
    ),
    "mechanisms/integer_noise.py": (
        "IntegerNoise.sample", "IntegerNoise._exact_budget", "stacked", "_to_words",
        "from_words",
    ),
    "mechanisms/split_laplace.py": (
        "SplitLaplace.calibrate", "SplitLaplace.of_tables", "SplitLaplace.sample",
        "SplitLaplace.draw",
        "SplitLaplace.guarantee", "_budget", "_rows",
    ),
    "mechanisms/k_norm.py": (
        "KNorm.of", "KNorm.of_tables", "KNorm.laws", "KNorm.guarantee",
    ),
    "mechanisms/norm_mechanism.py": (
        "NormMechanism.draw", "NormMechanism.draw_noise",
    ),
    "mechanisms/family_k_norm.py": (
        "FamilyKNorm.of", "FamilyKNorm.law", "FamilyKNorm.guarantee",
    ),
    "mechanisms/continuous_family_k_norm.py": ("parts_of", "steps_and_parts"),
    "families/moments.py": ("MomentFamily.ranges",),
    "mechanisms/norm_groups.py": (
        "Star.steps", "Star.rows_by_class", "Star.ball", "balls",
    ),
    "mechanisms/sampling_loss.py": (
        "temperature_for", "spent_at", "sample_cost", "_variable_share",
        "_variable_loss", "_replaced", "_moved", "_added",
        "_log_sum", "lowest_temperature", "grids_of_omega", "grids_of_share",
        "choose_share",
    ),
    "mechanisms/network_posterior_sampler.py": (
        "NetworkPosteriorSampler.of",
        "NetworkPosteriorSampler.from_description", "NetworkPosteriorSampler.loss",
        "NetworkPosteriorSampler.draw_with", "NetworkPosteriorSampler._rows",
        "NetworkPosteriorSampler._exponent", "NetworkPosteriorSampler._checked",
    ),
    "mechanisms/parameter_grid.py": (
        "ParameterGrid.__post_init__", "ParameterGrid._refuse_unbounded",
        "ParameterGrid.tables",
        "ParameterGrid.scores", "ParameterGrid.widest", "ParameterGrid._widest_of_one",
        "_integers", "widest_grid", "ParameterGrid.sample_cost",
        "ParameterGrid.posterior_scores", "ParameterGrid._loss", "ParameterGrid._share",
    ),
    "mechanisms/family_posterior_sampler.py": (
        "FamilyPosteriorSampler.of",
        "FamilyPosteriorSampler.loss", "FamilyPosteriorSampler.draw_with",
        "FamilyPosteriorSampler.scores", "FamilyPosteriorSampler.from_description",
    ),
    "mechanisms/cell_grid.py": (
        "CellGrid._tables", "CellGrid.log_range", "CellGrid.rows",
        "CellGrid.prior_weights", "CellGrid.scores", "_parts", "_row", "_row_mass",
        "largest_rate", "_exponential_below",
    ),
    "mechanisms/cell_mass.py": (
        "CellMass.of", "CellMass.draw", "CellMass.scores",
    ),
    "releases/publish.py": (
        "release", "budget_for", "_statistic", "refuse_empty",
    ),
    "releases/trial.py": ("draw",),
    "statistics/trial.py": ("_apart",),
    "releases/candidates.py": (
        "distance_sensitivity", "chosen", "scores_of",
    ),
    "data/sampling.py": ("poisson_sample", "sample_of_fixed_size", "random_words"),
    "releases/sampled.py": (
        "Sampled.of", "Sampled.draw", "Sampled.check", "Sampled.charged",
        "Sampled._of_whole",
    ),
    "releases/learning.py": (
        "learn", "_records",
    ),
    "releases/learning_plans.py": (
        "plans_of", "best_plan", "_is_small", "_plan", "_divided", "_with_pairs",
    ),
    "releases/learned.py": (
        "Learned.depth", "Learned.choices", "Learned.selection",
        "Learned.cost_of_tables", "Learned.check", "Learned._check_edges",
    ),
    "releases/measuring.py": (
        "measured", "_refuse_more", "_few", "_of_multiples", "_in_pieces",
    ),
    "mechanisms/recipe.py": ("Recipe.paid_by",),
    "mechanisms/recipes.py": (
        "Laplace.mechanism", "_of_cost",
        "Fourier.mechanism", "KNorm.mechanism",
    ),
    "mechanisms/sampling_recipes.py": (
        "_FromPosterior.mechanism", "MapCells.mechanism",
    ),
    "families/grids.py": ("spaced",),
    "families/moment_grids.py": (
        "RegressionGrid.grid", "RegressionGrid._limits",
        "RegressionGrid._likelihood_diameter", "RegressionGrid._likelihood_radius",
        "GaussianGrid.grid",
    ),
    "statistics/family_statistic.py": ("FamilyStatistic.counts_levels",),
    "mechanisms/base.py": (
        "PosteriorSampler.__check_init__", "PosteriorSampler.draw", "tables_of",
        "all_tables",
    ),
    "chains/price.py": (
        "price_of", "full_loss", "float_above", "float_below", "table_width",
        "Clip.width", "Clip.__call__", "of_each", "shaped", "clip_to", "_signed",
        "charge", "refuse_traced",
    ),
    "event_logs/charged.py": (
        "ChargedHiddenMarkov.cost", "ChargedHiddenMarkov.approximate",
        "charged_hidden_markov",
        "_width",
    ),
}  # fmt: skip

REFUSALS = (
    *("noise/tables.py:certify", "releases/measuring.py:_refuse_more"),
    *(
        "privacy/guarantee.py:Guarantee.__post_init__",
        "privacy/composition.py:parallel",
    ),
    *("privacy/composition.py:subsampled", "privacy/guarantee.py:one_adjacency"),
    *("privacy/composition.py:_below_one", "releases/publish.py:refuse_empty"),
    "mechanisms/integer_noise.py:IntegerNoise.sample",
    "mechanisms/integer_noise.py:_to_words",
    "mechanisms/split_laplace.py:SplitLaplace.calibrate",
    "mechanisms/recipes.py:_of_cost",
    "mechanisms/base.py:PosteriorSampler.__check_init__",
    "mechanisms/family_posterior_sampler.py:FamilyPosteriorSampler.scores",
    *("chains/price.py:price_of", "chains/price.py:table_width"),
    *("chains/price.py:shaped", "event_logs/charged.py:_width"),
)
"""Functions whose refusals privacy rests on: their arms that only raise need mutants.

Other refusals of an argument come before anything is drawn, and need none.
"""

_LOUD = "a fault ends in an error of NumPy or a missing key, not in a smaller number"
_CHOICE = "which of several is taken: what it costs is derived from it, and checked"
_ORDER = "the maximum is the same in any order, and no variable can be taken twice"
_SAME_BITS = "the same draws, by a program that compiles sooner or is faster"
_TEXT = "a text, or an array handed on as it is"

_FOURIER = "statistics/fourier_sensitivity.py:"
_SAMPLING_LOSS = "mechanisms/sampling_loss.py:"
_SAMPLING = "mechanisms/sampling_recipes.py:"
_MOMENTS = "families/moment_grids.py:"
_FAMILY = "mechanisms/family_posterior_sampler.py:FamilyPosteriorSampler.of"
EXEMPT = {
    ("data/sources/queries.py:Query._with_keys", "if made.is_pyspark():"): (
        "the tests of Spark are thorough, and take its start each"
    ),
    ("data/impossible.py:excluded_cells", "wide ="): _LOUD,
    ("data/impossible.py:refuse_counts", "counts ="): "the same numbers",
    ("data/sources/encoded_columns.py:_from_objects", "block = block.tolist()"): (
        "the same objects either way"
    ),
    ("privacy/ledger_lines.py:Book.on", "if self.period is None or"): _LOUD,
    ("privacy/ledger_file.py:LedgerFile.opened", "flags ="): (
        "with too few rights nothing can be charged or drawn, and more change nothing"
    ),
    ("noise/tables.py:build", "*padded, redraw_length ="): "certified afterwards",
    ("noise/simplex_grid.py:log_table", "context ="): (
        "any public table of integers is as private: costs are derived from it"
    ),
    ("noise/keys/chacha.py:_double_round", "words = list(state)"): _TEXT,
    ("noise/discrete_laplace.py:_block", "if size * table"): _SAME_BITS,
    ("noise/discrete_laplace.py:_marked", "if len(rows) == 1"): _SAME_BITS,
    ("noise/keys/chacha.py:block_in", "first ="): _SAME_BITS,
    ("noise/keys/chacha.py:map_rows", "shifts ="): _SAME_BITS,
    (_FOURIER + "_terms", "return math.prod("): (
        "how much work a factor is: beyond it, the sum of bounds is larger"
    ),
    (_FOURIER + "_eliminate", "for number, (group, table)"): _LOUD,
    (_FOURIER + "_eliminate", "for i in group:"): _LOUD,
    (_FOURIER + "_eliminate", "rest ="): _LOUD,
    (_FOURIER + "_next", "while True:"): _ORDER,
    (_FOURIER + "_next", "if variable in neighbours"): _ORDER,
    ("mechanisms/recipes.py:_of_cost", "return noise"): _LOUD,
    ("noise/compositions.py:product", "if len(parts) < 2:"): _LOUD,
    ("noise/norm_balls.py:Classes.place", "left = iter("): _LOUD,
    ("statistics/blocks.py:check_blocks", "measured:"): _LOUD,
    ("statistics/blocks.py:check_blocks", "for block in"): _LOUD,
    ("statistics/block_statistic.py:BlockStatistic.shapes", "found ="): _LOUD,
    ("mechanisms/norm_groups.py:Star.rows_by_class", "rest ="): _LOUD,
    ("mechanisms/norm_groups.py:Star.ball", "statistic, place ="): (
        "a star of counts has one block"
    ),
    ("privacy/guarantee.py:Guarantee.from_description", "one_of("): (
        "a guarantee refuses an unknown adjacency itself"
    ),
    ("privacy/kinds.py:ApproximateDP.implied_by", "if isinstance("): _LOUD,
    ("privacy/composition.py:basic", "one_adjacency("): _LOUD,
    ("privacy/rounding.py:_within_range", "limit ="): (
        "a budget of any size is charged as it is"
    ),
    (_SAMPLING_LOSS + "choose_share", "for share in"): _CHOICE,
    (_SAMPLING_LOSS + "choose_share", "risks = []"): _CHOICE,
    (_SAMPLING_LOSS + "choose_share", "risks.append("): _CHOICE,
    (
        "mechanisms/network_posterior_sampler.py:NetworkPosteriorSampler.draw_with",
        "drawn =",
    ): _LOUD,
    ("mechanisms/parameter_grid.py:ParameterGrid.__post_init__", "for name,"): (
        "the larger of two distances that differ by a width at most"
    ),
    ("mechanisms/parameter_grid.py:widest_grid", "for grid in grids:"): _CHOICE,
    (_FAMILY, "lowest_used ="): _CHOICE,
    ("statistics/family_statistic.py:FamilyStatistic.counts_levels", "family ="): _LOUD,
    (_SAMPLING + "_FromPosterior.mechanism", "common |="): _LOUD,
    (_SAMPLING + "MapCells.mechanism", "options ="): _LOUD,
    (_MOMENTS + "RegressionGrid._likelihood_radius", "nearest ="): (
        "one of several candidates, of which the largest range is taken"
    ),
    (_MOMENTS + "GaussianGrid.grid", "highest ="): _CHOICE,
    (_MOMENTS + "GaussianGrid.grid", "correlations ="): _LOUD,
    (_FAMILY, "bounds = tuple("): _CHOICE,
    (_FAMILY, "size = int("): _CHOICE,
    (_FAMILY, "if truncation is not None:"): _CHOICE,
    (_FAMILY, "elif given is None:"): _CHOICE,
    ("releases/publish.py:_statistic", "return _defined("): (
        "a sensitivity that is not defined is refused by the mechanism too"
    ),
    ("releases/publish.py:budget_for", "if ledger is not None"): _LOUD,
    ("releases/publish.py:budget_for", "return budget"): (
        "a budget that is given is spent as it is"
    ),
    ("releases/sampled.py:Sampled.of", "row, exact ="): _CHOICE,
    ("releases/sampled.py:Sampled.of", "if PureDP in recipe.costs"): _CHOICE,
    ("releases/sampled.py:Sampled.draw", "if self.cost.adjacency"): (
        "a sample of another number of records is refused by `check`"
    ),
    ("releases/sampled.py:Sampled._of_whole", "if spent.kind =="): _LOUD,
    ("statistics/cell_statistic.py:CellStatistic.part_sensitivity", "one_of("): (
        "an unknown adjacency is refused by `Sensitivity` too"
    ),
    ("releases/learned.py:Learned._check_edges", "pairs: list"): _LOUD,
    ("releases/learned.py:Learned._check_edges", "pairs +="): _LOUD,
    ("privacy/unit.py:per_row", "return cost"): _LOUD,
    ("mechanisms/recipes.py:KNorm.mechanism", "noise ="): (
        "a cost other than the budget, in ε or adjacency, is refused by the next line"
    ),
    ("mechanisms/recipes.py:Laplace.mechanism", "noise ="): (
        "a cost other than the budget, in ε or adjacency, is refused by the next line"
    ),
    ("mechanisms/base.py:tables_of", "return None"): _LOUD,
    ("mechanisms/base.py:all_tables", "layout ="): _TEXT,
    ("releases/publish.py:_statistic", "if isinstance(what, BayesNet):"): (
        "one for the other adjacency is refused, and any other has its own cost"
    ),
    ("releases/publish.py:_statistic", "if isinstance(what, MixedNet):"): (
        "one for the other adjacency is refused, and any other has its own cost"
    ),
    ("releases/measuring.py:_of_multiples", "argument ="): _TEXT,
    ("data/grouping.py:weighted_counts", "i for i, v in"): _LOUD,
    ("chains/price.py:of_each", "def every("): _LOUD,
    ("chains/price.py:shaped", "return jnp.asarray("): _TEXT,
    ("chains/price.py:clip_to", "low, high ="): _TEXT,
    ("chains/price.py:_signed", "magnitude ="): _LOUD,
    ("event_logs/charged.py:charged_hidden_markov", "purpose ="): _TEXT,
}
"""Why a branch needs none, by function and how the branch's first line starts."""
