"""Games of a policy: which games, in what order, with what in them."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.names import EVENT_COLUMNS
from qwop.envs.qwop.observations import observe_as
from qwop.envs.spec import Capabilities, EnvironmentSpec, ObservationSpec
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.policies.rollout import Game, play

CARTPOLE = EnvironmentSpec("CartPole-v1")


def make_policy() -> Policy:
    network = ActorCritic(4, 2, generator=torch.Generator().manual_seed(0))
    torch.nn.init.normal_(network.policy_head.weight, std=0.5, generator=torch.Generator().manual_seed(1))
    return Policy(network, CARTPOLE, ObservationSpec((4,)))


def games(policy: Policy | None = None, **settings: Any) -> list[Game]:
    return list(play(policy or make_policy(), **{"episodes": 13, "seed": 5, "greedy": False, **settings}))


def same(one: Game, other: Game) -> bool:
    arrays = ("observations", "actions", "probabilities", "rewards", "times")
    return (one.index, one.seed) == (other.index, other.seed) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays
    )


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("state", [False, True], ids=["memoryless", "with a state"])
def test_games_are_the_same_however_many_are_played_at_a_time_or_follow(
    alternating: Callable[[EnvironmentSpec], Policy], state: bool, greedy: bool
) -> None:
    policy = alternating(CARTPOLE) if state else make_policy()

    def played(**more: Any) -> list[Game]:
        return games(policy, greedy=greedy, **more)

    one_by_one = played(num_envs=1)
    assert [game.index for game in one_by_one] == list(range(13))
    assert len({game.observations[0].tobytes() for game in one_by_one}) == 13
    for num_envs in (2, 5, 64):
        assert all(map(same, one_by_one, played(num_envs=num_envs)))
    assert all(map(same, played(episodes=3), one_by_one))
    assert not any(map(same, played(seed=6), one_by_one))


def test_games_can_be_had_as_they_end_and_from_any_number_on() -> None:
    later = games(first=4, episodes=9, num_envs=4, ordered=False)
    assert [game.index for game in later] != list(range(4, 13)), "no game ended before an earlier one"
    later.sort(key=lambda game: game.index)
    assert all(map(same, games()[4:], later))


def test_a_game_can_be_played_again_from_its_seed_and_actions() -> None:
    for game in games(num_envs=3):
        env = CARTPOLE.make()
        observation, _ = env.reset(seed=game.seed)
        observations, ended = [observation], (False, False)
        for action in game.actions:
            observation, _, *ended, _ = env.step(int(action))
            observations.append(observation)
        assert np.array_equal(observations, game.observations)
        assert ended == [game.terminated, game.truncated]


def test_games_are_as_a_recording_drawn_with_the_policys_probabilities_or_certain() -> None:
    drawn, greedy = games()[0], games(greedy=True)[0]
    assert drawn.times.tolist() == list(range(len(drawn) + 1))
    arrays = (drawn.observations, drawn.actions, drawn.probabilities, drawn.rewards, drawn.times)
    assert [one.dtype for one in arrays] == [np.float32, np.int16, np.float32, np.float32, np.float64]
    assert (drawn.keys, drawn.terminated, drawn.truncated, drawn.outcome) == (None, True, False, "terminated")
    assert np.array_equal(drawn.probabilities, make_policy().probabilities(drawn.observations[:-1]))
    assert np.array_equal(greedy.probabilities, np.eye(2)[greedy.actions])


def test_a_game_cut_by_a_time_limit_is_truncated_and_keeps_its_last_observation() -> None:
    gymnasium.register("ShortCartPole-v0", "gymnasium.envs.classic_control:CartPoleEnv", max_episode_steps=5)
    game = games(environment=EnvironmentSpec("ShortCartPole-v0"))[0]
    assert (len(game), game.terminated, game.truncated, game.outcome) == (5, False, True, "truncated")
    assert not np.array_equal(game.observations[-1], game.observations[0])


class Framed(gymnasium.Env[Any, Any]):
    """Three decisions, two of two frames and one of one, after `max_idle_frames` idle ones, and a running clock.

    Every pixel of an observation is 200 and the number of decisions.
    """

    observation_space = gymnasium.spaces.Box(0, 255, (36, 36, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, max_idle_frames: int = 0) -> None:
        self.idle = max_idle_frames

    def observation(self) -> Any:
        return np.full((36, 36, 3), 200 + self.decisions, np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.played, self.decisions = self.idle, 0
        return self.observation(), {"frames": self.idle, "clock": self.idle / 30}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.decisions += 1
        frames = 1 if self.decisions == 3 else 2
        self.played += frames
        info = {"frames": frames, "clock": self.played / 30, "outcome": "fell", "distance": 1.5}
        return self.observation(), 0.0, self.decisions == 3, False, info


class Keyed(Framed):
    """The same, declaring that its decisions are keys held for frames."""

    @classmethod
    def capabilities(cls, **settings: Any) -> Capabilities:
        return Capabilities(keys=True)


@pytest.mark.parametrize("kind", [Framed, Keyed])
def test_images_stay_bytes_and_frames_are_keys_only_where_the_environment_declares_it(kind: Any) -> None:
    gymnasium.register("Registered-v0", kind)
    spec, image = EnvironmentSpec("Registered-v0"), ObservationSpec((36, 36, 3), "uint8")
    try:
        policy = Policy(ActorCritic(image, 2, (8,), torch.Generator().manual_seed(0)), spec, image)
        game = next(iter(play(policy, episodes=2, seed=0, greedy=False, max_idle_frames=4, num_envs=2)))
    finally:
        gymnasium.registry.pop("Registered-v0")
    assert np.array_equal(game.probabilities, policy.probabilities(game.observations[:-1]))
    assert game.observations.dtype == np.uint8
    assert game.observations[:, 0, 0, 0].tolist() == [200, 201, 202, 203]
    assert (game.keys is not None) is (kind is Keyed)
    if game.keys is not None:  # every frame; the idle ones come with the first decision
        held = [3 if action == 0 else 5 for action in game.actions]  # action 0 holds Q and W (3), action 1 Q and O (5)
        assert [keys.tolist() for keys in game.keys] == [[0] * 4 + [held[0]] * 2, [held[1]] * 2, [held[2]]]
        np.testing.assert_allclose(game.times * 30, [4, 6, 8, 9])
        assert game.outcome == "fell"
        assert game.info.keys() == {"frames", "clock", "outcome"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"episodes": 0}, "episodes=0"),
        ({"num_envs": 0}, "num_envs=0"),
        ({"seed": -1}, "seed=-1"),
        ({"first": -1}, "first=-1"),
        ({"idle_frames": [1]}, "one for each of 13 episodes"),
        ({"environment": EnvironmentSpec("Acrobot-v1")}, "Acrobot-v1"),
    ],
)
def test_games_that_do_not_exist_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        games(**settings)


@pytest.mark.parametrize("delay", [0.0, 0.5])
def test_games_of_qwop_replay_exactly_and_do_not_depend_on_how_many_are_played_at_a_time(delay: float) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": 3, "delay": delay})
    policy = Policy(ActorCritic(71, 11, generator=torch.Generator().manual_seed(0)), spec, ObservationSpec((71,)))

    def played(num_envs: int) -> list[Game]:
        return list(play(policy, episodes=9, seed=1, greedy=False, num_envs=num_envs, max_idle_frames=30))

    alone, together = played(1), played(9)
    assert all(map(same, alone, together))
    assert len({game.info["idle_frames"] for game in alone}) > 3
    for game in alone:
        assert game.keys is not None
        assert any(len(set(keys.tolist())) > 1 for keys in game.keys[1:]) == (delay > 0)
        shown = replay(np.concatenate(game.keys))
        frames = np.cumsum([len(keys) for keys in game.keys])
        assert np.array_equal(observe_as("features", shown.states[frames]), game.observations[1:])
        assert shown.events[-1, EVENT_COLUMNS.index("fallen")] == (game.outcome == "fell")
        assert np.array_equal(shown.events[frames, EVENT_COLUMNS.index("clock")], game.times[1:])


@pytest.mark.parametrize("num_envs", [1, 3])
def test_games_of_qwop_begin_with_the_idle_frames_given_for_each(num_envs: int) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": 5, "time_limit": 3.0})
    policy = Policy(ActorCritic(71, 11, generator=torch.Generator().manual_seed(0)), spec, ObservationSpec((71,)))
    idle = [7, 0, 40, 3, 3]
    played = list(play(policy, episodes=5, seed=1, greedy=True, num_envs=num_envs, idle_frames=idle, first=10))
    assert [game.info["idle_frames"] for game in played] == idle
    for game, frames in zip(played, idle, strict=True):
        assert game.keys is not None
        assert not game.keys[0][:frames].any()
        assert len(game.keys[0]) == frames + 5
    assert np.array_equal(played[3].observations, played[4].observations)
