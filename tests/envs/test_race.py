"""`QWOPRace-v1` as a compiled batch: worlds, events, winners."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.envs import EnvironmentSpec
from qwop.envs.engine import layout as at
from qwop.envs.names import ACTION_KEYS, OUTCOMES
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.race.events import EVENTS, SPARSE, EventCounter, results, weighted
from qwop.envs.race.vector import QWOPRaceVectorEnv
from qwop.policies.champion import keys_path

FALL, FALL_FARTHER = 7, 2
"""Held from the start, op falls after 16 decisions and qp a metre farther after 71."""


def event(infos: dict[str, Any], name: str) -> Any:
    return infos["events"][:, EVENTS.index(name)]


def random_actions(n: int, steps: int, seed: int = 0) -> NDArray[np.int64]:
    generator = np.random.default_rng(seed)
    return np.repeat(generator.integers(0, 11, (-(-steps // 4), n)), 4, axis=0)[:steps]


@pytest.mark.parametrize("observation", ["features", "full", "contact"])
def test_every_runners_world_is_qwops_to_the_bit(observation: str) -> None:
    env = QWOPRaceVectorEnv(4, observation=observation, max_idle_frames=9)
    games = [QWOPEnv(observation=observation) for _ in range(4)]
    seen, infos = env.reset(seed=3)
    size = games[0].observation_space.shape[0]
    idle = infos["idle_frames"].tolist()
    assert idle[0] == idle[1]
    assert idle[2] == idle[3]
    for row, game in enumerate(games):
        first, _ = game.reset(options={"idle_frames": idle[row]})
        assert np.array_equal(first, seen[row, :size])
    over = [False] * 4
    for actions in random_actions(4, 80):
        seen, _, terminated, _, infos = env.step(actions)
        seen = infos.get("final_obs", seen)
        for row, game in enumerate(games):
            if over[row]:
                continue
            mine, _, over[row], _, info = game.step(int(actions[row]))
            assert np.array_equal(mine, seen[row, :size])
            assert all(info[name] == infos[name][row] for name in ("distance", "score", "clock", "time", "frames"))
            assert info["outcome"] == OUTCOMES[infos["outcome"][row]]
            assert terminated[row] or np.array_equal(env.states[row], game.state)
        if terminated.any():
            break
    assert any(over)


def test_a_runner_sees_how_those_behind_it_in_the_race_do_and_whether_they_are_down() -> None:
    spec = EnvironmentSpec("QWOPRace-v1", {"runners": 3})
    names = spec.capabilities.observation_names
    assert names is not None
    assert names[-4:] == ("other1.down", "other2.ahead", "other2.speed", "other2.down")
    env = QWOPRaceVectorEnv(6, runners=3)
    env.reset(seed=0)
    fell = np.zeros(6, bool)
    while not fell.any():
        seen, _, _, _, infos = env.step(np.array([FALL_FARTHER, FALL, 10, 10, 10, 10]))
        fell = infos["outcome"] == OUTCOMES.index("fell")
    torso = env.states[:, at.TORSO]
    for row, order in enumerate([[1, 2], [2, 0], [0, 1], [4, 5], [5, 3], [3, 4]]):
        ahead, speed, down = seen[row, -6:].reshape(2, 3).T
        np.testing.assert_allclose(ahead, (torso[order, 0] - torso[row, 0]) / 10, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(speed, torso[order, 3] / 10, rtol=1e-5, atol=1e-6)
        assert down.tolist() == fell[order].tolist()
    assert fell.tolist() == [False, True, False, False, False, False]


def test_a_race_goes_on_until_everybody_is_down_and_the_farther_fall_wins_once() -> None:
    env = QWOPRaceVectorEnv(2)
    env.reset(seed=0)
    rewards, down, terminated = np.zeros(2), [0], np.zeros(2, bool)
    while not terminated.any():
        _, reward, terminated, truncated, infos = env.step(np.array([FALL, FALL_FARTHER]))
        rewards += reward
        down.append(int((infos["outcome"] != 0).sum()))
    assert terminated.all()
    assert not truncated.any()
    assert {*down} == {0, 1, 2}
    assert infos["distance"][1] > infos["distance"][0] + 0.5
    assert infos["result"].tolist() == [0.0, 1.0]
    assert rewards.tolist() == [-1.0, 1.0]
    _, rewards, _, _, infos = env.step(np.array([FALL, FALL_FARTHER]))
    assert rewards.tolist() == [0.0, 0.0]
    assert infos["result"].tolist() == [0.5, 0.5]


def test_the_champions_game_has_its_events() -> None:
    """The recorded keys run over the hurdle to the finish; the rival stands still for as long as it can."""
    keys = read_keys(keys_path("champion"))
    env = QWOPRaceVectorEnv(2, frames_per_step=1)
    env.reset(seed=0)
    total = np.zeros((2, len(EVENTS)))
    number = {int(bits): action for action, bits in enumerate(ACTION_KEYS)}
    done = False
    for frame in range(3600):
        action = number[int(keys[frame])] if frame < len(keys) else 10
        _, _, terminated, truncated, infos = env.step(np.array([action, 10]))
        total += infos["events"]
        done = bool(infos["outcome"][0] == OUTCOMES.index("finished"))
        if done or terminated.any() or truncated.any():
            break
    assert done
    counted = dict(zip(EVENTS, total[0].tolist(), strict=True))
    assert counted["new_metres"] == pytest.approx(infos["distance"][0], abs=2.0)
    assert (counted["finish"], counted["fall"], counted["hurdle_cleared"], counted["took_lead"]) == (1, 0, 1, 1)
    assert counted["other_foot"] > 20
    assert counted["decision"] == frame + 1
    assert total[1, EVENTS.index("took_lead")] == total[1, EVENTS.index("new_metres")] // 1 == 0
    assert event(infos, "won").tolist() == [0, 0]  # the rival still stands


def touching(integers: Any, row: int, bodies: tuple[int, ...], other: int = at.TRACK) -> None:
    """Made-up contacts of a runner's bodies, beside those that it has."""
    for contact, body in enumerate(bodies, integers[row, at.CONTACT_COUNT]):
        integers[row, [at.ORDER + contact, at.TOUCHING + contact]] = contact, 1
        integers[row, [at.BODY_A + contact, at.BODY_B + contact]] = other, body
    integers[row, at.CONTACT_COUNT] += len(bodies)


