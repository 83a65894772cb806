"""Faults of what gets noise: counts, Fourier coefficients, fixed-point sums."""

from tests.mutants.mutant import Mutant

_BRUTE_FORCE = (
    "tests/test_counts.py::"
    "test_sensitivity_equals_brute_force_over_all_pairs_of_records[all-chain]"
)
_EXACT = "tests/test_exact_draws.py::"
_SAMPLER = "tests/test_discrete_laplace.py::"
_COUNTED = "statistics/cell_statistic.py"
_ONE_CELL = "change = 2 if adjacency == REPLACE_ONE else 1"
_DRAWN = "return discrete_laplace.add_wide(counts, noise[:, : counts.size])"

MUTANTS = (
    Mutant(
        "law changed",
        "simulations: numbers that 32 bits do not hold are others",
        "mechanisms/integer_noise.py",
        "if isinstance(exact, np.ndarray) and exact.size:",
        "if isinstance(exact, np.ndarray) and not exact.size:",
        (
            "tests/test_mistakes.py::test_a_wrong_type_is_one_clear_line"
            "[counts beyond what a simulation holds]",
        ),
    ),
    Mutant(
        "law changed",
        "simulations: the limit of numbers is that of words",
        "mechanisms/integer_noise.py",
        "> LARGEST:",
        "> 2 * LARGEST:",
        (
            "tests/test_mistakes.py::test_a_wrong_type_is_one_clear_line"
            "[counts just beyond what a simulation holds]",
        ),
    ),
    Mutant(
        "sensitivity halved",
        "counts: a replaced record moves one cell, not two",
        _COUNTED,
        _ONE_CELL,
        "change = 1",
        audit=("--mechanism", "counts"),
    ),
    Mutant(
        "wrong adjacency",
        "counts: the two are interchanged",
        _COUNTED,
        _ONE_CELL,
        _ONE_CELL.replace("==", "!="),
        (_BRUTE_FORCE,),
    ),
    Mutant(
        "sensitivity halved",
        "Fourier: of the coefficients of a network",
        "statistics/fourier.py",
        "return Sensitivity(round(change), adjacency, tight)",
        "return Sensitivity(round(change / 2), adjacency, tight)",
        audit=("--mechanism", "fourier"),
    ),
    Mutant(
        "wrong adjacency",
        "Fourier: a statistic for one is taken for the other",
        "statistics/fourier.py",
        "one_of((self.adjacency,), adjacency=adjacency)",
        "one_of(ADJACENCIES, adjacency=adjacency)",
        ("tests/test_fourier.py::test_a_statistic_knows_its_adjacency",),
    ),
    Mutant(
        "sensitivity halved",
        "fixed-point sums: of one number",
        "statistics/sufficient.py",
        "most = math.floor(units * change + 0.5 + error)",
        "most = math.floor(units * change + 1.5 + error) // 2",
        (
            "tests/test_sufficient_privacy.py::"
            "test_the_loss_is_epsilon_and_no_less[1/10-exponential-replace-one]",
        ),
    ),
    Mutant(
        "sensitivity halved",
        "fixed-point sums: nothing for rounding",
        "statistics/sufficient.py",
        "most, tight = math.floor(units * change + slack), False",
        "most, tight = math.floor(units * change), False",
        ("tests/test_sufficient.py::test_the_slack_is_a_unit_a_number[gaussian-4]",),
    ),
    Mutant(
        "wrong adjacency",
        "fixed-point sums: the two are interchanged",
        "statistics/sufficient.py",
        "if adjacency != REPLACE_ONE:\n            radius",
        "if adjacency == REPLACE_ONE:\n            radius",
        (
            "tests/test_sufficient.py::"
            "test_sensitivities_equal_brute_force[replace-one-gaussian]",
        ),
    ),
    Mutant(
        "NaN let through",
        "fixed-point sums: not mapped, nor clipped",
        "families/bounds.py",
        "return jnp.where(jnp.isnan(scaled), 0, jnp.clip(scaled, -1, 1))",
        "return scaled",
        (
            "tests/test_sufficient.py::"
            "test_no_record_moves_more_than_the_sensitivity[replace-one-gaussian]",
        ),
    ),
    Mutant(
        "NaN let through",
        "numbers of a table: no public default",
        "data/intervals.py",
        "filled = np.where(np.isnan(values), self.missing, values)",
        "filled = values",
        (
            "tests/test_intervals.py::"
            "test_values_are_clipped_and_nan_becomes_the_public_default",
        ),
    ),
    Mutant(
        "NaN let through",
        "schema: values outside the levels become level 0",
        "data/encoding.py",
        "            if outside:\n",
        "            if outside and False:\n",
        (
            "tests/test_schema.py::"
            "test_what_is_not_in_the_schema_is_refused_without_being_shown",
        ),
    ),
    Mutant(
        "NaN let through",
        "counts: an index of no level is in another table's cell",
        "tables/counts/tables.py",
        "levels = records.astype(jnp.int32) & np.array([bits], np.int32)",
        "levels = records.astype(jnp.int32)",
        (
            "tests/test_counts.py::"
            "test_no_integer_moves_the_counts_by_more_than_the_sensitivity[2]",
        ),
    ),
    Mutant(
        "table row shifted",
        "schema: each code is the next level's",
        "data/sources/encoded_columns.py",
        "filled = [0 if code is None else code for code in codes]",
        "filled = [0 if code is None else code for code in codes]\n"
        "    filled = [*filled[1:], *filled[:1]]",
        ("tests/test_schema.py::test_every_kind_of_table_is_encoded_alike[lists]",),
    ),
    Mutant(
        "table row shifted",
        "streaming: padding is taken from the wrong cell",
        "tables/counts/batches.py",
        "values -= padding * alone",
        "values -= padding * np.roll(alone, 1)",
        ("tests/test_streaming.py::test_padding_is_not_counted[63]",),
    ),
    Mutant(
        "table row shifted",
        "sharded counts: padding is taken from the next table",
        "tables/counts/batches.py",
        "firsts = np.asarray(layout.offsets[:-1], np.int32)",
        "firsts = np.asarray(layout.offsets[1:], np.int32)",
        ("tests/test_mesh.py::test_eight_devices_count_and_predict_as_one_does",),
    ),
    Mutant(
        "ε doubled",
        "noise table: built for twice the rate",
        "mechanisms/discrete_laplace.py",
        "tables.build(rho, lengths),",
        "tables.build(2 * rho, lengths),",
        audit=("--mechanism", "counts"),
    ),
    Mutant(
        "ε doubled",
        "release: drawn from a table of twice the rate",
        "mechanisms/discrete_laplace.py",
        "return tables.build(rho, tables.lengths_shared(rho))",
        "return tables.build(2 * rho, tables.lengths_shared(2 * rho))",
        (
            "tests/test_release.py::"
            "test_a_release_is_the_statistic_plus_noise_of_the_stated_law",
        ),
    ),
    Mutant(
        "table row shifted",
        "noise table: before its certificate",
        "noise/tables.py",
        "        low=low,\n",
        "        low=np.concatenate([low[1:], low[-1:]]),\n",
        (
            "tests/test_noise_tables.py::test_every_table_certifies_and_wastes_nothing[1]",
        ),
    ),
    Mutant(
        "table row shifted",
        "noise table: after its certificate",
        "noise/tables.py",
        "    certify(table, rho)\n    return table\n",
        "    certify(table, rho)\n"
        "    return table._replace(low=np.concatenate([low[1:], low[-1:]]))\n",
        ("tests/test_noise_tables.py::test_the_law_is_the_discrete_laplace[2]",),
    ),
    Mutant(
        "table row shifted",
        "sampler: the first threshold is left out",
        "noise/discrete_laplace.py",
        "left = [*leading, np.uint32(_NONE)]",
        "left = [*leading[1:], np.uint32(_NONE)]",
        (_SAMPLER + "test_the_sampler_equals_big_integers_with_release_keys",),
    ),
    Mutant(
        "noise clipped",
        "sampler: the noise alone, at 2^20",
        "noise/discrete_laplace.py",
        "noisy = exact + sample(key, table, exact.shape)",
        "noisy = exact + sample(key, table, exact.shape).clip(-(1 << 20), 1 << 20)",
        (_SAMPLER + "test_sums_are_clipped_where_saturation_cannot_show",),
    ),
    Mutant(
        "noise clipped",
        "sampler: the top digit is never drawn anew",
        "noise/discrete_laplace.py",
        "return new, jnp.where(tied, first_overflow, digit == table.top_values)",
        "return new, tied & first_overflow",
        (_SAMPLER + "test_overflows_are_redrawn_bit_for_bit",),
    ),
    Mutant(
        "noise clipped",
        "release: the noise alone, at twenty of its scales",
        "mechanisms/discrete_laplace.py",
        _DRAWN,
        "noisy = discrete_laplace.add_wide(counts, noise[:, : counts.size])"
        "\n        far = int(20 / self.rho)"
        "\n        return np.clip(noisy, counts - far, counts + far)",
        (_EXACT + "test_noise_is_given_out_as_it_was_drawn_however_large",),
    ),
    Mutant(
        "noise clipped",
        "sampler: the high limb is lost",
        "noise/discrete_laplace.py",
        "return high, low & jnp.int32((1 << _LIMB) - 1)",
        "return 0 * high, low & jnp.int32((1 << _LIMB) - 1)",
        (_SAMPLER + "test_limbs_carry_what_does_not_fit",),
    ),
    *(
        Mutant(
            "noise clipped",
            f"sampler: {what}",
            "noise/discrete_laplace.py",
            old,
            new,
            (_SAMPLER + "test_noise_beyond_one_limb",),
        )
        for what, old, new in (
            (
                "the low limb alone",
                "return (jnp.minimum(low + addend, 1 << _LIMB),)",
                "return (low + addend,)",
            ),
            (
                "limbs of one sign",
                "jnp.where(negative, -limb, limb) for limb in magnitude",
                "jnp.where(negative, -limb, limb) if i else limb\n"
                "        for i, limb in enumerate(magnitude)",
            ),
        )
    ),
    Mutant(
        "noise clipped",
        "release: sums are clipped where 32 bits end",
        "noise/discrete_laplace.py",
        "np.clip(exact + (high << _LIMB) + low, -WIDEST, WIDEST)",
        "np.clip(exact + (high << _LIMB) + low, -LARGEST, LARGEST)",
        ("tests/test_measuring.py::test_the_noise_reaches_as_far_as_the_range",),
    ),
    Mutant(
        "noise clipped",
        "release: sums are not clipped",
        "noise/discrete_laplace.py",
        "np.clip(exact + (high << _LIMB) + low, -WIDEST, WIDEST)",
        "exact + (high << _LIMB) + low",
        ("tests/test_measuring.py::test_the_noise_reaches_as_far_as_the_range",),
    ),
    Mutant(
        "float noise",
        "release: geometric by inversion of a float32",
        "mechanisms/discrete_laplace.py",
        _DRAWN,
        "uniform = jax.random.uniform(release_key(), (2, counts.size))\n"
        "        steps = jnp.floor(jnp.log1p(-uniform) / -self.rho).astype(jnp.int32)\n"
        "        return counts + np.asarray(steps[0] - steps[1], np.int64)",
        (_EXACT + "test_the_noise_of_a_release_is_the_samplers_bit_for_bit",),
    ),
    Mutant(
        "float noise",
        "sampler: a float32 decides the sign",
        "noise/discrete_laplace.py",
        "words = jr.bits(key, (len(rows), size), jnp.uint32)\n",
        "words = jr.bits(key, (len(rows), size), jnp.uint32)\n"
        "    sign = jr.uniform(jr.clone(key), (size,)).astype(jnp.uint32)\n"
        "    words = words.at[0].set((words[0] & ~jnp.uint32(1)) | sign)\n",
        (_SAMPLER + "test_the_sampler_equals_big_integers_with_release_keys",),
    ),
    Mutant(
        "key reused",
        "release: every one with the same key",
        "noise/keys/chacha.py",
        "os.urandom(32)",
        "bytes(32)",
        ("tests/test_random.py::test_release_keys_are_fresh_and_whole",),
    ),
    Mutant(
        "key reused",
        "ChaCha20: folds are children of a split",
        "noise/keys/chacha.py",
        "block(key, counter, (_FOLD, 0, 0))",
        "block(key, counter, (_SPLIT, 0, 0))",
        (
            "tests/test_random.py::test_streams_children_and_folds_of_a_key_never_overlap",
        ),
    ),
    Mutant(
        "key reused",
        "sampler: ties are resolved by the words' own key",
        "noise/discrete_laplace.py",
        "return completed(key_pending, noise,",
        "return completed(key_words, noise,",
        (_SAMPLER + "test_the_sampler_equals_big_integers_with_release_keys",),
    ),
    Mutant(
        "key reused",
        "sampler: a digit is drawn anew from the same words",
        "noise/pending.py",
        "        key, key_words = jr.split(key)\n",
        "        key_words = key\n",
        (_SAMPLER + "test_overflows_are_redrawn_bit_for_bit",),
    ),
)
