"""Races between policies, also of such that decide at different rates."""

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.envs.race.events import EVENTS
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy
from qwop.policies.recurrent import TwoTimescaleActorCritic
from qwop.population.head_to_head import figures_of, play_head_to_head, tournament

from ..fakes import untrained

SIZE, ACTIONS = 94, 11


def race(frames: int, **settings: Any) -> EnvironmentSpec:
    return EnvironmentSpec(
        "QWOPRace-v1", {"frames_per_step": frames, "observation": "full", "time_limit": 4.0, **settings}
    )


def runner(frames: int, seed: int = 0) -> Policy:
    """A policy that sees nothing but its own runner."""
    network = Actor(SIZE, ACTIONS, (16,), torch.Generator().manual_seed(seed))
    torch.nn.init.normal_(network.policy_head.weight, 0.0, 2.0, generator=torch.Generator().manual_seed(seed))
    game = EnvironmentSpec("QWOP-v1", {"frames_per_step": frames, "observation": "full"})
    return Policy(network, game, ObservationSpec((SIZE,)))


def always(frames: int, action: int = 3) -> Policy:
    policy = runner(frames)
    torch.nn.init.zeros_(policy.network.policy_head.weight)
    with torch.no_grad():
        policy.network.policy_head.bias[action] = 10.0
    return policy


def thinker(frames: int) -> Policy:
    """A policy with a memory that sees its rival and its own rewards: for decisions and for knees on the ground."""
    spec = race(frames, weights=[{"decision": 1.0, "knee": -3.0}.get(event, 0.0) for event in EVENTS])
    observation, actions = spec.interface()
    network = TwoTimescaleActorCritic(observation, actions, (16,), 16, 8, 3, torch.Generator().manual_seed(0))
    torch.nn.init.normal_(network.policy_head[-1].weight, 0.0, 5.0, generator=torch.Generator().manual_seed(1))
    return Policy(network, spec, observation)


def metres_of(policy: Policy, other: Policy) -> np.ndarray[Any, Any]:
    return play_head_to_head(policy, [other], race(2), games=6, num_games=4)["metres"].to_numpy()


@pytest.mark.parametrize("policy", [runner(2), thinker(2)], ids=["without a memory", "with a memory"])
def test_a_policy_keeps_to_its_own_rate_against_one_that_decides_more_often(policy: Policy) -> None:
    slow, fast = metres_of(policy, always(2)), metres_of(policy, always(1))
    assert np.array_equal(slow[1::2], fast[1::2])  # in the others the time limit comes in the middle of a decision
    assert len(np.unique(slow)) > 1


def test_a_policy_that_decides_more_often_runs_as_in_a_race_at_its_own_rate() -> None:
    mine = runner(1)
    held = play_head_to_head(always(2), [mine], race(2), games=6)
    own = play_head_to_head(always(1), [mine], race(1), games=6)
    slower = play_head_to_head(always(2), [runner(2)], race(2), games=6)
    assert held["their_metres"].equals(own["their_metres"])
    assert not held["their_metres"].equals(slower["their_metres"])


def test_rates_that_do_not_divide_each_other_and_other_games_are_refused() -> None:
    with pytest.raises(BadInput, match="a policy decides every 2 frames, and the race 3"):
        play_head_to_head(thinker(3), [runner(2)], race(3), games=1)
    with pytest.raises(BadInput, match=r"^.?CartPole-v1.*: a policy of CartPole-v1, which cannot run in a race"):
        play_head_to_head(untrained(EnvironmentSpec("CartPole-v1")), [runner(2)], race(2), games=1)
    with pytest.raises(BadInput, match="decides 10 times a second, but in the race it is 15"):
        play_head_to_head(thinker(2), [runner(3)], race(2), games=1)


def test_in_a_tournament_everybody_meets_everybody() -> None:
    runners = [always(2), runner(2), always(2, 5)]
    points = np.zeros((3, 3))
    for one, other in permutations(range(3), 2):
        points[one, other] = play_head_to_head(runners[one], [runners[other]], race(2), games=5)["result"].mean()
    run: list[int] = []
    found = tournament(runners, race(2), 5, run.append)
    assert run == [5] * 3
    assert len(np.unique(found)) > 1
    np.testing.assert_allclose(found, points.sum(axis=1) / 2)
    assert tournament(runners[:1], race(2), 5, run.append) == [0.0]


def test_the_figures_of_races_are_those_of_both_runners() -> None:
    races = pd.DataFrame(
        [(1.0, 100.5, 40.0, 50.0, np.nan), (0.5, 20.0, 20.5, np.nan, np.nan), (0.0, 99.5, 101.0, np.nan, 60.0)],
        columns=["result", "metres", "their_metres", "seconds", "their_seconds"],
    )
    figures = figures_of(races, "champion")
    assert (figures["won"], figures["lost"], figures["results"]) == (1 / 3, 1 / 3, [1.0, 0.5, 0.0])
    assert (figures["finishes"], figures["their_metres"]) == (1, pytest.approx(53.8333, abs=1e-3))
    assert figures["sentence"] == (
        "against champion: 33.3% of 3 races won, 33.3% drawn, 33.3% lost; 73.3 m against 53.8 m, "
        "1 (median 50.00 s) against 1 (median 60.00 s) finished"
    )
