"""What sweeps refuse: other experiments' files, tables, results without a place."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main


class _Scaled(eqx.Module):
    factor: jax.Array

    def __call__(self, key, epsilon, data):
        return {"sum": data.sum() * self.factor}


def test_a_checkpoint_of_other_arrays_of_the_experiment_is_refused(tmp_path):
    # Arrays of a module are arguments of the program, which is the same.
    arguments = dict(epsilons=[1], repeats=2, checkpoint=tmp_path / "blocks")
    key, data = dp.study_key(0), jnp.arange(4.0)
    dp.sweep(key, _Scaled(jnp.ones(())), data, **arguments)
    with pytest.raises(ValueError, match="other arrays of the experiment"):
        dp.sweep(key, _Scaled(jnp.zeros(())), data, **arguments)


class _Table:
    __hash__ = None

    def __repr__(self):
        return "secret"


@pytest.mark.parametrize("data", [_Table(), np.array(["secret"])])
def test_data_that_are_no_numbers_are_refused_without_a_value(data):
    with pytest.raises(ValueError, match="`data` must be numbers") as caught:
        dp.sweep(dp.study_key(0), lambda *_: 1.0, data, epsilons=[1], repeats=1)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("names", [{"repeat": 1}, {"a.b": 1, "a": {"b": 2}}])
def test_results_that_would_hide_each_other_are_refused(names):
    with pytest.raises(ValueError, match="different names"):
        dp.sweep(dp.study_key(0), lambda *_: names, 0, epsilons=[1], repeats=1)


def test_epsilons_may_come_from_a_generator_but_are_no_string():
    def run(epsilons):
        return dp.sweep(
            dp.study_key(0), lambda k, e, d: e, 0, epsilons=epsilons, repeats=1
        )

    assert run(e for e in (1, 2))["value"].ravel().tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="`epsilons` must be a sequence"):
        run("0.1")


def test_more_repeats_than_are_numbered_are_refused():
    with pytest.raises(ValueError, match="`repeats` must be at most"):
        dp.sweep(dp.study_key(0), lambda *_: 1, 0, epsilons=[1], repeats=1 << 31)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--mechanisms", "laplace,laplace"], "`mechanisms` must all differ"),
        (["--seed", "-1"], "`seed` must be an integer of at least 0"),
        (["--seed", str(1 << 63)], "`seed` must be below 2^"),
    ],
)
def test_options_that_no_study_can_have_are_refused(capsys, option, message):
    arguments = ["nothing.csv", "--schema", "nothing.json", "--network", "nothing"]
    arguments += ["--epsilons", "1", "--adjacency", "replace-one", *option]
    assert main(["sweep", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_command_that_is_interrupted_says_so_without_a_traceback(capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(dp.Schema, "from_json", interrupted)
    arguments = ["nothing.csv", "--schema", "nothing.json", "--network", "nothing"]
    arguments += ["--epsilons", "1", "--adjacency", "replace-one"]
    assert main(["sweep", *arguments]) == 130
    assert capsys.readouterr().err == "dpjax sweep: interrupted\n"
