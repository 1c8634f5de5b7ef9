"""Atari's games: ale-py's vector form against Gymnasium's wrappers, and what is ours on top of both."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.envs.vector import make_vector

pytestmark = pytest.mark.needs(module="ale_py")

FIRE = 1
BREAKOUT = EnvironmentSpec("ALE/Breakout-v5")


def actions(steps: int, games: int, count: int) -> Any:
    return np.random.default_rng(0).integers(count, size=(steps, games))


def test_both_forms_give_the_observations_of_gymnasiums_wrappers_and_one_the_consoles_pictures() -> None:
    import ale_py

    gymnasium.register_envs(ale_py)
    raw = gymnasium.make("ALE/Pong-v5", frameskip=1, repeat_action_probability=0.0, render_mode="rgb_array")
    plain = gymnasium.wrappers.FrameStackObservation(
        gymnasium.wrappers.AtariPreprocessing(raw, noop_max=0), 4, padding_type="zero"
    )
    spec = EnvironmentSpec("ALE/Pong-v5", {"noop_max": 0, "fire": False})
    vector, single = make_vector(spec, 1), spec.make(render_mode="rgb_array")
    first = plain.reset(seed=0)[0]
    for start in (vector.reset(seed=0)[0][0], single.reset(seed=0)[0]):
        np.testing.assert_array_equal(start, first)
    for (action,) in actions(120, 1, 6):
        observation, reward, *_ = plain.step(action)
        many, rewards, *_ = vector.step(np.array([action]))
        one, *_ = single.step(action)
        np.testing.assert_array_equal([many[0], one], [observation] * 2)
        assert rewards[0] == reward
        np.testing.assert_array_equal(single.render(), plain.render())
    keys = {("e",): 0, (" ",): 1, ("d",): 2, ("a",): 3, ("d", " "): 4, ("a", " "): 5}
    assert single.get_wrapper_attr("get_keys_to_action")() == keys
    names = ["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"]
    assert single.get_wrapper_attr("get_action_meanings")() == names


def test_a_lost_life_ends_an_episode_of_training_while_the_game_goes_on() -> None:
    games, lives, goes_on = make_vector(BREAKOUT, 1, training=True), [], True
    games.reset(seed=0)
    while goes_on:
        *_, terminated, truncated, infos = games.step(np.array([FIRE]))
        assert not truncated.any()
        if terminated[0]:
            lives.append(int(infos["lives"][0]))
            goes_on = bool(infos["game_goes_on"][0])
    assert lives == [4, 3, 2, 1, 0]


def test_obs_type_asks_for_the_environment_as_ale_py_releases_it() -> None:
    spec = EnvironmentSpec("ALE/Pong-v5", {"obs_type": "ram"})
    assert spec.interface()[0] == ObservationSpec((128,), "uint8")
    assert not spec.capabilities.training


def test_games_continue_exactly_where_their_state_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwop.envs.atari.LONGEST_HISTORY", 30)  # then another seed
    spec = EnvironmentSpec("ALE/Breakout-v5", {"size": 36, "time_limit": 0.8})  # 12 decisions
    one, other = (make_vector(spec, 2, idle_limit=6) for _ in range(2))
    one.reset(seed=5)
    chosen = actions(60, 2, 4)
    for number, row in enumerate(chosen[:20]):
        one.step(row)
        if number in (3, 9):
            one.reset(seed=[7 + number, None], options={"reset_mask": np.array([True, False])})
    one.reset(options={"reset_mask": np.array([False, True])})
    state = one.get_state()  # type: ignore[attr-defined]
    expected = [one.step(row) for row in chosen[20:]]
    other.set_state(state)  # type: ignore[attr-defined]
    for row, (*mine, infos) in zip(chosen[20:], expected, strict=True):
        *again, more = other.step(row)
        for its, value in zip([*again, more["lives"]], [*mine, infos["lives"]], strict=True):
            np.testing.assert_array_equal(its, value)
    assert any(step[3].any() for step in expected)
