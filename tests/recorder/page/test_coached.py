"""Lines of coached games, played by the page's scripts, as the recorder checks and keeps them."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import Episode
from qwop.datasets.control import PERSON, POLICY
from qwop.datasets.from_keys import replay_episode
from qwop.datasets.verify import differences_of_branch, verify
from qwop.envs.qwop.session import GameStart
from qwop.envs.spec import EnvironmentSpec
from qwop.play.site import acting_part
from qwop.policies.champion import policy_path
from qwop.policies.files import load_policy, save_policy
from qwop.policies.policy import choose
from qwop.recorder.page.coached_lines import Lines, uniform_number
from qwop.recorder.page.messages import Frames, Line, parse
from qwop.recorder.settings import RecorderPageSettings

from ...fakes import dataset_of
from ...play.test_policy import NETWORKS, made
from .node import in_node

GAMES = "coached_games.js"

Move = tuple[Any, ...]
MOVES: list[Move] = [
    ("keys", 0, 40), ("keys", 9, 7), ("keys", 0, 30), ("back",), ("keys", 0, 5), ("keys", 6, 8), ("keys", 0, 40),
    ("hand over",), ("keys", 0, 6), ("keys", 5, 4), ("back",), ("back",), ("hand over",), ("keys", 0, 4),
    ("hand over",), ("keys", 0, 200), ("back",), ("keys", 4, 100), ("back",), ("hand over",), ("keys", 0, 3),
    ("new",), ("keys", 0, 45),
]  # fmt: skip


class Coached:
    """Games of a policy that a person corrects. file: its path, or champion."""

    def __init__(self, file: str, folder: Path, **settings: Any) -> None:
        self.settings = RecorderPageSettings(policy=file, **settings)
        self.policy, self.folder = load_policy(file), folder
        self.lines = Lines(self.settings, self.policy, folder)
        self.info = self.lines.info

    def play(self, moves: list[Move] = MOVES, page: int = 3) -> Any:
        assert self.settings.policy is not None
        file = base64.b64encode(acting_part(policy_path(self.settings.policy))).decode()
        told = {name: getattr(self.settings, name) for name in ("release", "back", "greedy")}
        more = {"key": [self.settings.seed, page], "idle": self.settings.max_idle_frames}
        return in_node(GAMES, "linesOf", file, told | more, moves)

    def episode(self, line: Any, **changed: Any) -> Episode:
        """The episode of a line as the page sends it."""
        line = {**line, **changed}
        parts = {name: line[name] for name in ("game", "place", "frames", "decisions")}
        whole = parse(json.dumps({"type": "frames", "player": "ada", "tempo": 1, "at": 0, **parts}))
        assert isinstance(whole, Frames)
        assert whole.place is not None
        keys = np.array(line["frames"], dtype=np.uint8)
        played = GameStart().session().play(keys)
        return self.lines.episode(
            whole.game, whole.place, whole.decisions, keys, played, player=whole.player, epsilon=0.05
        )


def require_whole(folder: Path, coached: Coached, episodes: list[Episode]) -> None:
    """The lines verify by replay, branches as their parents."""
    assert verify(dataset_of(folder, coached.info, *episodes).folder, replay=True)[1] == []


def test_lines_of_the_page_are_kept_with_its_probabilities(tmp_path: Path) -> None:
    coached = Coached("champion", tmp_path / "data", back=1, release=0.3, seed=5)
    found = coached.play()
    assert found["same"]
    assert all(found["same"])
    episodes = [coached.episode(line) for line in found["lines"]]
    assert len(episodes) >= 5
    assert [episode.origin.game for episode in episodes] == [*range(len(episodes))]
    assert [None if one.branch is None else one.branch.game for one in (*episodes[:2], episodes[-1])] == [None, 0, None]
    for line, episode in zip(found["lines"], episodes, strict=True):
        assert replay_episode(episode).sha256 == line["sha256"]
        assert episode.actors is not None
        sent = np.array([odds for *_, odds in line["decisions"]], dtype=np.float32)
        own = episode.actors == POLICY
        assert np.array_equal(episode.behaviour_probabilities[own], sent[own])
        assert np.array_equal(episode.policy_probabilities, sent)  # type: ignore[arg-type]
        assert (episode.behaviour_probabilities[~own].max(axis=1) > 0.95).all()
        if episode.branch is not None:
            assert differences_of_branch(episode, episodes[episode.branch.game]) is None
    assert {PERSON, POLICY} <= {*np.concatenate([one.actors for one in episodes]).tolist()}  # type: ignore[misc]
    assert episodes[0].mu == "mixed(0.05)"
    require_whole(tmp_path / "data", coached, episodes)
    later = Coached("champion", tmp_path / "data", back=1, release=0.3, seed=5)
    assert later.lines.for_page()["key"] == [5, len(episodes)]
    assert later.episode(found["lines"][1]).origin.game == 1  # sent again by the page


def test_a_key_released_just_before_going_back_begins_nothing(tmp_path: Path) -> None:
    coached = Coached("champion", tmp_path, back=1, release=0.3, seed=5)
    moves: list[Move] = [("keys", 0, 60), ("tap", 1), ("back",), ("keys", 0, 40)]
    assert len(coached.play(moves)["lines"]) == 1
    assert len(coached.play([*moves, ("keys", 1, 40)])["lines"]) == 2


@pytest.mark.parametrize(
    ("name", "seed", "settings", "sharpness", "greedy"),
    [
        ("actor-critic", 1, {"frames_per_step": 4, "observation_lag": 1}, 1.0, False),
        ("actor", 5, {"frames_per_step": 2, "observation": "full"}, 3.5, False),
        ("valued-actor", 4, {"frames_per_step": 1, "observation": "contact", "observation_lag": 1}, 0.5, True),
    ],
)
def test_networks_sharpness_lag_and_greedy_play_hold_in_the_page(
    tmp_path: Path, name: str, seed: int, settings: dict[str, Any], sharpness: float, greedy: bool
) -> None:
    policy = replace(made(name, EnvironmentSpec("QWOP-v1", settings), NETWORKS[name], seed), sharpness=sharpness)
    file = save_policy(tmp_path / "policy.safetensors", policy)
    coached = Coached(str(file), tmp_path / "data", back=0.5, greedy=greedy, max_idle_frames=5)
    episodes = [coached.episode(line) for line in coached.play()["lines"]]
    require_whole(tmp_path / "data", coached, episodes)
    for episode in episodes:
        assert episode.actors is not None
        asked = policy.probabilities(episode.observations[:-1])
        np.testing.assert_allclose(episode.policy_probabilities, asked, atol=1e-5)  # type: ignore[arg-type]
        mine = episode.behaviour_probabilities[episode.actors == POLICY]
        assert (mine.max(axis=1) == 1).all() == greedy


def first_of(line: Any, actor: int) -> int:
    return next(row for row, decision in enumerate(line["decisions"]) if decision[1] == actor)


def changed(line: Any, row: int, **fields: Any) -> Any:
    """The decisions of a line, one of them with other fields."""
    places = {"frame": 0, "actor": 1, "action": 2, "number": 3, "odds": 4}
    decisions = [[*decision] for decision in line["decisions"]]
    for name, value in fields.items():
        decisions[row][places[name]] = value
    return decisions


def test_a_line_that_is_not_the_policys_is_refused(tmp_path: Path) -> None:
    coached = Coached("champion", tmp_path / "data", max_idle_frames=0)
    line = coached.play([("keys", 0, 300), ("keys", 9, 6)])["lines"][0]
    coached.episode(line)
    row = min(range(50), key=lambda row: max(line["decisions"][row][4]))  # where the draw matters most
    _, _, action, number, odds = line["decisions"][row]
    asked = np.array([odds], dtype=np.float32)
    place = Line(**line["place"])

    def drawn(number: int) -> int:
        return int(choose(asked, np.array([uniform_number(0, place, number)]))[0][0])

    other_number = next(other for other in range(1000) if drawn(other) != action)
    near = [odds[0] + 3e-5, *odds[1:]]
    wrong = {
        "does not follow": changed(line, row, number=other_number),
        "other ones than PyTorch's": changed(line, row, odds=near),
        "decision 2 are other": changed(line, 1, odds=odds),
        "not in the order": line["decisions"][::-1],
        "no decision": [],
        "other keys than": changed(line, first_of(line, PERSON), actor=POLICY, action=action, number=number),
    }
    for why, decisions in wrong.items():
        with pytest.raises(BadInput, match=why):
            coached.episode(line, decisions=decisions)
    for settings in ({"seed": 1}, {"greedy": True}):
        with pytest.raises(BadInput, match="does not follow"):
            Coached("champion", tmp_path / "data", max_idle_frames=0, **settings).episode(line)


def test_draws_are_the_recorders_and_choices_those_of_the_policies() -> None:
    counters = [[0, 0], [1, 0], [0, 1], [12_345, 678]]
    for key in ([0, 0], [7, 3], [2**32 - 1, 2**31]):
        wanted = [
            uniform_number(key[0], Line(page=key[1], game=game, of=None, step=0), number) for number, game in counters
        ]
        assert all(0 <= number < 1 for number in wanted)
        assert in_node(GAMES, "draws", key, counters) == wanted
    random = np.random.default_rng(1)
    odds = random.dirichlet(np.full(11, 0.2), size=200).astype(np.float32)
    numbers = np.concatenate([random.random(197), [0.0, 1 - 2.0**-52, 0.5]])
    assert in_node(GAMES, "choices", odds.tolist(), numbers.tolist()) == choose(odds, numbers)[0].tolist()


HAND_OVER, WAIT = "handOver", "wait"

CASES: dict[str, tuple[int, list[Any], list[int | None]]] = {
    "a pressed key takes over at once, and letting go gives back":
        (2, [0, 4, 0, 0, 0, 0], [POLICY, PERSON, PERSON, PERSON, POLICY, POLICY]),
    "a key in between keeps control":
        (2, [1, 0, 0, 2, 0, 0, 0], [PERSON] * 6 + [POLICY]),
    "control that was taken without a key waits for the first":
        (1, [(HAND_OVER, 0), 0, 0, 0, 1, 0, 0], [PERSON] * 5 + [POLICY]),
    "the policy keeps control from keys that are still held":
        (1, [5, (HAND_OVER, 5), 5, 1, 0, 1], [PERSON, POLICY, POLICY, POLICY, PERSON]),
    "another key takes over while the first is held":
        (1, [1, (HAND_OVER, 1), 1, 3], [PERSON, POLICY, PERSON]),
    "after going back the game waits for a key":
        (5, [(WAIT, 0), 0, 0, 8], [None, None, PERSON]),
    "as the runner falls, one has keys down":
        (5, [(WAIT, 4), 4, 4, 12, (WAIT, 4), 4, 0, 4], [None, None, PERSON, None, None, PERSON]),
    "a game that waits is handed over":
        (5, [(WAIT, 0), 0, (HAND_OVER, 0), 0], [None, PERSON]),
}  # fmt: skip
"""Frames without a key after which the policy has control again; what happens, a number being the keys held in a frame;
who acts in these frames."""


@pytest.mark.parametrize(("release", "moves", "actors"), CASES.values(), ids=CASES)
def test_who_acts_in_each_frame(release: int, moves: list[Any], actors: list[int | None]) -> None:
    assert in_node(GAMES, "controlled", release, moves) == actors
