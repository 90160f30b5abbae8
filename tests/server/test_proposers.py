"""Many keys propose, change, discuss and decide at random: the server does what a plain model of the rules does."""

from __future__ import annotations

from tests.attack.proposers import propose_with_keys


def test_random_keys_propose_amend_and_decide(long: bool) -> None:
    steps = 3000 if long else 100
    assert propose_with_keys(20, 0, steps=steps) == (steps, None)