def test_touchdowns_are_counted_once_and_the_other_foot_alternates_for_those_who_play() -> None:
    """Left, left again, right, both stay down; then both calves at once, and the torso on the hurdle."""
    counter, names = EventCounter(2), ("left_foot", "right_foot", "other_foot", "knee", "hurdle_hit")
    left, right = (at.LEFT_FOOT,), (at.RIGHT_FOOT,)
    found = []
    for bodies in ((), left, (), left, left + right, left + right, (at.LEFT_CALF, at.RIGHT_CALF)):
        integers = np.zeros((2, at.INTEGERS), dtype=np.int32)
        for row in range(2):
            touching(integers, row, bodies)
            touching(integers, row, (at.TORSO,) if at.LEFT_CALF in bodies else (), at.HURDLE_TOP)
        counter.rho[:] = 0
        counter.add_frame(np.array([True, False]), integers)
        found.append([int(counter.rho[0, EVENTS.index(name)]) for name in names])
        assert not counter.rho[1].any()
    nothing = [0] * 5
    assert found == [
        nothing, [1, 0, 0, 0, 0], nothing, [1, 0, 0, 0, 0], [0, 1, 1, 0, 0], nothing, [0, 0, 0, 2, 1]
    ]  # fmt: skip


def test_one_named_runner_begins_its_race_anew_and_leaves_the_others() -> None:
    env = QWOPRaceVectorEnv(4)
    first, _ = env.reset(seed=0)
    moved = env.step(np.full(4, FALL))[0]
    seen, _ = env.reset(options={"reset_mask": np.array([False, True, False, False])})
    assert np.array_equal(seen[:2], first[:2])
    assert np.array_equal(seen[2:], moved[2:])


def test_a_race_is_stopped_at_its_time_limit_and_the_next_one_begins() -> None:
    env = QWOPRaceVectorEnv(2, time_limit=0.5)
    first, _ = env.reset(seed=0)
    for step in range(5):
        seen, _, terminated, truncated, infos = env.step(np.array([0, 4]))
        assert truncated.tolist() == [step == 4] * 2
    assert not terminated.any()
    assert infos["outcome"].tolist() == infos["final_info"]["outcome"].tolist() == [OUTCOMES.index("stopped")] * 2
    assert infos["result"].tolist() == [0.5, 0.5]
    assert infos["_final_obs"].all()
    assert not np.array_equal(infos["final_obs"], first)
    assert np.array_equal(seen, first)


