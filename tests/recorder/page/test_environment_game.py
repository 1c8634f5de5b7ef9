"""The page's server with games of other environments, over a WebSocket client."""

import json
import re
import socket
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from PIL import Image
from qwop.datasets import open_dataset
from qwop.datasets.schema import DatasetInfo
from qwop.envs.capabilities import NONE
from qwop.envs.foreign import CheckedEnvironment
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.recorder.page.environment_game import EnvironmentGame
from qwop.recorder.page.environment_keys import KeyMap, key_map
from qwop.recorder.page.environment_source import open_environment
from qwop.recorder.settings import EnvironmentPageSettings
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

LEFT, RIGHT = 1, 2
FIRE, ATARI_RIGHT = 2, 4  # bits, in the order of the environment's keys


def settings_of(id: str) -> EnvironmentPageSettings:
    return EnvironmentPageSettings(id=id, open=False)


@pytest.fixture
def cartpole(make_recorder: Callable[..., Any]) -> Any:
    return make_recorder(settings_of("CartPole-v1"))


def picture(data: Any) -> tuple[int, int, float, bytes]:
    game, last, total = np.frombuffer(data[:12], "<f4")
    return int(game), int(last), float(total), data[12:]


def start(connection: ClientConnection, number: int) -> bytes:
    connection.send(json.dumps({"type": "start", "game": number}))
    game, last, total, image = picture(connection.recv(timeout=10))
    assert (game, last, total) == (number, 0, 0)
    return image


def send(connection: ClientConnection, number: int, keys: list[int]) -> tuple[int, int, float, bytes]:
    connection.send(json.dumps({"type": "keys", "game": number, "keys": keys}))
    return picture(connection.recv(timeout=10))


def test_a_game_is_shown_in_pictures_and_recorded_so_that_its_seed_and_actions_play_it_again(cartpole: Any) -> None:
    with cartpole.page() as connection:
        assert Image.open(BytesIO(start(connection, 1))).size == (600, 400)
        shown = send(connection, 1, [RIGHT] * 40)
        ended = json.loads(connection.recv(timeout=10))
    episode = open_dataset(cartpole.folder)[0]
    assert (ended["type"], ended["name"][:14], ended["outcome"]) == ("ended", "episode-000000", "terminated")
    assert shown[1] == ended["steps"] == len(episode) < 40
    assert shown[2] == ended["total"] == episode.rewards.sum()
    assert (episode.player, episode.source, episode.keys) == ("me", "page", None)
    assert episode.mu == "smoothed(0.05)"
    np.testing.assert_allclose(episode.behaviour_probabilities[0], [0.025, 0.975])
    env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    observations = [env.reset(seed=episode.seed)[0], *(env.step(action)[0] for action in episode.actions.tolist())]
    np.testing.assert_array_equal(episode.observations, observations)
    np.testing.assert_array_equal(np.asarray(Image.open(BytesIO(shown[3]))), env.render())


def test_without_a_default_action_the_game_waits_for_a_key(cartpole: Any) -> None:
    with cartpole.page() as connection:
        start(connection, 1)
        assert send(connection, 1, [0, 0, 0]) == (1, 3, 0.0, b"")
        assert send(connection, 1, [LEFT, 0])[:3] == (1, 5, 1.0)
    cartpole.wait_for_games(1)
    assert open_dataset(cartpole.folder)[0].actions.tolist() == [0]


def test_a_game_that_is_left_or_whose_connection_breaks_off_is_kept_as_truncated(cartpole: Any) -> None:
    with cartpole.page() as connection:
        start(connection, 1)
        start(connection, 2)
        send(connection, 2, [LEFT] * 3)
        start(connection, 3)
        send(connection, 3, [RIGHT] * 2)
        connection.socket.shutdown(socket.SHUT_RDWR)
        cartpole.wait_for_games(2)
    episodes = list(open_dataset(cartpole.folder))
    assert [len(episode) for episode in episodes] == [3, 2]
    assert all(episode.truncated and episode.outcome == "truncated" for episode in episodes)


def test_games_are_listed_and_discarded(cartpole: Any) -> None:
    with cartpole.page() as connection:
        start(connection, 1)
        send(connection, 1, [RIGHT] * 40)
        ended = json.loads(connection.recv(timeout=10))
        listed = json.loads(cartpole.get("games.json")[1])
        (game,) = listed["games"]
        assert (game["name"], game["total"], game["steps"]) == (ended["name"], ended["total"], ended["steps"])
        connection.send(json.dumps({"type": "discard", "name": ended["name"]}))
        assert json.loads(connection.recv(timeout=10))["type"] == "discarded"
    assert json.loads(cartpole.get("games.json")[1])["games"] == []


def test_the_page_and_its_parts_are_served_and_nothing_else(cartpole: Any) -> None:
    status, page = cartpole.get("")
    assert status == 200
    assert b'src="environment.js"' in page
    for name in re.findall(rb'(?:href|src)="([\w.]+)"', page):
        assert cartpole.get(name.decode())[0] == 200, name
    for other in ("nothing", "../server.py", "static/page.css", "games/own/episode-000007.bin", "tiles/x.png"):
        assert cartpole.get(other)[0] == 404, other


