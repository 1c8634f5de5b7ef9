"""The contract of the games: a row of many is a game alone, states go on to the bit, misuse is refused."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, InvalidAction, ResetNeeded
from gymnasium.spaces import Discrete
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.envs.names import OUTCOMES
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.envs.vector import make_vector


@dataclass(frozen=True)
class Game:
    """An environment with settings. hold: decisions of each random action."""

    id: str
    task: dict[str, Any] = field(default_factory=dict)
    hold: int = 4

    @property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(self.id, self.task)

    def many(self, count: int) -> Any:
        return make_vector(self.spec, count)

    def actions(self, steps: int, count: int, seed: int = 0) -> NDArray[np.int64]:
        """Random actions [steps, count], the same for a while."""
        draws = np.random.default_rng(seed).integers(0, self.spec.spaces.actions, (-(-steps // self.hold), count))
        return draws.repeat(self.hold, axis=0)[:steps]


GAMES = {
    "numbers": Game("QWOP-v1", {"max_idle_frames": 9, "delay": 0.4, "time_limit": 2.0}),
    "lagging": Game("QWOP-v1", {"observation": "full", "observation_lag": 1, "reward": "race", "time_limit": 2.0}),
    "pixels": Game("QWOP-v1", {"observation": "pixels", "size": 40, "stack": 2, "colour": True, "max_idle_frames": 9,
                               "time_limit": 2.0}),
    "race": Game("QWOPRace-v1", {"observation": "contact", "max_idle_frames": 9, "time_limit": 2.0}),
    "breakout": Game("ALE/Breakout-v5", {"size": 36}, 1),
    "cart pole": Game("CartPole-v1", hold=1),
}  # fmt: skip
OURS = ("numbers", "lagging", "pixels", "race")
CONSOLE = pytest.mark.needs(module="ale_py")


def each(*names: str) -> Any:
    """Parametrises a test by games."""
    rows = [pytest.param(GAMES[name], id=name, marks=CONSOLE if name == "breakout" else ()) for name in names]
    return pytest.mark.parametrize("game", rows)


def assert_same(one: Any, two: Any) -> None:
    """Equal to the bit, in mappings and sequences too."""
    if isinstance(one, dict):
        assert one.keys() == two.keys()
        for name in one:
            assert_same(one[name], two[name])
    elif isinstance(one, tuple | list):
        for a, b in zip(one, two, strict=True):
            assert_same(a, b)
    else:
        np.testing.assert_array_equal(one, two)


def games_alone(game: Game, seed: int, actions: NDArray[np.int64]) -> Iterator[list[Any]]:
    """Results of single environments for rows of actions [steps, n]: the first observation and info of each, then of
    each step observation, reward, ends, info, and the last observation of a game that another follows at once."""
    envs = [game.spec.make() for _ in actions[0]]
    yield [env.reset(seed=seed + row) for row, env in enumerate(envs)]
    for choices in actions.tolist():
        steps: list[Any] = []
        for env, action in zip(envs, choices, strict=True):
            (observation, *rest), final = env.step(action), None
            if rest[1] or rest[2]:
                final, (observation, _) = observation, env.reset()
            steps.append((observation, *rest, final))
        yield steps


def assert_info(infos: dict[str, Any], row: int, info: dict[str, Any]) -> None:
    for name, value in info.items():
        if name in infos:
            assert infos[name][row] == (OUTCOMES.index(value) if name == "outcome" else value), name


def assert_rows_are_games_alone(game: Game, seed: int, count: int, steps: int) -> int:
    """Compare them step by step; the number of games that ended."""
    actions, ends = game.actions(steps, count, seed), 0
    games, alone = game.many(count), games_alone(game, seed, actions)
    observations, infos = games.reset(seed=seed)
    arrays, copies = [observations], [observations.copy()]
    for row, (observation, info) in enumerate(next(alone)):
        np.testing.assert_array_equal(observations[row], observation)
        assert_info(infos, row, info)
    for choices, expected in zip(actions, alone, strict=True):
        observations, rewards, terminated, truncated, infos = games.step(choices)
        assert observations in games.observation_space
        arrays.append(observations)
        copies.append(observations.copy())
        for row, (observation, *step, info, final) in enumerate(expected):
            np.testing.assert_array_equal(observations[row], observation)
            assert [rewards[row], terminated[row], truncated[row]] == step
            assert game.id == "CartPole-v1" or info.keys() <= infos.keys()
            assert_info(infos, row, info)
            assert (final is not None) == bool(infos.get("_final_obs", np.zeros(count))[row])
            if final is not None:
                np.testing.assert_array_equal(infos["final_obs"][row], final)
                assert_info(infos["final_info"], row, info)
            ends += step[1] or step[2]
    assert_same(arrays, copies)  # nothing writes into the arrays of earlier steps
    games.close()
    return ends


def prices_of_races_alone(task: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in task.items() if task["reward"] == "race" or name not in PRICES}


PRICES = {"shaping": st.sampled_from([0.0, 0.5]), "fall_penalty": st.just(6.0), "push_penalty": st.just(2.0)}
TASKS = st.fixed_dictionaries({
    "frames_per_step": st.integers(1, 8), "reward": st.sampled_from(["speed", "shaped", "race"]),
    "observation": st.sampled_from(["features", "full", "contact"]), "observation_lag": st.integers(0, 1),
    "max_idle_frames": st.sampled_from([0, 7]), "time_limit": st.sampled_from([1.5, 120.0]),
    "delay": st.sampled_from([0.0, 0.4]), **PRICES,
}).map(prices_of_races_alone)  # fmt: skip


@given(task=TASKS, seed=st.integers(0, 1000), count=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_a_batch_of_qwop_is_as_many_games_alone(task: dict[str, Any], seed: int, count: int) -> None:
    assert_rows_are_games_alone(Game("QWOP-v1", task), seed, count, steps=60)


def atari(game: str, task: dict[str, Any], steps: int, ends: int) -> Any:
    return pytest.param(Game(f"ALE/{game}-v5", task, 1), 1, steps, ends, id=game, marks=CONSOLE)


@pytest.mark.parametrize(
    ("game", "count", "steps", "ends"),
    [
        (GAMES["pixels"], 3, 50, 3), (GAMES["cart pole"], 3, 60, 3), atari("Pong", {}, 60, 0),
        atari("Pong", {"time_limit": 1.0}, 60, 4), atari("Breakout", {}, 400, 1),
        atari("Freeway", {"frameskip": 2, "size": 42, "stack": 2}, 60, 0),
        atari("SpaceInvaders", {"repeat_action_probability": 0.25, "full_action_space": True}, 60, 0),
    ],
)  # fmt: skip
def test_rows_of_other_games_are_games_alone(game: Game, count: int, steps: int, ends: int) -> None:
    assert assert_rows_are_games_alone(game, seed=2, count=count, steps=steps) >= ends


@each(*OURS, "cart pole")
def test_the_record_has_the_spaces_of_the_games(game: Game) -> None:
    (observation, actions, names, *_), games = game.spec.spaces, game.many(4)
    assert ObservationSpec.of(games.single_observation_space, game.id) == observation
    assert games.single_action_space == Discrete(actions)
    assert game.spec.has_games is (game.id != "CartPole-v1")
    assert (names is None) or len(names) == actions


@each(*OURS)
def test_saved_games_go_on_to_the_bit(game: Game) -> None:
    one, other = game.many(4), game.many(4)
    one.reset(seed=1)
    for row in game.actions(25, 4):
        one.step(row)
    observation = one.reset(options={"reset_mask": np.array([True, True, False, False])})[0]
    observation = one.step(np.full(4, 3))[0]
    state = one.get_state()
    actions = game.actions(40, 4, seed=2)
    expected = [one.step(row) for row in actions]
    other.reset(seed=9)
    other.step(np.full(4, 5))
    np.testing.assert_array_equal(other.set_state(state), observation)
    assert_same([other.step(row) for row in actions], expected)


@each("numbers", "pixels", "race", "breakout", "cart pole")
def test_a_reset_mask_begins_some_games_and_leaves_the_others(game: Game) -> None:
    games, others, actions = game.many(4), game.many(4), game.actions(8, 4)
    first, first_infos = games.reset(seed=5)
    others.reset(seed=5)
    results = [games.step(row)[:4] for row in actions]
    assert_same([others.step(row)[:4] for row in actions], results)
    mask = np.array([True, True, False, False])
    observation, infos = games.reset(seed=[5, 6, None, None], options={"reset_mask": mask})
    np.testing.assert_array_equal(observation, np.concatenate([first[:2], results[-1][0][2:]]))
    for name, value in infos.items():
        np.testing.assert_array_equal(value[:2], mask[:2] if name.startswith("_") else first_infos[name][:2])
        assert not (name.startswith("_") and value[2:].any())
    for row, before in zip(actions, results, strict=True):
        for new, old, other in zip(games.step(row)[:4], before, others.step(row)[:4], strict=True):
            np.testing.assert_array_equal(new, np.concatenate([old[:2], other[2:]]))


@each("numbers", "race", "breakout")
def test_games_that_have_not_begun_or_are_closed_say_so(game: Game) -> None:
    games = game.many(2)
    nobody = {"reset_mask": np.zeros(2, np.bool_)}
    for use in [lambda: games.reset(options=nobody), lambda: games.step(np.zeros(2, int))]:
        with pytest.raises(ResetNeeded, match="no game has begun"):
            use()
    first, _ = games.reset(seed=0)
    np.testing.assert_array_equal(games.reset(options=nobody)[0], first)
    games.close()
    games.close()
    uses = [games.reset, lambda: games.step(np.zeros(2, int))]
    if game.id != "QWOPRace-v1":
        alone = game.spec.make()
        alone.reset(seed=0)
        alone.close()
        uses += [alone.reset, lambda: alone.step(0)]
    for use in uses:
        with pytest.raises(ClosedEnvironmentError):
            use()


WRONG_ACTIONS: list[Any] = [
    0, None, "0000", [0, 0, 0], [0, 0, 0, 0, 0], [[0, 0, 0, 0]], [0, 0, 0, 11], [0, 0, 0, -1], [0, 0, 0, None],
    [0, 0, [0], 0], [0.0] * 4, [float("nan")] * 4, [True] * 4, ["0"] * 4, np.zeros((4, 1), int), np.zeros(0, int),
    np.zeros(4), np.full(4, 2**63, np.uint64), np.zeros(4, bool), np.zeros(4, "datetime64[s]"), {},
]  # fmt: skip
WRONG_SEEDS: list[Any] = [
    -1, 1.5, "1", [1], float("nan"), (1, 2), True, False, [1, 2, 3, -1], [1, 2, 3, "4"], [1, 2, 3, 4.5], "1234",
    [1, 2, 3, True], [False, None, None, None], np.array([True] * 4), np.True_,
]  # fmt: skip
WRONG_OPTIONS: list[Any] = [
    "all", 3, [True], {"reset_mask": [1, 0, 1, 0]}, {"reset_mask": [True]}, {"reset_mask": "abcd"},
    {"reset_mask": np.ones((4, 1), bool)},
]  # fmt: skip


@each("numbers", "race")
def test_what_no_batch_takes_is_refused_and_changes_nothing(game: Game) -> None:
    games, others = game.many(4), game.many(4)
    games.reset(seed=0)
    others.reset(seed=0)
    for actions in WRONG_ACTIONS:
        with pytest.raises(InvalidAction, match="whole numbers"):
            games.step(actions)
    for seed in WRONG_SEEDS:
        with pytest.raises(ValueError, match="seed"):
            games.reset(seed=seed)
    for options in WRONG_OPTIONS:
        with pytest.raises(ValueError, match=r"options|reset_mask"):
            games.reset(options=options)
    assert_same(games.step(np.array([0, 3, 6, 10])), others.step(np.array([0, 3, 6, 10])))


@pytest.mark.parametrize("count", [0, -1, True, 2.0, 1.5, "2", None, np.True_, [2]], ids=str)
@each("numbers", "race", "breakout", "cart pole")
def test_a_number_of_games_that_is_none_is_refused(game: Game, count: Any) -> None:
    with pytest.raises(BadInput, match=r"num_envs=.*: expected a whole number, at least 1"):
        game.many(count)


WRONG_OF_QWOP: list[dict[str, Any]] = [
    {"frames_per_step": 0}, {"frames_per_step": 1.5}, {"reward": "fast"}, {"observation_lag": 2}, {"delay": "often"},
    {"max_idle_frames": -1}, {"time_limit": 0.0}, {"time_limit": float("nan")}, {"delay": -0.1}, {"delay": 1.1},
    {"observation": "words"}, {"shaping": 0.5, "reward": "speed"}, {"fall_penalty": 2.0, "reward": "shaped"},
    {"push_penalty": 0.5, "reward": "speed"}, {"stack": 3, "observation": "features"},
    {"size": 36, "observation": "full"}, {"colour": True, "observation": "features"},
    {"observation_lag": 1, "observation": "pixels"}, {"size": 8, "observation": "pixels"}, {"render_mode": "ansi"},
    {"num_threads": 0}, {"num_threads": True}, {"num_threads": 2.0}, {"num_threads": "2"}, {"autoreset_mode": "later"},
]  # fmt: skip
WRONG_SETTINGS: list[Any] = [
    *(("QWOP-v1", wrong, f"{next(iter(wrong))}=.*: (expected|only)") for wrong in WRONG_OF_QWOP),
    ("QWOP-v1", {"speed": 3}, "QWOP-v1: speed: no such setting"),
    ("QWOPOriginal-v1", {"reward": "money"}, "reward=money"),
    ("QWOPOriginal-v1", {"speed": 3}, "speed: no such setting"),
    ("QWOPRace-v1", {"runners": 0}, "QWOPRace-v1: runners=0: expected"),
    ("QWOPRace-v1", {"weights": [1.0]}, "QWOPRace-v1: weights: 1 numbers, expected one for each of 18 events"),
    ("QWOPRace-v1", {"reward": "speed"}, "QWOPRace-v1: reward: no such setting"),
    ("QWOPRace-v1", {"num_envs": 3}, "num_envs=3: expected a multiple of 2, the runners of a race"),
    ("NoSuchGame-v1", {}, "environment NoSuchGame-v1: "),
    ("CartPole-v1", {"frames_per_step": 3}, "CartPole-v1: no setting frames_per_step"),
    ("CartPole-v1", {"id": "QWOP-v1"}, "CartPole-v1: no setting id; leave it out"),
    ("FrozenLake-v1", {"map_name": "9x9"}, r"FrozenLake-v1\(map_name=9x9\): cannot be made \(KeyError: '9x9'\)"),
    ("Many-v0", {}, r"Many-v0: it is registered with a vector form alone, .* \(entry_point of"),
    *(pytest.param("ALE/Pong-v5", settings, complaint, marks=CONSOLE) for settings, complaint in (
        ({"frameskip": 1}, "frameskip=1: expected a whole number from 2 to 60"), ({"size": 160}, "size=160: expected"),
        ({"colour": True}, "colour"), ({"noop_max": -1}, "noop_max=-1"), ({"idle_limit": 0}, "idle_limit"),
        ({"render_mode": "rgb_array"}, "render_mode"), ({"autoreset_mode": "NextStep"}, "autoreset_mode"),
    )),
]  # fmt: skip
OF_MANY_GAMES = {"num_threads", "autoreset_mode", "idle_limit", "num_envs"}


@pytest.mark.parametrize(("id", "settings", "complaint"), WRONG_SETTINGS)
def test_wrong_settings_are_one_line_in_every_form(id: str, settings: dict[str, Any], complaint: str) -> None:
    gymnasium.register("Many-v0", vector_entry_point="gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv")
    spec = EnvironmentSpec(id, settings)
    batch = lambda: gymnasium.make_vec(EnvironmentSpec(id).registered, **{"num_envs": 2, **settings})  # noqa: E731
    forms: list[Any] = [spec.make, lambda: make_vector(spec, 2)]
    if settings.keys() & OF_MANY_GAMES or (id, *settings) == ("ALE/Pong-v5", "render_mode"):
        forms = [batch]
    elif id in ("QWOPRace-v1", "Many-v0", "QWOPOriginal-v1"):
        forms = forms[:1] if id == "QWOPOriginal-v1" else forms[1:]
    try:
        for make in forms:
            with pytest.raises((BadInput, TypeError), match=complaint) as refusal:
                make()
            assert "\n" not in str(refusal.value)
    finally:
        del gymnasium.registry["Many-v0"]
