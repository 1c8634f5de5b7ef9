"""Coached games: who acts, with which probabilities, and going back to the bit."""

from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from qwop import load_policy
from qwop.datasets import DatasetWriter, Episode
from qwop.datasets.control import PERSON, POLICY
from qwop.datasets.differences import differences_of_branch
from qwop.datasets.from_keys import replay_episode
from qwop.datasets.origin import Origin
from qwop.datasets.schema import DatasetInfo
from qwop.datasets.verify import verify
from qwop.envs.names import ACTION_KEYS
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.policy import Policy
from qwop.recorder.coaching.environment_stage import EnvironmentStage, repeats_games
from qwop.recorder.coaching.game import CoachedGame
from qwop.recorder.coaching.page_game import CoachedPageGame
from qwop.recorder.coaching.qwop_stage import QwopStage
from qwop.recorder.coaching.recording import coached_info
from qwop.recorder.coaching.stage import Facts, Stage

FACTS = Facts("me", "a policy", Origin(), 0.05)


def of(stage: Stage, policy: Policy, seed: int = 0) -> CoachedGame:
    return CoachedGame(stage, policy, FACTS, 0, count(1).__next__, 0.5, np.random.default_rng(seed))


@pytest.fixture
def runner(make_runner: Callable[..., Policy]) -> Policy:
    return make_runner()


@pytest.fixture(scope="module")
def make_runner() -> Callable[..., Policy]:
    """An untrained policy of QWOP, of decisions of three frames unless the settings say otherwise."""
    import torch
    from qwop.policies.networks import ActorCritic

    def make(**settings: Any) -> Policy:
        spec = EnvironmentSpec("QWOP-v1", {"observation": "full", **settings})
        observation, actions = spec.interface()
        return Policy(ActorCritic(observation, actions, (16,), torch.Generator().manual_seed(1)), spec, observation)

    return make


def qwop_game(policy: Policy, idle: int = 4, seed: int = 0) -> CoachedGame:
    return of(QwopStage(coached_info(policy, "a policy"), idle), policy, seed)


def play(game: CoachedGame, random: np.random.Generator, frames: int) -> None:
    """Play frames in which a person now and then holds a key for a while."""
    held = 0
    for _ in range(frames):
        if random.random() < 0.15:
            held = int(random.integers(16)) if random.random() < 0.5 else 0
        game.frame(held)


def write(folder: Path, policy: Policy, *episodes: Episode) -> None:
    writer = DatasetWriter(folder, coached_info(policy, "a policy"))
    for episode in episodes:
        writer.write(episode)
    assert [one for one in verify(folder, replay=True)[1] if not one.harmless] == []


def test_a_decision_belongs_to_one_side_and_is_cut_where_control_changes(runner: Policy, tmp_path: Path) -> None:
    game = qwop_game(runner, idle=2)
    for held in (0, 0, 0, 0, 9, 9):  # the person presses in the second decision's second frame
        game.frame(held)
    episode = game.episode()
    assert episode.actors is not None
    assert episode.actors.tolist() == [POLICY, POLICY, PERSON]
    assert episode.frames.tolist() == [2 + 3, 1, 2]
    assert episode.keys_of_frames[-3:].tolist() == [ACTION_KEYS[episode.actions[1]], 9, 9]
    assert episode.mu == "mixed(0.05)"
    write(tmp_path / "data", runner, episode)


def test_the_policys_probabilities_are_kept_where_a_person_acted(runner: Policy) -> None:
    game = qwop_game(runner)
    play(game, np.random.default_rng(3), 120)
    episode = game.episode()
    assert episode.actors is not None
    assert episode.policy_probabilities is not None
    asked = runner.probabilities(episode.observations[:-1])
    assert np.array_equal(episode.policy_probabilities, asked)
    own = episode.actors == POLICY
    assert np.array_equal(episode.behaviour_probabilities[own], asked[own])
    assert (episode.behaviour_probabilities[~own].max(axis=1) > 0.95).all()


@pytest.mark.parametrize("settings", [{}, {"frames_per_step": 1, "observation": "contact"}, {"observation_lag": 1}])
def test_the_policy_sees_what_is_recorded(make_runner: Callable[..., Policy], settings: Any, tmp_path: Path) -> None:
    policy = make_runner(**settings)
    game = qwop_game(policy)
    play(game, np.random.default_rng(5), 90)
    episode = game.record()
    assert np.array_equal(episode.policy_probabilities, policy.probabilities(episode.observations[:-1]))  # type: ignore[arg-type]
    write(tmp_path / "data", policy, episode)