@pytest.mark.parametrize("held", [4, -1])  # a third key; that a policy acts
def test_keys_that_the_environment_does_not_have_and_second_pages_are_refused(cartpole: Any, held: int) -> None:
    with cartpole.page() as connection:
        start(connection, 1)
        with cartpole.page() as second, pytest.raises(ConnectionClosed, match="1013"):
            second.recv(timeout=10)
        connection.send(json.dumps({"type": "keys", "game": 1, "keys": [held]}))
        with pytest.raises(ConnectionClosed, match="1008"):
            connection.recv(timeout=10)


@pytest.mark.needs(module="Box2D")
def test_lunar_lander_falls_by_itself_once_a_key_was_pressed(make_recorder: Callable[..., Any]) -> None:
    recorder = make_recorder(settings_of("LunarLander-v3"))
    with recorder.page() as connection:
        start(connection, 1)
        send(connection, 1, [LEFT] * 2)
        while not [*recorder.folder.glob("episodes/episode-000000-*")]:
            connection.send(json.dumps({"type": "keys", "game": 1, "keys": [0] * 20}))
            connection.recv(timeout=10)
    (episode,) = open_dataset(recorder.folder)
    assert episode.actions[:3].tolist() == [1, 1, 0]
    assert episode.terminated


@pytest.mark.needs(module="ale_py")
def test_pictures_of_an_atari_game_are_recorded_without_loss(make_recorder: Callable[..., Any]) -> None:
    recorder = make_recorder(settings_of("ALE/Breakout-v5"))
    with recorder.page() as connection:
        start(connection, 1)
        send(connection, 1, [FIRE] * 2 + [0] * 8 + [ATARI_RIGHT] * 5)
    recorder.wait_for_games(1)
    (episode,) = open_dataset(recorder.folder)
    env = EnvironmentSpec("ALE/Breakout-v5").make()
    assert episode.actions.tolist() == [1] * 2 + [0] * 8 + [2] * 5
    seen = [env.reset(seed=episode.seed)[0], *(env.step(action)[0] for action in episode.actions.tolist())]
    env.close()
    np.testing.assert_array_equal(episode.observations, seen)
    (file,) = recorder.folder.glob("episodes/episode-*.parquet")
    assert file.stat().st_size < episode.observations.nbytes / 20


@pytest.mark.needs(module="ale_py")
def test_keys_of_an_atari_game_mean_its_own_actions_and_no_key_does_nothing() -> None:
    keys = key_map(EnvironmentSpec("ALE/Pong-v5").make(), 6, {}, None)
    assert keys.default == 0
    assert keys.actions == {
        frozenset(["e"]): 0, frozenset(["Space"]): 1, frozenset(["d"]): 2, frozenset(["a"]): 3,
        frozenset(["Space", "d"]): 4, frozenset(["Space", "a"]): 5,
    }  # fmt: skip
    assert (["Space", "d"], "RIGHTFIRE") in keys.help()


def test_a_module_in_front_of_an_id_is_imported_and_not_kept(tmp_path: Path) -> None:
    source = open_environment(EnvironmentPageSettings(id="gymnasium.envs.classic_control:CartPole-v1"), tmp_path)
    assert source.info.environment.id == "CartPole-v1"
    assert source.finish() == []


KEYS = KeyMap({frozenset(["a"]): 1, frozenset(["a", "b"]): 2, frozenset(["c"]): 3}, default=0)


@pytest.mark.parametrize(("held", "action"), [(0, 0), (1, 1), (2, 0), (3, 2), (4, 3), (7, 2), (5, 1)])
def test_the_largest_combination_that_is_held_decides(held: int, action: int) -> None:
    assert KEYS.keys == ["a", "b", "c"]
    assert KEYS.action(held) == action


def test_keys_come_from_the_setting_from_the_environment_or_are_digits() -> None:
    mountain_car = gymnasium.make("MountainCar-v0")
    own = key_map(mountain_car, 3, {}, None)
    assert own.actions == {frozenset(["ArrowLeft"]): 0, frozenset(["ArrowRight"]): 2,
                           frozenset(["ArrowLeft", "ArrowRight"]): 1}  # fmt: skip
    assert own.default == 1
    given = key_map(mountain_car, 3, {"A": 0, "space + arrowup": 2}, 1)
    assert given == KeyMap({frozenset(["a"]): 0, frozenset(["Space", "ArrowUp"]): 2}, 1, own.names)
    blackjack = gymnasium.make("Blackjack-v1")
    assert key_map(blackjack, 2, {}, None) == KeyMap({frozenset(["0"]): 0, frozenset(["1"]): 1}, None)


