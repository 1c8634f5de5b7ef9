"""The numbers of an observation, against recordings and states."""

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.names import BODIES, CONTACT_FEATURES, FEATURES, FULL_FEATURES
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.observations import bent_knee, observe_as

# The first row of the published recordings: head, the 11 joints, leftArm, the torso's height.
START = {
    "head.angle": 0.06448416, "head.velocity_x": 0.0, "head.position_x": 1.37695766, "head.position_y": -5.62180293,
    "joint.leftAnkle": 0.01375982, "joint.leftElbow": 0.01460373, "joint.leftHip": 0.04042598,
    "joint.leftKnee": -0.03201491, "joint.leftShoulder": -0.06107618, "joint.neck": -0.00693746,
    "joint.rightAnkle": 0.22215789, "joint.rightElbow": -0.06370577, "joint.rightHip": -0.01703263,
    "joint.rightKnee": -0.04551218, "joint.rightShoulder": 0.05616317,
    "leftArm.angle": 0.90400959, "torso.position_x": 0.0, "torso.position_y": -1.87095175,
}  # fmt: skip


def test_the_first_lagging_observation_is_the_start_of_the_recordings() -> None:
    observation, _ = QWOPEnv(observation_lag=1).reset()
    for name, value in START.items():
        assert observation[FEATURES.index(name)] == pytest.approx(value, abs=1e-6), name


def test_a_body_is_its_angle_velocity_and_place_beside_the_torso() -> None:
    states = replay(np.full(40, 9, np.uint8)).states
    seen = observe_as("features", states)
    assert seen.shape == (41, 71)
    torso = states[:, 0]
    for body in BODIES[:12]:
        row = states[:, BODIES.index(body)]
        expected = {
            "angle": row[:, 2], "velocity_x": row[:, 3], "velocity_y": row[:, 4],
            "position_x": row[:, 0] - torso[:, 0], "position_y": row[:, 1],
        }  # fmt: skip
        for number, values in expected.items():
            np.testing.assert_array_equal(seen[:, FEATURES.index(f"{body}.{number}")], values.astype(np.float32))


def test_the_bent_knee_is_the_smaller_of_two() -> None:
    states = replay(np.full(30, 6, np.uint8)).states
    seen = observe_as("features", states)
    knees = [seen[:, FEATURES.index(f"joint.{side}Knee")] for side in ("left", "right")]
    np.testing.assert_allclose(bent_knee(states), np.minimum(*knees), atol=1e-6)
    assert (knees[0] < knees[1]).any()
    assert (knees[0] > knees[1]).any()


def test_a_full_observation_begins_with_the_71_and_adds_what_is_named() -> None:
    game = replay(np.repeat([0, 9, 6, 4, 8], 12).astype(np.uint8))
    seen = observe_as("full", game.states, game.events, game.hidden)
    assert seen.shape == (len(game.states), len(FULL_FEATURES)) == (len(game.states), 94)
    np.testing.assert_array_equal(seen[:, :71], observe_as("features", game.states))
    column = {name: seen[:, place] for place, name in enumerate(FULL_FEATURES)}
    for body in BODIES[:12]:
        spin = game.states[:, BODIES.index(body), 5]
        np.testing.assert_array_equal(column[f"{body}.angular_velocity"], spin.astype(np.float32))
    torso = game.states[:, 0, 0]
    np.testing.assert_allclose(column["finish.distance"], np.clip((1000 - torso) / 10, -1, 4))
    np.testing.assert_array_equal(column["hurdle.distance"], 2.5)
    assert not column["hurdle.near"].any()
    # Every frame adds −4·(angle + 0.2) to the torque on the head.
    added = -4 * (game.states[:-1, BODIES.index("head"), 2] + 0.2)
    assert game.hidden is not None
    np.testing.assert_allclose(np.diff(game.hidden[:, 0]), added, atol=1e-9)
    np.testing.assert_allclose(column["hidden.head_torque"], game.hidden[:, 0] / 100, rtol=1e-6)
    hips = np.stack([column["hidden.left_hip_out"], column["hidden.right_hip_out"]], axis=1)
    np.testing.assert_array_equal(hips[1:][[0, 13, 25, 37, 49]], [[0, 0], [0, 1], [1, 0], [1, 0], [0, 1]])


