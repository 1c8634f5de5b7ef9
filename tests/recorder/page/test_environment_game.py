"""Games of other environments on their page, alone or with a policy, over a WebSocket client."""

import itertools
import json
import re
import socket
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from PIL import Image
from qwop.datasets import Episode, open_dataset
from qwop.datasets.control import PERSON, POLICY
from qwop.datasets.origin import Origin
from qwop.datasets.schema import DatasetInfo
from qwop.datasets.verify import differences_of_branch, verify
from qwop.envs.foreign import CheckedEnvironment
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.recorder.game_writer import GameWriter
from qwop.recorder.main import open_source
from qwop.recorder.page.environment_game import Coach, EnvironmentGame
from qwop.recorder.page.messages import NOBODY
from qwop.recorder.page.messages import POLICY_ACTS as ACTS
from qwop.recorder.settings import EnvironmentPageSettings, RecorderPageSettings
from qwop.recorder.source import Identity
from websockets.exceptions import ConnectionClosed

from ...fakes import dataset_of, registered, untrained
from .scripted import Endless, Page

LEFT, RIGHT = 1, 2  # bits, in the order of the environment's keys
CARTPOLE = EnvironmentSpec("CartPole-v1")
INFO = DatasetInfo(EnvironmentSpec("Any-v0"), ObservationSpec((2,)), 2)


def settings_of(id: str, **more: Any) -> EnvironmentPageSettings:
    return EnvironmentPageSettings(id=id, open=False, **more)


@pytest.fixture
def cartpole(make_recorder: Callable[..., Any]) -> Any:
    return make_recorder(settings_of("CartPole-v1"))


def again(episode: Episode, env: gymnasium.Env[Any, Any]) -> list[Any]:
    """The observations of the same seed and actions."""
    return [env.reset(seed=episode.seed)[0], *(env.step(action)[0] for action in episode.actions.tolist())]


def test_a_game_is_shown_in_pictures_and_recorded_so_that_its_seed_and_actions_play_it_again(cartpole: Any) -> None:
    with cartpole.page() as connection:
        page = Page(connection)
        page.send("start")
        assert (page.picture.shape, page.frame, page.total) == ((400, 600, 3), 0, 0)
        page.keys(*[RIGHT] * 40)
        assert (page.result["name"][:14], page.result["outcome"]) == ("episode-000000", "terminated")
        episode = open_dataset(cartpole.folder)[0]
        assert page.frame == page.result["steps"] == len(episode) < 40
        assert page.total == page.result["total"] == episode.rewards.sum()
    assert (episode.player, episode.source, episode.keys, episode.mu) == ("me", "page", None, "smoothed(0.05)")
    np.testing.assert_allclose(episode.behaviour_probabilities[0], [0.025, 0.975])
    env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    np.testing.assert_array_equal(episode.observations, again(episode, env))
    np.testing.assert_array_equal(page.picture, env.render())


def test_without_an_action_for_no_key_the_game_waits_for_a_key(cartpole: Any) -> None:
    with cartpole.page() as connection:
        page = Page(connection)
        page.send("start")
        page.keys(0, 0, 0)
        assert (page.frame, page.total, page.image) == (3, 0.0, b"")
        page.keys(LEFT, 0)
        assert (page.frame, page.total) == (5, 1.0)
    cartpole.wait_for_games(1)
    assert open_dataset(cartpole.folder)[0].actions.tolist() == [0]


def test_a_game_that_is_left_or_whose_connection_breaks_off_is_kept_as_truncated(cartpole: Any) -> None:
    with cartpole.page() as connection:
        page = Page(connection)
        page.send("start")
        page.send("start")
        page.keys(*[LEFT] * 3)
        page.send("start")
        page.keys(*[RIGHT] * 2)
        connection.socket.shutdown(socket.SHUT_RDWR)
        cartpole.wait_for_games(2)
    episodes = list(open_dataset(cartpole.folder))
    assert [len(episode) for episode in episodes] == [3, 2]
    assert all(episode.truncated and episode.outcome == "truncated" for episode in episodes)