class Failing(gymnasium.Env[Any, Any]):
    """Gives, at the fourth decision, what no environment may give."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None, observation: Any = None, reward: Any = 1.0) -> None:
        self.render_mode, self._observation, self._reward, self._count = render_mode, observation, reward, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._count = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self._count += 1
        strange = self._count == 4
        if strange and self._reward is None:
            raise RuntimeError("of the environment")
        seen = self._observation if strange and self._observation is not None else np.full(2, self._count, np.float32)
        return seen, self._reward if strange else 1.0, False, False, {}

    def render(self) -> Any:
        return np.zeros((8, 8, 3), np.uint8)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"observation": np.array([1, np.inf], np.float32)},
            r"after decision 4 of a game, its observation\[1\] is inf",
        ),
        ({"observation": np.array([np.nan, 1], np.float32)}, r"its observation\[0\] is nan"),
        ({"observation": np.zeros(3, np.float32)}, r"its observation is float32 \[3\], expected float32 \[2\]"),
        ({"observation": "seen"}, "its observation is <U4"),
        ({"reward": np.inf}, "its reward is inf, expected a finite number"),
        ({"reward": np.ones(3)}, "its reward is .*, expected a finite number"),
        ({"reward": "much"}, "its reward is much, expected a finite number"),
        ({"reward": None}, "of the environment"),
    ],
    ids=repr,
)
def test_a_game_whose_environment_fails_is_kept_up_to_then(settings: dict[str, Any], said: str) -> None:
    env = CheckedEnvironment(Failing("rgb_array", **settings), "Any-v0()", NONE)
    info = DatasetInfo(EnvironmentSpec("Any-v0"), ObservationSpec((2,)), 2)
    lines: list[str] = []
    game = EnvironmentGame(env, KeyMap({frozenset("a"): 1}, None).action, info, "me", 0.05, lines.append)
    game.advance(1, [1] * 9)
    episode = game.episode()
    assert game.over
    assert (len(episode), episode.terminated, episode.truncated) == (3, False, True)
    assert episode.observations[:, 0].tolist() == [0, 1, 2, 3]
    assert len(lines) == 1
    assert lines[0].endswith("; the game is kept up to the 3 decisions before")
    assert game.result()["problem"] in lines[0]
    assert re.search(said, lines[0])


class Grey(Failing):
    """Draws itself without colours."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, channels: tuple[int, ...] = (), **settings: Any) -> None:
        super().__init__(**settings)
        self._channels = channels

    def render(self) -> Any:
        return np.arange(64, dtype=np.uint8).reshape(8, 8, *self._channels)


@pytest.mark.parametrize("channels", [(), (1,)])
def test_grey_pictures_are_shown(channels: tuple[int, ...], tmp_path: Path) -> None:
    gymnasium.register("Grey-v0", Grey, disable_env_checker=True)
    try:
        settings = EnvironmentPageSettings(id="Grey-v0", settings={"channels": channels}, open=False)
        open_environment(settings, tmp_path / "dataset").finish()
        env = EnvironmentSpec("Grey-v0", {"channels": channels}).make(render_mode="rgb_array")
    finally:
        gymnasium.registry.pop("Grey-v0")
    info = DatasetInfo(EnvironmentSpec("Grey-v0"), ObservationSpec((2,)), 2)
    _, _, _, image = picture(EnvironmentGame(env, KeyMap({frozenset("a"): 1}, None).action, info, "me", 0.05).shown(1))
    np.testing.assert_array_equal(np.asarray(Image.open(BytesIO(image))), np.arange(64).reshape(8, 8))


class Closing(Failing):
    """Can be reset three times."""

    resets = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.resets += 1
        if self.resets > 3:  # the first by the recorder
            raise RuntimeError("モーター" * 30)
        return super().reset(seed=seed)


def test_an_environment_that_cannot_be_reset_is_told_in_the_terminal(
    make_recorder: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    gymnasium.register("Closing-v0", Closing, disable_env_checker=True)
    try:
        recorder = make_recorder(settings_of("Closing-v0"))
        with recorder.page() as connection:
            start(connection, 1)
            start(connection, 2)
            connection.send(json.dumps({"type": "start", "game": 3}))
            with pytest.raises(ConnectionClosed, match=r"environment Closing-v0.*its reset failed"):
                connection.recv(timeout=10)
    finally:
        gymnasium.registry.pop("Closing-v0")
    assert "environment Closing-v0(): its reset failed (RuntimeError: モーター" in capsys.readouterr().out


def test_a_reward_may_be_an_array_of_one_number() -> None:
    info = DatasetInfo(EnvironmentSpec("Any-v0"), ObservationSpec((2,)), 2)
    env = CheckedEnvironment(Failing("rgb_array", reward=np.array([2.5])), "Any-v0()", NONE)
    game = EnvironmentGame(env, KeyMap({frozenset("a"): 1}, None).action, info, "me", 0.05)
    game.advance(1, [1] * 5)
    assert game.episode().rewards.tolist() == [1, 1, 1, 2.5, 1]