def test_a_policy_that_sees_pictures_is_coached_too(tmp_path: Path) -> None:
    import torch
    from qwop.policies.networks import ActorCritic

    spec = EnvironmentSpec("QWOP-v1", {"observation": "pixels", "size": 36, "stack": 3, "frames_per_step": 2})
    observation, actions = spec.interface()
    policy = Policy(ActorCritic(observation, actions, (16,), torch.Generator().manual_seed(1)), spec, observation)
    game = qwop_game(policy, idle=0)
    play(game, np.random.default_rng(5), 40)
    game.go_back(0.5)
    play(game, np.random.default_rng(6), 20)
    episode = game.record()
    assert np.array_equal(episode.policy_probabilities, policy.probabilities(episode.observations[:-1]))  # type: ignore[arg-type]
    write(tmp_path / "data", policy, episode)


def bits(stage: QwopStage) -> bytes:
    """All that decides how a game goes on, and what the policy sees of it."""
    state = {**stage.env.get_state(), "observation": stage.observe()}
    arrays = [np.asarray(value).tobytes() for value in state.values() if not isinstance(value, dict)]
    return b"".join([*arrays, repr((state["generator"], state["delays"])).encode()])


def rewinds(policy: Policy, times: int, seed: int) -> tuple[list[Episode], int]:
    """Go back at random; returns the lines, and the number of times that the state was another than the one then."""
    random = np.random.default_rng(seed)
    game = qwop_game(policy, idle=int(random.integers(20)), seed=seed)
    stage = game.stage
    assert isinstance(stage, QwopStage)
    lines, different, states = [], 0, {}
    for _ in range(times):
        for _ in range(int(random.integers(5, 60))):
            states[stage.frame] = bits(stage)
            game.frame(int(random.integers(16)) if random.random() < 0.3 else 0)
        if game.over and random.random() < 0.5:
            lines.append(game.record())
            assert game.go_back(0.2) is None  # recorded already
        elif (line := game.go_back(float(random.uniform(0.1, 3.0)))) is not None:
            lines.append(line)
        different += bits(stage) != states[stage.frame]
    game.hand_over()
    game.frame(1)
    return [*lines, game.record()], different


def test_going_back_restores_the_state_and_all_lines_replay(runner: Policy, tmp_path: Path) -> None:
    lines, different = rewinds(runner, 25, 1)
    assert different == 0
    assert len(lines) > 20
    by_game = {line.origin.game: line for line in lines}
    for line in lines:
        if line.branch is not None:
            assert differences_of_branch(line, by_game[line.branch.game]) is None
    write(tmp_path / "data", runner, *lines)


@pytest.mark.slow
@pytest.mark.parametrize(("player", "games"), [("untrained", 20), ("champion", 4)])
def test_fifty_rewinds_of_each_game(runner: Policy, player: str, games: int, tmp_path: Path) -> None:
    policy = runner if player == "untrained" else load_policy("champion")
    made = [rewinds(policy, 50, seed) for seed in range(games)]
    assert sum(different for _, different in made) == 0
    for number, (lines, _) in enumerate(made):
        write(tmp_path / f"{number}", policy, *lines)


def test_a_policy_with_a_memory_remembers_what_the_person_did(
    alternating: Callable[[EnvironmentSpec], Policy],
) -> None:
    policy = alternating(EnvironmentSpec("QWOP-v1", {"frames_per_step": 2}))
    game = qwop_game(policy)
    play(game, np.random.default_rng(1), 60)
    game.go_back(0.4)
    play(game, np.random.default_rng(2), 40)
    episode = game.episode()
    state = policy.initial_state(1)
    for row in range(len(episode)):
        expected, state = policy.step(episode.observations[row][None], state)
        assert np.array_equal(expected[0], episode.policy_probabilities[row])  # type: ignore[index]
        state = policy.feed(state, episode.actions[row : row + 1], episode.rewards[row : row + 1])


def test_equal_keys_and_seeds_give_equal_games(runner: Policy) -> None:
    one, two = (qwop_game(runner, seed=7) for _ in range(2))
    for game in (one, two):
        play(game, np.random.default_rng(2), 60)
        game.go_back(1.0)
        play(game, np.random.default_rng(3), 30)
    first, second = one.episode(), two.episode()
    assert np.array_equal(first.keys_of_frames, second.keys_of_frames)
    assert np.array_equal(replay_episode(first).states, replay_episode(second).states)


