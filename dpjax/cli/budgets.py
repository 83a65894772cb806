"""The budgets that --epsilon, --rho, --delta and --budget of `dpjax release` state."""

import argparse

from dpjax.exports.reports.budget import texts
from dpjax.mechanisms.recipes import RECIPES
from dpjax.privacy import (
    ZCDP,
    ApproximateDP,
    Guarantee,
    Ledger,
    PureDP,
    budget_of,
    exact_epsilon,
    in_words,
    zcdp_budget,
)

_LOSSES = ("epsilon", "delta", "rho")
_EITHER = "give --rho R alone, or --epsilon E with --delta D"


def cost_of(options: argparse.Namespace) -> Guarantee:
    """Return the cost of the release, from the options for its privacy loss."""
    for name in ("id", "weights"):
        given = getattr(options, name, None) is not None
        if given and options.contributions is None:
            raise ValueError(
                f"`contributions` must be given with --{name}: --contributions K."
            )
    _refuse_losses(options)
    name = "epsilon" if options.rho is None else "rho"
    return _guarantee(options, getattr(options, name), name)


def ledger_of(options: argparse.Namespace) -> Ledger | None:
    """Return the ledger of the options --ledger and --budget; None without --ledger.

    The budget is in the number of the release's loss: ε, ρ, or the ε of --delta.
    """
    if options.ledger is None:
        for name in ("budget", "part", "period"):
            if getattr(options, name) is not None:
                raise ValueError(
                    f"`{name}` must be given with a ledger: add --ledger FILE."
                )
        return None
    total = options.budget
    return Ledger(
        adjacency=options.adjacency,
        contributions=options.contributions,
        budget=None if total is None else _guarantee(options, total, "budget"),
        period=options.period,
        path=options.ledger,
    )


def plain(cost: Guarantee) -> str | dict[str, str]:
    """Return ε alone if it is the only number of a cost, or else all, by name."""
    numbers = texts(cost.numbers)
    return numbers["epsilon"] if [*numbers] == ["epsilon"] else numbers


def said(cost: Guarantee) -> str:
    """Return a cost for display: ε alone, or all numbers with their names."""
    numbers = plain(cost)
    return numbers if isinstance(numbers, str) else in_words(numbers)


def _refuse_losses(options: argparse.Namespace) -> None:
    """Raise unless the mechanism's privacy loss is given, in one way."""
    given = [name for name in _LOSSES if getattr(options, name) is not None]
    chosen = options.mechanism
    made = f"the mechanism {chosen}" if chosen else "a release"
    costs = RECIPES[chosen].costs if chosen else (PureDP, ZCDP)
    if PureDP in costs and not given:
        raise ValueError(f"`epsilon` must be given for {made}: --epsilon E.")
    if PureDP in costs and given in (["epsilon"], ["rho"]):
        return
    if ZCDP not in costs and "delta" in given:
        raise ValueError(
            f"`delta` must be left out for {made}, whose privacy loss has no delta."
        )
    if "rho" in given and len(given) > 1:
        raise ValueError(f"`{given[0]}` must be left out with --rho: {_EITHER}.")
    if given not in (["rho"], ["epsilon", "delta"]):
        (name,) = {"epsilon", "delta"} - {*given} if given else {"rho"}
        raise ValueError(f"`{name}` must be given for {made}: {_EITHER}.")


def _guarantee(options: argparse.Namespace, number: str, name: str) -> Guarantee:
    """Return the guarantee of a number that the option `name` states."""
    adjacency, given = options.adjacency, getattr(options, "contributions", None)
    rows = 1 if given is None else given
    exact = exact_epsilon(number, name)
    if options.rho is not None:
        return zcdp_budget(adjacency, rho=exact, contributions=rows)
    if options.delta is None:
        return budget_of(exact, adjacency, name, contributions=rows)
    delta = options.delta
    if getattr(options, "sample_rate", None) is not None:
        chance = exact_epsilon(delta, "delta")
        return ApproximateDP(exact, chance, adjacency, contributions=rows)
    return zcdp_budget(adjacency, epsilon=exact, delta=delta, contributions=rows)
