"""Faults of the sampler of noise, and of the bits that it is made of."""

from tests.mutants.mutant import Mutant

_PENDING = "noise/pending.py"
_DISCRETE_LAPLACE = "noise/discrete_laplace.py"
_CHACHA = "noise/keys/chacha.py"
_IN_DISCRETE_LAPLACE = "tests/test_discrete_laplace.py::"
_IN_RANDOM = "tests/test_random.py::"
_IN_ROWS = _IN_DISCRETE_LAPLACE + "test_an_accelerators_program_"
_COMPLETED = (
    _IN_DISCRETE_LAPLACE + "test_ties_and_overflows_are_completed_bit_for_bit[2100]"
)

MUTANTS = (
    Mutant(
        "law changed",
        "a plan of event logs: chains have equal weights",
        "study/event_plan.py",
        "return tables, weights / weights.sum()",
        "return tables, np.ones_like(weights) / len(weights)",
        (
            "tests/test_hidden_markov_sample.py::"
            "test_a_plan_averages_draws_of_all_chains_with_their_weights",
        ),
    ),
    Mutant(
        "branch left out",
        "sampler: a tie with the first threshold",
        _DISCRETE_LAPLACE,
        "tie = (first == left[0]) & (count < number)",
        "tie = (first == left[0]) & (count < number) & (count > 0)",
        (_IN_DISCRETE_LAPLACE + "test_one_tie_with_any_threshold_is_enough[0]",),
    ),
    Mutant(
        "weak randomness",
        "sampler: a tie is resolved by one word, three times",
        _DISCRETE_LAPLACE,
        "rest = words[LIMBS:].reshape(len(parts), LIMBS - 1, -1)",
        "rest = words[LIMBS:].reshape(len(parts), LIMBS - 1, -1)[:, [0, 0, 0]]",
        (_COMPLETED,),
    ),
    Mutant(
        "branch left out",
        "sampler: ties, unless all draws tie",
        _DISCRETE_LAPLACE,
        "ties = reduce(jnp.logical_or,",
        "ties = reduce(jnp.logical_and,",
        (_COMPLETED,),
    ),
    Mutant(
        "law changed",
        "sampler: a tie of all limbs reaches nothing",
        _DISCRETE_LAPLACE,
        "reached = last >= thresholds[:, LIMBS - 1, None]",
        "reached = last > thresholds[:, LIMBS - 1, None]",
        (_COMPLETED,),
    ),
    Mutant(
        "law changed",
        "sampler: limbs are compared from the first on",
        _DISCRETE_LAPLACE,
        "for place in reversed(range(LIMBS - 1)):",
        "for place in range(LIMBS - 1):",
        (
            _IN_DISCRETE_LAPLACE
            + "test_ties_of_the_first_word_are_resolved_by_the_other_limbs",
        ),
    ),
    Mutant(
        "branch left out",
        "sampler: the first threshold, in ties",
        _DISCRETE_LAPLACE,
        "return reached.sum(axis=0, dtype=jnp.int32)",
        "return reached[1:].sum(axis=0, dtype=jnp.int32)",
        (
            _IN_DISCRETE_LAPLACE
            + "test_ties_of_the_first_word_are_resolved_by_the_other_limbs",
        ),
    ),
    Mutant(
        "branch left out",
        "sampler: overflows of a second digit",
        _DISCRETE_LAPLACE,
        "        overflow = overflow | ((digit == table.top_values) & "
        "(table.top == j))\n",
        "",
        (_IN_DISCRETE_LAPLACE + "test_overflows_are_redrawn_bit_for_bit",),
    ),
    Mutant(
        "law changed",
        "sampler: a redrawn digit in another place",
        _DISCRETE_LAPLACE,
        "digit << (BASE_BITS * table.top)",
        "digit << (BASE_BITS * 0 * table.top)",
        (_IN_DISCRETE_LAPLACE + "test_overflows_are_redrawn_bit_for_bit",),
    ),
    Mutant(
        "weak randomness",
        "release: a key from 32 bits",
        _CHACHA,
        "np.frombuffer(os.urandom(32), np.uint32)",
        "np.frombuffer(os.urandom(4) * 8, np.uint32)",
        (_IN_RANDOM + "test_release_keys_are_fresh_and_whole",),
    ),
    Mutant(
        "weak randomness",
        "release: a key with half of its bits zero",
        _CHACHA,
        "np.frombuffer(os.urandom(32), np.uint32)",
        "np.frombuffer(os.urandom(16) + bytes(16), np.uint32)",
        (_IN_RANDOM + "test_release_keys_are_fresh_and_whole",),
    ),
    Mutant(
        "key reused",
        "release: a key that is part of a program",
        _CHACHA,
        "        np.asarray(words + np.uint32(0))\n",
        "        words + np.uint32(0)\n",
        (_IN_RANDOM + "test_a_key_of_a_program_would_be_the_same_at_every_call",),
    ),
    Mutant(
        "weak randomness",
        "ChaCha20: eight rounds",
        _CHACHA,
        "first, _DOUBLE_ROUNDS, lambda",
        "first, _DOUBLE_ROUNDS - 6, lambda",
        (_IN_RANDOM + "test_chacha20_gives_the_vectors_of_the_rfc[2.3.2]",),
    ),
    Mutant(
        "weak randomness",
        "ChaCha20: the start is not added",
        _CHACHA,
        "return tuple(a + b for a, b in zip(start, end, strict=True))",
        "return tuple(b for a, b in zip(start, end, strict=True))",
        (_IN_RANDOM + "test_chacha20_gives_the_vectors_of_the_rfc[2.3.2]",),
    ),
    Mutant(
        "weak randomness",
        "ChaCha20: rounds of columns alone",
        _CHACHA,
        "    for a, b, c, d in _QUARTERS:",
        "    for a, b, c, d in _QUARTERS[:4]:",
        (_IN_RANDOM + "test_chacha20_gives_the_vectors_of_the_rfc[2.3.2]",),
    ),
    Mutant(
        "weak randomness",
        "ChaCha20: quarters without their last rotation",
        _CHACHA,
        "            (c, d, b, 7),\n",
        "",
        (_IN_RANDOM + "test_chacha20_gives_the_vectors_of_the_rfc[2.3.2]",),
    ),
    Mutant(
        "weak randomness",
        "ChaCha20: words are shifted, not rotated",
        _CHACHA,
        "return (word << np.uint32(distance)) | (word >> np.uint32(32 - distance))",
        "return word << np.uint32(distance)",
        (_IN_RANDOM + "test_chacha20_gives_the_vectors_of_the_rfc[2.3.2]",),
    ),
    Mutant(
        "weak randomness",
        "ChaCha20: both halves of 64 bits are one",
        _CHACHA,
        "return ((pairs[:, 0] << np.uint64(32)) | pairs[:, 1]).reshape(shape)",
        "return ((pairs[:, 0] << np.uint64(32)) | pairs[:, 0]).reshape(shape)",
        (_IN_RANDOM + "test_bits_of_every_width_are_all_bits_of_a_block[64]",),
    ),
    Mutant(
        "weak randomness",
        "ChaCha20: short words are the ends of long ones",
        _CHACHA,
        "words = lax.bitcast_convert_type(words, dtype).reshape(-1)",
        "words = words.astype(dtype)[jnp.arange(count) % len(words)]",
        (_IN_RANDOM + "test_bits_of_every_width_are_all_bits_of_a_block[8]",),
    ),
    Mutant(
        "key reused",
        "ChaCha20: bits are the children of a split",
        _CHACHA,
        "(_BITS, bit_width, 0))",
        "(_SPLIT, 0, 0))",
        (_IN_RANDOM + "test_streams_children_and_folds_of_a_key_never_overlap",),
    ),
    Mutant(
        "key reused",
        "ChaCha20: every 4096 blocks are the same",
        _CHACHA,
        "counter = first + lax.iota(",
        "counter = 0 * first + lax.iota(",
        (_IN_RANDOM + "test_bits_are_the_words_of_numbered_blocks[4097]",),
    ),
    Mutant(
        "key reused",
        "ChaCha20: blocks overlap those before",
        _CHACHA,
        "parts = lax.iota(jnp.uint32, -(-blocks // _PART)) * np.uint32(_PART)",
        "parts = lax.iota(jnp.uint32, -(-blocks // _PART))",
        (_IN_RANDOM + "test_bits_are_the_words_of_numbered_blocks[4097]",),
    ),
    Mutant(
        "key reused",
        "ChaCha20: unrolled rounds give one word of each block",
        _CHACHA,
        "lax.optimization_barrier(words) if unrolled else words",
        "words[:1] * 16 if unrolled else words",
        (
            _IN_RANDOM
            + "test_an_accelerators_program_gives_the_same_bits[rounds unrolled]",
        ),
    ),
    Mutant(
        "law changed",
        "ChaCha20: few blocks are counted from one",
        _CHACHA,
        "return part(jnp.uint32(0)).reshape(-1)",
        "return part(jnp.uint32(1)).reshape(-1)",
        (_IN_RANDOM + "test_bits_are_the_words_of_numbered_blocks[1]",),
    ),
    *(
        Mutant(kind, f"words in rows: {what}", where, old, new, (_IN_ROWS + test,))
        for kind, what, where, old, new, test in (
            (
                "key reused",
                "ChaCha20 begins each at the first part",
                _CHACHA,
                "place = place + (firsts // np.uint32(part))[:, None, None]",
                "place = place + 0 * firsts[:, None, None]",
                "compares_the_same_words[release-4294967296]",
            ),
            (
                "law changed",
                "ChaCha20 begins each with a part",
                _CHACHA,
                "lax.dynamic_slice(row, (start,), (size,))",
                "lax.dynamic_slice(row, (0 * start,), (size,))",
                "compares_the_same_words[release-4294967296]",
            ),
            (
                "key reused",
                "threefry begins each at the first word",
                "noise/keys/threefry.py",
                "_threefry(key, high, low + first)",
                "_threefry(key, high, low + 0 * first)",
                "compares_the_same_words[study-4294967296]",
            ),
            (
                "law changed",
                "each begins a word after the end of the last",
                "noise/keys/rows.py",
                "dtype=jnp.uint32) * jnp.uint32(size)",
                "dtype=jnp.uint32) * jnp.uint32(size + 1)",
                "compares_the_same_words[study-4294967296]",
            ),
            (
                "law changed",
                "keys of releases are read as those of studies",
                "noise/keys/rows.py",
                "jr.key_impl(jr.key(0, impl=like)) == kind",
                "jr.key_impl(jr.key(0, impl=like)) != kind",
                "compares_the_same_words[release-4294967296]",
            ),
            (
                "law changed",
                "words of other keys are turned around",
                "noise/keys/rows.py",
                "return [*map(function, words, of_row)]",
                "return [*map(function, words[:, ::-1], of_row)]",
                "compares_the_same_words[jax-4294967296]",
            ),
            (
                "law changed",
                "those of one block begin one word later",
                "noise/keys/rows.py",
                "return map_rows(sizes, data, firsts, size,",
                "return map_rows(sizes, data, firsts + 1, size,",
                "compares_the_same_words[study-4294967296]",
            ),
            (
                "law changed",
                "digits are in another order",
                _DISCRETE_LAPLACE,
                "_digit, _of_one_shape(rows))",
                "_digit, _of_one_shape(rows)[::-1])",
                "compares_the_same_words[study-4294967296]",
            ),
            (
                "key reused",
                "every block is the first",
                "noise/keys/rows.py",
                "map_rows(sizes, data, firsts + start, lanes,",
                "map_rows(sizes, data, firsts + 0 * start, lanes,",
                "compares_the_same_words[study-65536]",
            ),
            (
                "law changed",
                "the last block is put beyond the end",
                "noise/keys/rows.py",
                "jnp.minimum(block * jnp.uint32(lanes), jnp.uint32(size - lanes))",
                "block * jnp.uint32(lanes)",
                "compares_the_same_words[study-70000]",
            ),
        )
    ),
    Mutant(
        "law changed",
        "sampler: one draw more, and the words in another order",
        _DISCRETE_LAPLACE,
        "draw = partial(_drawn, size=size, number=number)",
        "draw = partial(_drawn, size=size + 1, number=number)",
        (
            _IN_DISCRETE_LAPLACE
            + "test_the_sampler_equals_big_integers_with_release_keys",
        ),
    ),
    Mutant(
        "law changed",
        "sampler: a word that ties is above the threshold",
        _DISCRETE_LAPLACE,
        "below = lower[-1] < first",
        "below = lower[-1] <= first",
        (_IN_DISCRETE_LAPLACE + "test_one_tie_with_any_threshold_is_enough[0]",),
    ),
    Mutant(
        "law changed",
        "sampler: unused thresholds are the lowest",
        _DISCRETE_LAPLACE,
        "constant_values=np.uint32(_NONE)",
        "constant_values=np.uint32(0)",
        (
            _IN_DISCRETE_LAPLACE
            + "test_a_word_without_zeros_does_not_tie_with_an_unused_threshold",
        ),
    ),
    Mutant(
        "law changed",
        "sampler: words tie with unused thresholds",
        _DISCRETE_LAPLACE,
        "tie = (first == left[0]) & (count < number)",
        "tie = first == left[0]",
        (
            _IN_DISCRETE_LAPLACE
            + "test_a_word_without_zeros_does_not_tie_with_an_unused_threshold",
        ),
    ),
    Mutant(
        "key reused",
        "ChaCha20: all children are the first",
        _CHACHA,
        "children = block(key, counter, (_SPLIT, 0, 0))[:8]",
        "children = block(key, 0 * counter, (_SPLIT, 0, 0))[:8]",
        (_IN_RANDOM + "test_streams_children_and_folds_of_a_key_never_overlap",),
    ),
    Mutant(
        "noise clipped",
        "sampler: the low of two limbs for one limb",
        _DISCRETE_LAPLACE,
        "return _noise(key, table, shape, 1)[0]",
        "return _noise(key, table, shape, 2)[1]",
        (_IN_DISCRETE_LAPLACE + "test_noise_beyond_one_limb",),
    ),
    Mutant(
        "noise clipped",
        "sampler: one limb for two",
        _DISCRETE_LAPLACE,
        "return jnp.stack(_noise(key, table, shape, 2))",
        "one = _noise(key, table, shape, 1)\n"
        "    return jnp.stack([jnp.zeros(shape, jnp.int32), *one])",
        (_IN_DISCRETE_LAPLACE + "test_noise_beyond_one_limb",),
    ),
    Mutant(
        "law changed",
        "sampler: the rest of the last block is used first",
        _PENDING,
        "limb.reshape(-1)[:size]",
        "limb.reshape(-1)[-size:]",
        (
            _IN_DISCRETE_LAPLACE
            + "test_many_draws_are_made_in_blocks_of_their_own_keys",
        ),
    ),
    Mutant(
        "key reused",
        "sampler: all blocks draw from one key",
        _PENDING,
        "lax.map(one, jr.split(key, blocks))",
        "lax.map(\n        lambda _: one(key), jnp.arange(blocks)\n    )",
        (
            _IN_DISCRETE_LAPLACE
            + "test_many_draws_are_made_in_blocks_of_their_own_keys",
        ),
    ),
    Mutant(
        "law changed",
        "sampler: the digits of another draw",
        _PENDING,
        "values.at[..., lanes].get(",
        "values.at[..., lanes // 2].get(",
        (_COMPLETED,),
    ),
    Mutant(
        "branch left out",
        "sampler: ties after the first lanes",
        _PENDING,
        "first = jnp.where(flags, row, rows)",
        "first = jnp.where(flags & (row < 1), row, rows)",
        (_COMPLETED,),
    ),
    Mutant(
        "weak randomness",
        "sampler: the sign is a bit of the digit",
        _DISCRETE_LAPLACE,
        "negative = (words & lowest)",
        "negative = (words >> lowest & lowest)",
        (
            _IN_DISCRETE_LAPLACE
            + "test_the_sampler_equals_big_integers_with_release_keys",
        ),
    ),
    Mutant(
        "branch left out",
        "sampler: all ties",
        _DISCRETE_LAPLACE,
        "jnp.where(tie, TIE, 0)",
        "jnp.where(tie, 0, 0)",
        (_COMPLETED,),
    ),
    Mutant(
        "law changed",
        "sampler: further digits of zero",
        _DISCRETE_LAPLACE,
        "magnitude = jnp.where(low == 0, 0, magnitude)",
        "magnitude = magnitude * 1",
        (
            _IN_DISCRETE_LAPLACE
            + "test_the_sampler_equals_big_integers_with_release_keys",
        ),
    ),
    Mutant(
        "law changed",
        "sampler: digits without a tie are counted again",
        _DISCRETE_LAPLACE,
        "return jnp.where(marked >= TIE, reached, marked)",
        "return reached",
        (_COMPLETED,),
    ),
    Mutant(
        "noise clipped",
        "sampler: the low limb is not carried",
        _DISCRETE_LAPLACE,
        "return _carried(high[0], low + addend)",
        "return *high, low + addend",
        (_IN_DISCRETE_LAPLACE + "test_noise_beyond_one_limb",),
    ),
    Mutant(
        "weak randomness",
        "ChaCha20: a key of zeros",
        _CHACHA,
        "return by_platform(words, key, counter)",
        "return by_platform(words, 0 * key, counter)",
        (_IN_RANDOM + "test_chacha20_gives_the_vectors_of_the_rfc[2.3.2]",),
    ),
    Mutant(
        "weak randomness",
        "ChaCha20: too many rounds before the loop",
        _CHACHA,
        "for _ in range(first):",
        "for _ in range(2 * first):",
        (
            _IN_RANDOM
            + "test_an_accelerators_program_gives_the_same_bits[rounds in turn]",
        ),
    ),
    Mutant(
        "key reused",
        "ChaCha20: all blocks are the first",
        _CHACHA,
        "return block_in(at_once, key, counter, nonce)",
        "return block_in(at_once, key, 0 * counter, nonce)",
        (_IN_RANDOM + "test_chacha20_gives_the_vectors_of_the_rfc[2.3.2]",),
    ),
)