def test_another_environment_goes_back_by_its_seed_and_actions() -> None:
    spec = EnvironmentSpec("CartPole-v1")
    env = spec.make()
    import torch
    from qwop.policies.networks import ActorCritic

    observation, actions = spec.interface()
    policy = Policy(ActorCritic(observation, actions, (16,), torch.Generator().manual_seed(1)), spec, observation)
    stage = EnvironmentStage(env, None, coached_info(policy, "a policy"), 5, 50.0)
    game = of(stage, policy)
    for held in (0, 0, 0, 1, 2, 0):
        game.frame(held)
    seen = [*stage.game.observations]
    line = game.go_back(3 / 50)
    assert line is not None
    assert line.actors is not None
    assert line.actors.tolist() == [0, 0, 0, 1, 1, 1][: len(line)]
    assert len(stage.game.observations) == 3
    assert all(np.array_equal(a, b) for a, b in pairwise([stage.game.observations[-1], seen[2]]))
    game.frame(0)
    assert stage.frame == 2  # it waits for a key
    game.frame(1)
    assert stage.frame == 3
    branch = game.episode()
    assert branch.branch is not None
    assert differences_of_branch(branch, line) is None
    assert repeats_games(env, coached_info(policy, "a policy"))


class Moody(gymnasium.Env[Any, Any]):
    """Gives another game for the same seed."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)
    noise = np.random.default_rng(1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.noise.random(1), {}

    def step(self, action: Any) -> Any:
        return self.noise.random(1), 0.0, False, False, {}


class Tired(Moody):
    """Shows the same, but ends its first game after three decisions and no other one."""

    games = 0
    decisions = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.games += 1
        return np.zeros(1), {}

    def step(self, action: Any) -> Any:
        self.decisions += 1
        return np.zeros(1), 0.0, self.games == 1 and self.decisions == 3, False, {}


@pytest.mark.parametrize("env", [Moody(), Tired()])
def test_an_environment_that_does_not_repeat_its_games_cannot_go_back(env: gymnasium.Env[Any, Any]) -> None:
    assert not repeats_games(env, DatasetInfo(EnvironmentSpec("CartPole-v1"), ObservationSpec((1,)), 2))


class Changing(gymnasium.Env[Any, Any]):
    """Repeats its games until it changes, then fails or gives others."""

    observation_space = gymnasium.spaces.Box(-9, 9, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    change: str | None = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.np_random.random(1, dtype=np.float32), {}

    def step(self, action: Any) -> Any:
        if self.change == "fails":
            raise RuntimeError("out of order")
        seen = np.ones(1, dtype=np.float32) if self.change else self.np_random.random(1, dtype=np.float32)
        return seen, 1.0, False, False, {}

    def render(self) -> Any:
        return np.zeros((8, 8, 3), dtype=np.uint8)


@pytest.mark.parametrize(("change", "why"), [("differs", "give another game"), ("fails", "out of order")])
def test_a_game_that_cannot_go_back_is_kept_as_it_was_played(change: str, why: str) -> None:
    import torch
    from qwop.policies.networks import ActorCritic

    env, spec = Changing(), EnvironmentSpec("CartPole-v1")
    seen = ObservationSpec((1,))
    policy = Policy(ActorCritic(seen, 2, (4,), torch.Generator().manual_seed(1)), spec, seen)
    game = of(EnvironmentStage(env, None, DatasetInfo(spec, seen, 2), 5, 50.0), policy)
    reported: list[str] = []
    page = CoachedPageGame(game, 0.06, reported.append)
    page.advance(1, [0, 0, 1, 2, 0, 0])
    played = game.episode()
    env.change = change
    assert page.go_back() is None
    assert why in page.result()["problem"]
    assert why in reported[0]
    assert page.over
    assert page.played
    kept = page.episode()
    assert kept.truncated
    assert np.array_equal(kept.observations, played.observations)
    assert np.array_equal(kept.actions, played.actions)
    assert kept.branch is None


def test_the_champion_plays_alone_as_in_its_own_environment() -> None:
    """Frame by frame or decision by decision, the game is the same."""
    champion = load_policy("champion")
    game = CoachedGame(
        QwopStage(coached_info(champion, "champion"), 3), champion, FACTS, 0, count(1).__next__, 1.0, None
    )
    env = champion.environment.make()
    observation, _ = env.reset(options={"idle_frames": 3})
    for _ in range(60):
        game.frame(0)
        observation, *_ = env.step(champion.act(observation[None])[0][0])
    assert np.array_equal(game.episode().observations[-1], observation)


def test_a_decision_that_was_cut_short_stays_so_after_going_back(runner: Policy, tmp_path: Path) -> None:
    game = qwop_game(runner, idle=0)
    for held in (0, 0, 0, 0, 9, 9, 9):  # the second decision lasts one frame, then the person's begins
        game.frame(held)
    line = game.go_back(3 / 30)
    assert line is not None
    game.hand_over()
    game.hand_over()  # the policy goes on
    for _ in range(4):
        game.frame(0)
    branch = game.record()
    assert branch.branch is not None
    assert branch.frames[: branch.branch.step].tolist() == line.frames[: branch.branch.step].tolist() == [3, 1]
    write(tmp_path / "data", runner, line, branch)
