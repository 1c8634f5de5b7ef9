"""Policies that play in the recorder's process, and a person who corrects them on the page of their environment."""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from qwop.datasets import DatasetWriter, Episode, open_dataset
from qwop.datasets.control import PERSON, POLICY
from qwop.datasets.differences import differences_of_branch
from qwop.datasets.origin import Origin
from qwop.datasets.schema import DatasetInfo
from qwop.datasets.verify import verify
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.recorder.game_writer import GameWriter
from qwop.recorder.main import open_source
from qwop.recorder.page.environment_game import Coach, EnvironmentGame, repeats_games
from qwop.recorder.page.messages import NOBODY
from qwop.recorder.page.messages import POLICY_ACTS as ACTS
from qwop.recorder.settings import EnvironmentPageSettings, RecorderPageSettings
from qwop.recorder.source import Identity
from websockets.sync.client import ClientConnection


def untrained(spec: EnvironmentSpec, observation: ObservationSpec | None = None, actions: int = 2) -> Policy:
    if observation is None:
        observation, actions = spec.interface()
    return Policy(ActorCritic(observation, actions, (16,), torch.Generator().manual_seed(1)), spec, observation)


def number_of(held: int) -> int | None:
    """The action that is held as its number plus 1."""
    return held - 1 if held else None


def game_of(
    env: gymnasium.Env[Any, Any], policy: Policy, back: int, info: DatasetInfo | None = None, **more: Any
) -> EnvironmentGame:
    info = info or DatasetInfo(policy.environment, policy.observation, policy.actions)
    coach = Coach(policy, Identity("a policy", Origin(seed=0), None), Path("no dataset"), back)
    return EnvironmentGame(env, number_of, info, "me", 0.05, coach=coach, **more)


def play(game: EnvironmentGame, *held: int) -> None:
    for keys in held:
        game.advance(1, [keys])


def require_whole(folder: Path, info: DatasetInfo, *episodes: Episode) -> None:
    writer = DatasetWriter(folder, info)
    for episode in episodes:
        writer.write(episode)
    assert verify(folder, replay=True)[1] == []


def test_a_game_goes_back_by_its_seed_and_actions(tmp_path: Path) -> None:
    spec = EnvironmentSpec("CartPole-v1")
    env, policy = spec.make(render_mode="rgb_array"), untrained(spec)
    game = game_of(env, policy, back=3)
    play(game, ACTS, ACTS, ACTS, 1, 2, 1)
    before = [*game.play.observations]
    line = game.go_back()
    assert line is not None
    assert line.actors is not None
    assert line.actors.tolist() == [POLICY] * 3 + [PERSON] * 3
    assert np.array_equal(game.play.observations, before[:4])
    play(game, NOBODY)
    assert len(game.play.actions) == 3  # it waits for a key
    play(game, 1, 0, 0, ACTS)  # an environment without an action for no key waits, too
    branch = game.episode()
    assert branch.branch is not None
    assert (branch.branch.step, branch.origin.game) == (3, 1)
    assert differences_of_branch(branch, line) is None
    asked = policy.probabilities(branch.observations[:-1])
    assert np.array_equal(branch.policy_probabilities, asked)  # type: ignore[arg-type]
    own = branch.actors == POLICY
    assert np.array_equal(branch.behaviour_probabilities[own], asked[own])
    assert not game.played
    assert game.go_back() is None  # all of it is in an episode
    info = DatasetInfo(spec, policy.observation, policy.actions)
    assert repeats_games(env, info)
    require_whole(tmp_path / "data", info, line, branch)


def test_a_policy_with_a_memory_remembers_what_the_person_did(
    alternating: Callable[[EnvironmentSpec], Policy],
) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": 2})
    policy = alternating(spec)
    game = game_of(spec.make(render_mode="rgb_array"), policy, back=6)
    play(game, *[ACTS] * 10, 3, 3, *[ACTS] * 5)
    game.go_back()
    play(game, 5, *[ACTS] * 8)
    episode = game.episode()
    state = policy.initial_state(1)
    for row in range(len(episode)):
        expected, state = policy.step(episode.observations[row][None], state)
        assert np.array_equal(expected[0], episode.policy_probabilities[row])  # type: ignore[index]
        state = policy.feed(state, episode.actions[row : row + 1], episode.rewards[row : row + 1])