def test_a_picture_shows_the_runners_side_by_side() -> None:
    env = QWOPRaceVectorEnv(4, render_mode="rgb_array")
    env.reset(seed=0)
    start, _ = env.render()  # of two races
    for _ in range(6):
        env.step(np.array([0, 4, 10, 10]))
    now, _ = env.render()
    half = now.shape[1] // 2
    assert now.shape[0] < 400 < 900 < now.shape[1]
    assert all((now[:300, side] != start[:300, side]).any() for side in (slice(half), slice(half, None)))
    assert QWOPRaceVectorEnv(2).render() is None


def test_a_runner_without_opponents_plays_qwop_and_counts_the_events_of_a_race() -> None:
    """All but those of a rival: who leads, who wins. Its rewards are the weighted events."""
    assert weighted(np.array([0.5, -0.2, 0.8, -1.0]), np.array([2, 1, 0, 0])) == pytest.approx(0.8)
    weights = tuple(range(len(EVENTS)))
    alone = QWOPRaceVectorEnv(2, runners=1, weights=weights)
    raced = QWOPRaceVectorEnv(4)
    assert EnvironmentSpec("QWOPRace-v1", {"runners": 1}).interface() == EnvironmentSpec("QWOP-v1").interface()
    alone.reset(seed=0)
    raced.reset(seed=0)
    rivals = [EVENTS.index(name) for name in ("took_lead", "lost_lead", "won", "lost")]
    counted = np.zeros(len(EVENTS))
    for actions in random_actions(2, 80):
        seen, rewards, terminated, _, infos = alone.step(actions)
        theirs, _, _, _, raced_infos = raced.step(np.repeat(actions, 2))
        if terminated.any():
            seen, theirs = infos["final_obs"], raced_infos.get("final_obs", theirs)
        assert np.array_equal(seen, theirs[::2, :-3])
        assert np.array_equal(np.delete(infos["events"], rivals, 1), np.delete(raced_infos["events"][::2], rivals, 1))
        assert np.array_equal(rewards, weighted(np.array(weights), infos["events"]))
        counted += infos["events"].sum(axis=0)
        if terminated.any():
            break
    assert not counted[rivals].any()
    assert counted[~SPARSE].all()
    assert counted[SPARSE].any()
    assert infos["result"].tolist() == [0.5, 0.5]


FELL, SOON, LATE = (False, 300), (False, 9), (False, 900)


@pytest.mark.parametrize(
    ("runners", "expected"),
    [
        ([(True, 1500, 101.0), (*FELL, 60.0)], [1, 0]),  # finishing alone
        ([(True, 1500, 101.0), (True, 1502, 101.0)], [1, 0]),  # two frames earlier
        ([(True, 1500, 101.0), (True, 1501, 101.0)], [0.5, 0.5]),  # one frame is a tie
        ([(*FELL, 30.6), (*LATE, 30.0)], [1, 0]),  # the farther fall, sooner or later
        ([(*FELL, 30.5), (*LATE, 30.0)], [0.5, 0.5]),
        ([(*FELL, -1.0), (*FELL, 2.0)], [0, 1]),
        ([(*SOON, 5.0), (*SOON, 9.0), (*SOON, 8.0)], [0, 1, 0]),  # only one wins, and the beaten lose
        ([(*SOON, 5.0), (*SOON, 9.0), (*SOON, 8.8)], [0, 0.5, 0.5]),
        ([(True, 1500, 101.0)], [0.5]),  # a lone runner
    ],
)
def test_the_faster_finish_or_else_the_farther_fall_wins(
    runners: list[tuple[bool, int, float]], expected: list[float]
) -> None:
    for order in (1, -1):  # of two races, which are judged apart
        finished, frames, metres = (np.array([column, column[::-1]]) for column in zip(*runners[::order], strict=True))
        assert results(finished, frames, metres).tolist() == [expected[::order], expected[::-order]]
