"""Faults of Metropolis–Hastings moves that read records."""

from tests.mutants.mutant import fault as _fault

_BARKER, _CHAINS = "chains/barker.py", "tests/test_private_chains.py::"

MUTANTS = (
    _fault(
        "ε doubled",
        "lazy moves: as lazy as for twice the loss",
        _BARKER,
        "epsilon=float_below(change)",
        "epsilon=float_below(2 * change)",
        _CHAINS + "test_lazy_moves_are_taken_as_often_as_said",
    ),
    _fault(
        "law changed",
        "lazy moves: not lazy where r is 1 or more",
        _BARKER,
        "jax.nn.log_sigmoid(epsilon) + jnp.minimum(log_ratio, 0)",
        "jnp.minimum(log_ratio, -1e-6)",
        _CHAINS + "test_a_lazy_move_loses_epsilon_and_no_more_wherever_it_starts[1.0]",
    ),
)
