"""Statistical assertions whose false-alarm rate is decided in advance."""

import numpy as np
from scipy import stats

ALPHA = 1e-6  # chance that one correct assertion fails; the suite has far below 1e4


def chi_square_pvalue(samples, probability, support):
    """P-value that integers `samples` have P(z) = probability(z), tails lumped."""
    samples = np.ravel(samples)
    low, high = support[0], support[-1]
    counts = np.bincount(np.clip(samples, low, high) - low, minlength=len(support))
    expected = np.array([probability(z) for z in support], float) * samples.size
    expected[-1] += (samples.size - expected.sum()) / 2
    expected[0] += samples.size - expected.sum()
    enough = expected > 10
    if not enough.all():
        counts = np.append(counts[enough], counts[~enough].sum())
        expected = np.append(expected[enough], expected[~enough].sum())
    return stats.chisquare(counts, expected, sum_check=False).pvalue


def assert_binomial(successes, trials, probability):
    """The number of successes is consistent with `probability`."""
    pvalue = stats.binomtest(int(successes), trials, probability).pvalue
    assert pvalue > ALPHA, f"{successes} of {trials} is not {probability}: {pvalue:.1e}"


def assert_at_least(successes, trials, probability):
    """The successes do not contradict a chance of at least `probability`."""
    test = stats.binomtest(int(successes), trials, probability, alternative="less")
    assert test.pvalue > ALPHA, f"{successes} of {trials} is below {probability}"


def assert_follows(samples, law):
    """The samples are consistent with the continuous law."""
    assert stats.kstest(np.ravel(samples), law.cdf).pvalue > ALPHA


def assert_departs(samples, law):
    """The samples are many enough to tell the law from their own: power."""
    assert stats.kstest(np.ravel(samples), law.cdf).pvalue < ALPHA


def assert_counts_follow(seen, law):
    """How often each of finitely many outcomes came is consistent with its law."""
    seen, expected = np.asarray(seen, float), np.asarray(law, float) * np.sum(seen)
    assert not seen[expected == 0].any()
    enough = expected > 10
    if not enough.all():  # lumped; a margin where nothing at all is expected
        seen = np.append(seen[enough], seen[~enough].sum())
        expected = np.append(expected[enough], expected[~enough].sum() + 1e-6)
    assert stats.chisquare(seen, expected, sum_check=False).pvalue > ALPHA