def test_a_policy_of_qwop_that_sees_pictures_is_corrected_with_every_key_recorded(tmp_path: Path) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"observation": "pixels", "size": 36, "stack": 3, "frames_per_step": 2})
    policy = untrained(spec)
    game = game_of(spec.make(render_mode="rgb_array", max_idle_frames=9), policy, back=8)
    play(game, *[ACTS] * 9, 3, 3, *[ACTS] * 9)
    line = game.go_back()
    assert line is not None
    play(game, 5, *[ACTS] * 20)
    branch = game.episode()
    assert (branch.outcome, line.outcome) == ("stopped", "stopped")
    assert branch.keys is not None
    require_whole(tmp_path / "data", DatasetInfo(spec, policy.observation, policy.actions), line, branch)
    file = save_policy(tmp_path / "policy.safetensors", policy)
    settings = RecorderPageSettings(policy=str(file), open=False)
    source = open_source(settings, tmp_path / "more")
    assert source.info.environment == spec
    assert source.finish() == []


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
    env, spec = Changing(), EnvironmentSpec("CartPole-v1")
    policy = untrained(spec, ObservationSpec((1,)))
    reported: list[str] = []
    game = game_of(env, policy, back=3, report=reported.append)
    play(game, ACTS, ACTS, 1, 2, ACTS, ACTS)
    played = game.so_far()
    assert played is not None
    env.change = change
    assert game.go_back() is None
    assert why in game.result()["problem"]
    assert why in reported[0]
    assert game.over
    assert game.played
    kept = game.episode()
    assert kept.truncated
    assert np.array_equal(kept.observations, played.observations)
    assert np.array_equal(kept.actions, played.actions)
    assert kept.branch is None


class Page:
    """Does what the page does, without a browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.number, self.total = socket, 0, 0.0
        self.ended: dict[str, Any] | None = None

    def send(self, kind: str, **more: Any) -> None:
        """Send a message, and take what is said until nothing comes."""
        self.number += kind in ("start", "back")
        self.socket.send(json.dumps({"type": kind, "game": self.number, **more}))
        with suppress(TimeoutError):
            while True:
                message = self.socket.recv(timeout=0.3)
                if isinstance(message, bytes):
                    self.total = float(np.frombuffer(message[:12], "<f4")[2])
                elif (said := json.loads(message))["type"] == "ended":
                    self.ended = said

    def keys(self, *held: int) -> None:
        self.send("keys", keys=held)


@pytest.fixture
def recording(make_recorder: Callable[..., Any], cartpole: Path) -> Any:
    return make_recorder(EnvironmentPageSettings(id="CartPole-v1", policy=str(cartpole), open=False, back=0.1))


@pytest.fixture
def cartpole(tmp_path: Path) -> Path:
    return save_policy(tmp_path / "policy.safetensors", untrained(EnvironmentSpec("CartPole-v1")))


def test_policy_and_person_play_by_turns_over_the_connection(recording: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    may_write, write = threading.Event(), GameWriter.write
    monkeypatch.setattr(GameWriter, "write", lambda *given: may_write.wait(60) and write(*given))
    with recording.page() as socket:
        page = Page(socket)
        page.send("start")
        page.keys(ACTS, ACTS, ACTS, 1, 2, 1)
        assert page.total == 6
        page.send("back")  # before the line that is left is written
        assert page.total == 3
        may_write.set()
        page.keys(NOBODY, NOBODY)
        assert page.total == 3
        page.keys(1)
        assert page.total == 4
    recording.stop()
    games = open_dataset(recording.folder)
    assert [None if game.branch is None else game.branch.step for game in games] == [None, 3]
    assert not [*recording.folder.glob("aside/under-way-*")]


def test_one_goes_back_from_the_end_but_not_in_a_game_that_was_discarded(recording: Any) -> None:
    with recording.page() as socket:
        page = Page(socket)
        page.send("start")
        page.keys(*[1] * 30)
        assert page.ended is not None
        total = page.total
        page.send("back")
        assert page.total < total
        page.keys(NOBODY, *[1] * 30)
        total = page.total
        page.socket.send(json.dumps({"type": "discard", "name": page.ended["name"]}))
        assert json.loads(page.socket.recv(timeout=10))["type"] == "discarded"
        # A killed recorder's successor would record it again.
        assert not [*recording.folder.rglob("*.partial")]
        page.send("back")
        assert page.total == total
        page.send("start")
        assert page.total == 0
    recording.wait_for_games(1)