def test_the_hurdle_is_seen_when_it_is_near_and_everything_stays_in_its_bounds() -> None:
    state, event = replay([]).states[0].copy(), np.zeros(6)
    torso, base, top = state[0], state[BODIES.index("hurdleBase")], state[BODIES.index("hurdleTop")]
    names = FULL_FEATURES[83:]

    def seen(torque: float = 0.0) -> dict[str, float]:
        return dict(zip(names, observe_as("full", state, event, [torque, -1.5, -1.3])[83:].tolist(), strict=True))

    torso[0] = top[0] - 12.0
    top[2:5] = 0.5, 20.0, 0.0
    near = seen()
    assert (near["hurdle.distance"], near["hurdle.near"], near["hurdle.angle"]) == pytest.approx((1.2, 1.0, 0.5))
    assert near["hurdle.velocity_x"] == 2.0
    assert near["hurdle.lean"] == pytest.approx(base[0] - top[0], abs=1e-6)
    torso[0], top[2], event[2] = 1001.0, 99.0, 1.0
    beyond = seen(torque=-1e6)
    assert (beyond["hurdle.distance"], beyond["hurdle.near"], beyond["hurdle.angle"]) == (2.5, 0.0, 0.0)
    assert beyond["finish.distance"] == pytest.approx(-0.1)
    assert (beyond["finish.jumped"], beyond["hidden.head_torque"]) == (1.0, -10.0)


FEET = {"leftFoot": (1.35, 0.675), "rightFoot": (1.35, 0.725)}
"""Half width and half height of the feet, units, as measured."""

GROUND = 10.74275 - 1.6
"""y of the track's surface: its boxes' centre, less half of their height."""


def test_a_contact_observation_begins_with_the_94_and_adds_the_corners_that_meet_the_track() -> None:
    game = replay(np.repeat([0, 9, 6, 4, 8, 5, 10], 12).astype(np.uint8))
    seen = observe_as("contact", game.states, game.events, game.hidden)
    assert seen.shape == (len(game.states), len(CONTACT_FEATURES)) == (len(game.states), 112)
    np.testing.assert_array_equal(seen[:, :94], observe_as("full", game.states, game.events, game.hidden))
    column = {name: seen[:, place] for place, name in enumerate(CONTACT_FEATURES)}
    for foot, (width, height) in FEET.items():
        x, y, angle, velocity_x, velocity_y, spin = game.states[:, BODIES.index(foot)].T
        for end, ahead in (("heel", -width), ("toe", width)):
            arm = np.exp(1j * angle) * (ahead + 1j * height)  # from the centre to the corner
            above = GROUND - y - arm.imag
            expected = {
                "height": np.clip(above, -1, 3), "touch": 10 * np.clip(above, -0.05, 0.15),
                "velocity_x": velocity_x - spin * arm.imag, "velocity_y": velocity_y + spin * arm.real,
            }  # fmt: skip
            for number, values in expected.items():
                name = f"{foot}.{end}.{number}"
                np.testing.assert_allclose(column[name], values, rtol=1e-5, atol=1e-5, err_msg=name)
        seams = np.arange(-48, 1200, 32)
        nearest = (x[:, None] - seams)[np.arange(len(x)), np.abs(x[:, None] - seams).argmin(axis=1)]
        np.testing.assert_allclose(column[f"{foot}.seam"], np.clip(nearest, -3, 3), atol=1e-4)
    assert {"leftFoot.heel", "leftFoot.toe", "rightFoot.toe"} <= {
        name.removesuffix(".touch") for name in CONTACT_FEATURES if name.endswith("touch") and column[name].min() < 0.1
    }


@pytest.mark.parametrize("observation", ["full", "contact"])
def test_a_game_without_its_hidden_numbers_is_seen_by_its_71_alone(observation: str) -> None:
    game = replay(np.full(5, 9, np.uint8))
    assert observe_as("features", game.states).shape == (6, 71)
    with pytest.raises(BadInput, match=f"observation={observation}: this game was recorded without its hidden numbers"):
        observe_as(observation, game.states, game.events, None)