def test_a_second_page_is_refused_until_the_first_is_closed(cartpole: Any) -> None:
    with cartpole.page() as connection:
        Page(connection).send("start")
        with cartpole.page() as second, pytest.raises(ConnectionClosed, match="1013"):
            second.recv(timeout=10)
    with cartpole.page() as third:
        page = Page(third)
        page.send("start")
        page.keys(LEFT)
    cartpole.wait_for_games(1)


def broken(decisions: int) -> Any:
    raise RuntimeError("of the environment")


@pytest.mark.parametrize(
    ("method", "at_four", "message"),
    [
        (
            "see",
            lambda n: np.array([1, np.inf], np.float32),
            r"after decision 4 of a game, its observation\[1\] is inf",
        ),
        ("pay", broken, "of the environment"),
    ],
)
def test_a_game_whose_environment_fails_is_kept_up_to_then(method: str, at_four: Any, message: str) -> None:
    usual = {"see": lambda n: np.full(2, n, np.float32), "pay": lambda n: 1.0}[method]
    env = Endless(**{method: lambda n: at_four(n) if n == 4 else usual(n)})
    game = EnvironmentGame(CheckedEnvironment(env, "Any-v0()"), number_of, INFO, "me", 0.05)
    game.advance([1] * 9)
    episode = game.episode()
    assert game.over
    assert (len(episode), episode.terminated, episode.truncated) == (3, False, True)
    assert episode.observations[:, 0].tolist() == [0, 1, 2, 3]
    assert re.search(message, game.result()["problem"])


def test_grey_pictures_are_shown() -> None:
    env = Endless()
    for env.shape in ((8, 8), (8, 8, 1)):
        game = EnvironmentGame(env, number_of, INFO, "me", 0.05)
        np.testing.assert_array_equal(Image.open(BytesIO(game.picture())), np.arange(64).reshape(8, 8))


