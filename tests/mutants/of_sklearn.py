"""Faults of the estimators for scikit-learn."""

from tests.mutants.mutant import Mutant

_BASE, _CLASSIFIERS = "sklearn/base.py", "sklearn/classifiers.py"
_IN = "tests/test_sklearn.py::"

MUTANTS = (
    Mutant(
        "budget not charged",
        "scikit-learn: a fit without the ledger",
        _BASE,
        "            ledger=ledger,\n",
        "            ledger=None,\n",
        (_IN + "test_a_fit_charges_what_it_spends",),
    ),
    Mutant(
        "ε doubled",
        "scikit-learn: a release of another ε",
        _BASE,
        "            epsilon=self.epsilon,\n",
        "            epsilon=2 * self.epsilon,\n",
        (_IN + "test_a_fit_charges_what_it_spends",),
    ),
    Mutant(
        "limit weakened",
        "scikit-learn: the classes of y in place of the public ones",
        _CLASSIFIERS,
        "labels = np.unique(y if public else np.asarray(self.classes))",
        "labels = np.unique(y)",
        (_IN + "test_a_class_without_records_is_known",),
    ),
    Mutant(
        "branch left out",
        "scikit-learn: the classes in y are public without a word",
        _CLASSIFIERS,
        "        if self.classes is None:\n",
        "        if self.classes is None and not len(y):\n",
        (_IN + "test_bad_parameters_are_refused_and_nothing_is_charged",),
    ),
    Mutant(
        "record read by others",
        "scikit-learn: an error has the cell that it is about",
        _BASE,
        "    if not _TELLING.match(text):\n",
        "    if not text:\n",
        (_IN + "test_errors_show_no_record_and_nothing_is_charged",),
    ),
)