def test_an_environment_that_cannot_be_reset_is_told_in_the_terminal(
    make_recorder: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    games = itertools.count()

    def closing(decisions: int) -> Any:
        if next(games) > 2:  # the first by the recorder
            raise RuntimeError("モーター" * 30)
        return np.zeros(2, np.float32)

    with registered(Endless, see=closing) as id, make_recorder(settings_of(id)).page() as connection:
        page = Page(connection)
        page.send("start")
        page.send("start")
        with pytest.raises(ConnectionClosed, match=r"environment Endless-v0.*its reset failed"):
            page.send("start")
    assert "environment Endless-v0(): its reset failed (RuntimeError: モーター" in capsys.readouterr().out


def number_of(held: int) -> int | None:
    """The action that is held as its number plus 1."""
    return held - 1 if held else None


def coached(env: gymnasium.Env[Any, Any], policy: Policy, back: int) -> EnvironmentGame:
    info = DatasetInfo(policy.environment, policy.observation, policy.actions)
    coach = Coach(policy, Identity("a policy", Origin(seed=0), None), itertools.count(), back)
    return EnvironmentGame(env, number_of, info, "me", 0.05, coach=coach)


def require_whole(folder: Path, policy: Policy, *episodes: Episode) -> None:
    info = DatasetInfo(policy.environment, policy.observation, policy.actions)
    assert verify(dataset_of(folder, info, *episodes).folder, replay=True)[1] == []


def test_a_game_goes_back_by_its_seed_and_actions(tmp_path: Path) -> None:
    env, policy = CARTPOLE.make(render_mode="rgb_array"), untrained(CARTPOLE)
    game = coached(env, policy, back=3)
    game.advance([ACTS, ACTS, ACTS, 1, 2, 1])
    before = [*game.observations]
    line = game.go_back()
    assert line is not None
    assert line.actors is not None
    assert line.actors.tolist() == [POLICY] * 3 + [PERSON] * 3
    assert np.array_equal(game.observations, before[:4])
    game.advance([NOBODY])
    assert len(game.actions) == 3  # it waits for a key
    game.advance([1, 0, 0, ACTS])  # an environment without an action for no key waits, too
    branch = game.episode()
    assert branch.branch is not None
    assert (branch.branch.step, branch.origin.game) == (3, 1)
    assert differences_of_branch(branch, line) is None
    probabilities = policy.probabilities(branch.observations[:-1])
    assert np.array_equal(branch.policy_probabilities, probabilities)  # type: ignore[arg-type]
    own = branch.actors == POLICY
    assert np.array_equal(branch.behaviour_probabilities[own], probabilities[own])
    assert not game.to_record
    assert game.go_back() is None  # all of it is in an episode
    assert game.go_back() is None  # nothing is its own
    game.advance([1])
    earlier = game.episode()
    assert earlier.branch is not None
    assert earlier.branch.step == 0  # it leaves the line where going back twice arrived
    require_whole(tmp_path / "data", policy, line, branch, earlier)


def test_a_policy_with_a_memory_remembers_what_the_person_did(
    alternating: Callable[[EnvironmentSpec], Policy],
) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": 2})
    policy = alternating(spec)
    game = coached(spec.make(render_mode="rgb_array"), policy, back=6)
    game.advance([*[ACTS] * 10, 3, 3, *[ACTS] * 5])
    game.go_back()
    game.advance([5, *[ACTS] * 8])
    episode = game.episode()
    state = policy.initial_state(1)
    for row in range(len(episode)):
        expected, state = policy.step(episode.observations[row][None], state)
        assert np.array_equal(expected[0], episode.policy_probabilities[row])  # type: ignore[index]
        state = policy.feed(state, episode.actions[row : row + 1], episode.rewards[row : row + 1])


def test_a_policy_of_qwop_that_sees_pictures_is_corrected_with_every_key_recorded(tmp_path: Path) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"observation": "pixels", "size": 36, "stack": 3, "frames_per_step": 2})
    policy = untrained(spec)
    game = coached(spec.make(render_mode="rgb_array", max_idle_frames=9), policy, back=8)
    game.advance([*[ACTS] * 9, 3, 3, *[ACTS] * 9])
    line = game.go_back()
    assert line is not None
    game.advance([5, *[ACTS] * 20])
    branch = game.episode()
    assert (branch.outcome, line.outcome) == ("stopped", "stopped")
    assert branch.keys is not None
    require_whole(tmp_path / "data", policy, line, branch)
    file = save_policy(tmp_path / "policy.safetensors", policy)
    source = open_source(RecorderPageSettings(policy=str(file), open=False), tmp_path / "more")
    assert source.info.environment == spec
    source.finish()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"see": lambda n: np.ones(2, np.float32)}, "another game"),
        ({"length": 2}, "another game"),
        ({"see": broken}, "of the env"),
    ],
)
def test_a_game_that_cannot_go_back_is_kept_as_it_was_played(change: Any, why: str) -> None:
    policy = Policy(ActorCritic(ObservationSpec((2,)), 2, (16,)), CARTPOLE, ObservationSpec((2,)))
    env = Endless()
    game = coached(env, policy, back=3)
    game.advance([ACTS, ACTS, 1, 2, ACTS, ACTS])
    before = game.so_far()
    assert before is not None
    vars(env).update(change)
    assert game.go_back() is None
    assert why in game.result()["problem"]
    assert game.over
    assert game.to_record
    episode = game.episode()
    assert episode.truncated
    assert np.array_equal(episode.observations, before.observations)
    assert np.array_equal(episode.actions, before.actions)
    assert episode.branch is None


@pytest.fixture
def recording(make_recorder: Callable[..., Any], tmp_path: Path) -> Any:
    file = save_policy(tmp_path / "policy.safetensors", untrained(CARTPOLE))
    return make_recorder(settings_of("CartPole-v1", policy=str(file), back=0.1))


def test_policy_and_person_play_by_turns_over_the_connection(recording: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    may_write, write = threading.Event(), GameWriter.write
    monkeypatch.setattr(GameWriter, "write", lambda *given: may_write.wait(60) and write(*given))
    with recording.page() as connection:
        page = Page(connection)
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


def test_one_goes_back_from_the_end_and_a_game_that_was_discarded_leaves_no_copy(recording: Any) -> None:
    with recording.page() as connection:
        page = Page(connection)
        page.send("start")
        page.keys(*[1] * 30)
        name, total = page.result["name"], page.total
        page.send("back")
        assert page.total < total
        page.keys(NOBODY, *[1] * 30)
        connection.send(json.dumps({"type": "discard", "name": name}))
        assert json.loads(connection.recv(timeout=10))["type"] == "discarded"
        # A killed recorder's successor would record it again.
        assert not [*recording.folder.rglob("*.partial")]
    recording.wait_for_games(1)
