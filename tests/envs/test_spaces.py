"""Environments of others: every discrete action, observations as numbers, and what they say of themselves."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs.actions import action_at, action_count, action_names, index_of_action
from qwop.envs.capabilities import Capabilities
from qwop.envs.spec import EnvironmentSpec, ObservationSpec, interface_of
from qwop.envs.vector import make_vector
from qwop.evaluation.film import film_actions

ROW = spaces.Box(-np.inf, np.inf, (3,), np.float32)
BYTES = spaces.Box(0, 255, (3,), np.uint8)


class Odd(gymnasium.Env[Any, Any]):
    """Three decisions; notes the actions that it was given."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(
        self,
        actions: Any = None,
        observations: Any = None,
        see: Any = None,
        pay: Any = None,
        tell: Any = None,
        end: Any = None,
        render_mode: str | None = None,
    ) -> None:
        self.action_space, self.observation_space = actions or spaces.Discrete(2), observations or ROW
        self.see, self.pay, self.tell, self.end = see, pay, tell, end or (lambda over: over)
        self.taken: list[Any] = []

    def look(self) -> Any:
        return np.zeros(3, np.float32) if self.see is None else self.see(len(self.taken))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.taken = []
        return self.look(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self.taken.append(action)
        count = len(self.taken)
        pay = 1.0 if self.pay is None else self.pay(count)
        return self.look(), pay, self.end(count == 3), False, {} if self.tell is None else self.tell(count)


Make = Callable[..., EnvironmentSpec]


@pytest.fixture
def odd() -> Iterator[Make]:
    def make(**settings: Any) -> EnvironmentSpec:
        # Gymnasium's own check would find some of what these environments do wrong.
        gymnasium.register("Odd-v0", Odd, kwargs=settings, disable_env_checker=True)
        return EnvironmentSpec("Odd-v0")

    yield make
    gymnasium.registry.pop("Odd-v0", None)


ACTIONS = [
    (spaces.Discrete(3, start=-1), [-1, 0, 1]),
    (spaces.Discrete(2, dtype=np.int8), [0, 1]),
    (spaces.Discrete(2, start=1, dtype=np.uint8), [1, 2]),
    (spaces.MultiBinary(2), [[0, 0], [1, 0], [0, 1], [1, 1]]),
    (spaces.MultiBinary([1, 2]), [[[0, 0]], [[1, 0]], [[0, 1]], [[1, 1]]]),
    (spaces.MultiDiscrete([2, 3]), [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]),
    (spaces.MultiDiscrete([2], start=[5]), [[5], [6]]),
    (spaces.Tuple((spaces.Discrete(2), spaces.MultiBinary(1))), [[0, [0]], [0, [1]], [1, [0]], [1, [1]]]),
    (spaces.Dict({"a": spaces.Discrete(1), "b": spaces.Discrete(2)}), [{"a": 0, "b": 0}, {"a": 0, "b": 1}]),
]


@pytest.mark.parametrize(("space", "forms"), ACTIONS, ids=lambda one: str(one)[:24])
def test_each_number_is_one_action_that_the_environment_takes(odd: Make, space: Any, forms: list[Any]) -> None:
    spec = odd(actions=space)
    assert spec.interface() == (ObservationSpec((3,)), len(forms))
    for number, form in enumerate(forms):
        assert space.contains(action_at(space, number))
        assert index_of_action(space, form) == number
    env = spec.make()
    assert env.action_space == spaces.Discrete(len(forms))
    for numbers in ([0, 1, len(forms) - 1],):
        env.reset()
        for number in numbers:
            env.step(number)
        taken = env.unwrapped.taken  # type: ignore[attr-defined]
        assert [index_of_action(space, one) for one in taken] == numbers
        assert all(space.contains(one) for one in taken)
    names = action_names(env)
    assert forms == [*range(len(forms))] if names is None else len(set(names)) == len(forms)


@settings(deadline=None)
@given(st.data())
def test_numbers_and_joint_actions_are_inverse_to_each_other(data: st.DataObject) -> None:
    space = spaces.MultiDiscrete(
        data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)),
        start=None,
    )
    number = data.draw(st.integers(0, action_count(space, "one") - 1))
    assert index_of_action(space, action_at(space, number)) == number


def test_a_vector_of_games_takes_numbers_too(odd: Make) -> None:
    env = make_vector(odd(actions=spaces.MultiBinary(2)), 3)
    env.reset(seed=0)
    env.step(np.array([0, 2, 3]))
    taken = [one.unwrapped.taken[0].tolist() for one in env.envs]  # type: ignore[attr-defined]
    assert taken == [[0, 0], [0, 1], [1, 1]]


def test_names_are_the_environments_own_or_those_of_a_well_known_one_or_the_actions_form(odd: Make) -> None:
    assert EnvironmentSpec("CartPole-v1").open().action_names == ("push left", "push right")
    assert odd(actions=spaces.MultiBinary(2)).open().action_names == ("[0, 0]", "[1, 0]", "[0, 1]", "[1, 1]")
    assert EnvironmentSpec("Blackjack-v1").open().action_names is None


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        (spaces.Box(-1, 1, (2,)), r"continuous; expected Discrete\(n\), MultiBinary.*Stable-Baselines3"),
        (
            spaces.Box(0, 255, (2,), np.uint8),
            r"uint8\); expected Discrete\(n\), .* or Dict of these; wrap the environment",
        ),
        (spaces.MultiBinary(16), "65,536 in all, expected at most 1,024; wrap"),
        (spaces.Discrete(100_000), "100,000 in all, expected at most 32,767"),
        (spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1))), r"expected Discrete\(n\), MultiBinary"),
    ],
    ids=str,
)
def test_other_actions_are_refused_with_what_would_be_taken(odd: Make, actions: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        odd(actions=actions).interface()


ONE = spaces.Box(-1, 1, (1,), np.float32)

OBSERVATIONS = [
    (spaces.Discrete(3), lambda n: n % 3, [1, 0, 0]),
    (spaces.Box(0, 1, (), np.float32), lambda n: np.array(0.5, np.float32), [0.5]),
    (
        spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Box(-1, 1, (2,), np.float32)}),
        lambda n: {"a": np.array([0.5, -0.5], np.float32), "b": 1},
        [0.5, -0.5, 0, 1],
    ),
    (
        spaces.Tuple((spaces.Box(-1, 1, (1,), np.float32), spaces.MultiBinary(2))),
        lambda n: (np.array([0.25], np.float32), np.array([1, 0], np.int8)),
        [0.25, 1, 0],
    ),
    (
        spaces.Dict({"mission": spaces.Text(9), "place": spaces.Discrete(2)}),
        lambda n: {"mission": "go", "place": 1},
        [0, 1],
    ),
    (
        spaces.Dict({"place": spaces.Discrete(2), "told": spaces.Dict({"mission": spaces.Text(9), "b": ONE})}),
        lambda n: {"place": 1, "told": {"mission": "go", "b": np.array([0.5], np.float32)}},
        [0, 1, 0.5],
    ),
    (
        spaces.Tuple((spaces.Text(9), ONE, spaces.Dict({"mission": spaces.Text(9)}), spaces.Discrete(2))),
        lambda n: ("go", np.array([0.5], np.float32), {"mission": "go"}, 1),
        [0.5, 0, 1],
    ),
]


@pytest.mark.parametrize(("space", "see", "row"), OBSERVATIONS, ids=lambda one: str(one)[:24])
def test_observations_of_numbers_become_rows(odd: Make, space: Any, see: Any, row: list[float]) -> None:
    spec = odd(observations=space, see=see)
    observation, _ = spec.interface()
    assert observation == ObservationSpec((len(row),))
    seen, _ = spec.make().reset()
    assert observation.array(seen).tolist() == row


def test_a_picture_alone_in_a_mapping_stays_a_picture(odd: Make) -> None:
    pictures = spaces.Box(0, 255, (40, 40, 3), np.uint8)
    spec = odd(observations=spaces.Dict({"image": pictures}), see=lambda n: {"image": np.zeros((40, 40, 3), np.uint8)})
    assert spec.interface()[0] == ObservationSpec((40, 40, 3), "uint8")


def test_observations_that_are_no_numbers_are_refused_with_what_would_be_taken(odd: Make) -> None:
    with pytest.raises(BadInput, match="expected a Box of numbers or an image, discrete ones, or a Dict or Tuple"):
        odd(observations=spaces.Text(5)).interface()
    with pytest.raises(BadInput, match="expected a Box of numbers"):
        interface_of(spaces.Sequence(spaces.Discrete(2)), spaces.Discrete(2), "one")
    with pytest.raises(BadInput, match="which has no numbers"):
        odd(observations=spaces.Box(0, 1, (0,))).interface()
    with pytest.raises(BadInput, match="have 20,000,000 numbers, expected at most 16,777,216"):
        ObservationSpec.of(spaces.Box(0, 1, (20_000_000,)), "one")


@pytest.mark.parametrize(
    ("shape", "channels", "height", "width"),
    [
        ((84, 84), 1, 84, 84),
        ((84, 84, 3), 3, 84, 84),
        ((84, 84, 9), 9, 84, 84),
        ((210, 160, 12), 12, 210, 160),
        ((3, 84, 84), 3, 84, 84),
        ((4, 84, 84), 4, 84, 84),
        ((12, 210, 160), 12, 210, 160),
        ((64, 36, 36), 64, 36, 36),
        ((4, 84, 84, 3), 12, 84, 84),
        ((4, 3, 84, 84), 12, 84, 84),
    ],
)
def test_height_width_and_channels_are_found_in_any_usual_order(
    shape: tuple[int, ...], channels: int, height: int, width: int
) -> None:
    picture = ObservationSpec(shape, "uint8")
    assert picture.is_image
    assert picture.channels == channels
    assert tuple(shape[axis] for axis in picture.axes[1:]) == (height, width)


def test_bytes_in_a_small_square_are_numbers() -> None:
    assert not ObservationSpec((7, 7, 3), "uint8").is_image
    assert ObservationSpec((20, 84), "uint8").is_image


def test_an_exception_of_the_environment_is_one_line_with_its_place_in_the_code(odd: Make) -> None:
    def fail(n: int) -> Any:
        if n == 2:
            raise KeyError("speed")
        return np.zeros(3, np.float32)

    with pytest.raises(
        BadInput, match=r"its step failed in decision 2 of a game \(KeyError: 'speed'; test_spaces.py, line \d+\); mend"
    ) as met:
        play(odd(see=fail).make())
    assert isinstance(met.value.__cause__, KeyError)
    with pytest.raises(BadInput, match=r"its reset failed \(SystemExit: no display"):
        odd(see=lambda n: sys.exit("no display")).make().reset()
    with pytest.raises(BadInput, match=r"Odd-v0\(\): its reset failed \(ZeroDivisionError"):
        odd(see=lambda n: 1 // n).make().reset()
    env = odd().make(render_mode="rgb_array")
    env.reset()
    with pytest.raises(BadInput, match=r"its render failed \(NotImplementedError"):
        env.render()


PLAYED: Any = (0, np.zeros(1, np.int16), np.zeros((2, 3), np.float32), lambda *_: None)
"""The seed, the actions and the observations of a decision in `Odd`, and no progress."""


class Drawn(Odd):
    """An environment of which each picture is the next of a list."""

    pictures: Any = ()

    def render(self) -> Any:
        return self.pictures[len(self.taken)]


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (None, "pictures (rgb_array) are <class 'NoneType'>, expected uint8 [height, width, 3]"),
        ([[0, 1]], "pictures (rgb_array) are <class 'list'>"),
        (np.zeros((8, 8, 3)), "pictures (rgb_array) are float64 [8, 8, 3]"),
        (np.zeros((9, 8, 3), np.uint8), "pictures change their size, from [8, 8, 3] to [9, 8, 3]"),
        (np.zeros((3, 8, 8), np.uint8), "pictures (rgb_array) are uint8 [3, 8, 8], expected"),
        (np.zeros((0, 0, 3), np.uint8), "pictures (rgb_array) are uint8 [0, 0, 3], expected"),
        (np.zeros((8, 8, 3), np.uint8), None),
    ],
    ids=range(7),
)
def test_pictures_that_cannot_be_filmed_are_the_reason_for_a_missing_film(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: Any, said: str | None
) -> None:
    monkeypatch.setattr(Drawn, "pictures", [np.zeros((8, 8, 3), np.uint8), last])
    gymnasium.register("Drawn-v0", Drawn)
    try:
        why = film_actions(tmp_path / "it.mp4", EnvironmentSpec("Drawn-v0"), *PLAYED)
    finally:
        gymnasium.registry.pop("Drawn-v0")
    assert why is None if said is None else said in str(why)
    assert (tmp_path / "it.mp4").exists() is (said is None)


class Wandering(Drawn):
    """An environment that does not draw its chances from its seed: in its first or in its second observation."""

    pictures = (np.zeros((8, 8, 3), np.uint8),) * 4
    wanders = 0

    def look(self) -> Any:
        drawn = np.random.default_rng().random() if len(self.taken) == self.wanders else 0.5
        return np.full(3, drawn, np.float32)


@pytest.mark.parametrize(("wanders", "kept"), [(0, 4), (2, 4), (3, 1)])
def test_a_film_does_not_show_another_game_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanders: int, kept: int
) -> None:
    gymnasium.register("Wandering-v0", Wandering)
    try:
        for where, same in ((wanders, False), (9, True)):
            monkeypatch.setattr(Wandering, "wanders", where)
            spec = EnvironmentSpec("Wandering-v0")
            seen = np.full((4, 3), 0.5, np.float32)[-kept:]
            why = film_actions(tmp_path / f"{same}.mp4", spec, 0, np.zeros(3, np.int16), seen, lambda *_: None)
            assert why is None if same else "the same seed and actions give another game; " in str(why)
            assert (tmp_path / f"{same}.mp4").exists() is same
        changed = film_actions(tmp_path / "it.mp4", spec, 0, np.zeros(3, np.int16), np.ones((kept, 2)), lambda *_: None)
        assert "the environment was changed" in str(changed)
    finally:
        gymnasium.registry.pop("Wandering-v0")


@pytest.mark.parametrize("rate", [None, "fast", np.nan, 1e9])
def test_a_film_has_a_rate_that_can_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: Any) -> None:
    monkeypatch.setattr(Drawn, "pictures", [np.zeros((8, 8, 3), np.uint8)] * 2)
    monkeypatch.setattr(Drawn, "metadata", {"render_modes": ["rgb_array"], "render_fps": rate})
    gymnasium.register("Drawn-v0", Drawn, disable_env_checker=True)
    try:
        spec = EnvironmentSpec("Drawn-v0")
        assert 0 < spec.make().metadata.get("render_fps", 30) <= 240
        assert film_actions(tmp_path / "it.mp4", spec, *PLAYED) is None
    finally:
        gymnasium.registry.pop("Drawn-v0")


def test_render_modes_that_are_no_list_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: Make) -> None:
    monkeypatch.setattr(Odd, "metadata", {"render_modes": None})
    why = film_actions(tmp_path / "it.mp4", odd(), *PLAYED)
    assert why == "Odd-v0 has no rgb_array"


class Named(Odd):
    """An environment that names its actions by an attribute that a test sets."""

    meanings: Any = None

    def get_action_meanings(self) -> Any:
        return self.meanings()


@pytest.mark.parametrize(
    ("meanings", "names"),
    [
        (lambda: ["go", "stop"], ("go", "stop")),
        (lambda: {0: "a", 1: 2}, ("a", "2")),
        (lambda: ["down\nleft", "\udc80"], ("down\\nleft", "\\udc80")),
        (lambda: ["too", "many", "names"], None),
        (lambda: 2, None),
    ],
)
def test_an_environment_names_its_actions(monkeypatch: pytest.MonkeyPatch, meanings: Any, names: Any) -> None:
    monkeypatch.setattr(Named, "meanings", staticmethod(meanings))
    assert action_names(Named()) == names


class Unready(Odd):
    """An environment that has its list of actions only once it is played."""

    @property
    def actions(self) -> Any:
        return {}["level"]


def test_names_that_cannot_be_told_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert action_names(Unready()) is None
    monkeypatch.setattr(Named, "meanings", staticmethod(lambda: {}["up"]))
    with pytest.raises(BadInput, match=r"its get_action_meanings failed \(KeyError: 'up'\); mend the environment"):
        action_names(Named())


def test_an_environment_that_takes_no_render_mode_says_so() -> None:
    gymnasium.register("Bare-v0", lambda: Odd())
    try:
        with pytest.raises(BadInput, match="no setting render_mode; it cannot be drawn"):
            EnvironmentSpec("Bare-v0").make(render_mode="rgb_array")
    finally:
        gymnasium.registry.pop("Bare-v0")


def test_an_environment_that_lacks_a_setting_says_how_to_give_it() -> None:
    gymnasium.register("Lacking-v0", lambda size: Odd())
    try:
        with pytest.raises(BadInput, match=r"'size'.*; register it with values for what it lacks \(kwargs of"):
            EnvironmentSpec("Lacking-v0").interface()
    finally:
        gymnasium.registry.pop("Lacking-v0")


def play(env: gymnasium.Env[Any, Any]) -> None:
    env.reset()
    for _ in range(3):
        env.step(0)


def broken(value: float) -> Callable[[int], Any]:
    return lambda n: np.array([0, value if n == 2 else 0, 0], np.float64)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"see": broken(np.inf)}, r"Odd-v0\(\): after decision 2 of a game, its observation\[1\] is inf"),
        ({"see": broken(np.nan)}, r"observation\[1\] is nan"),
        ({"see": broken(1e300)}, r"observation\[1\] is 1e\+300"),
        ({"see": lambda n: np.zeros(4)}, r"after a reset, its observation is float64 \[4\], expected float32 \[3\]"),
        ({"pay": lambda n: np.nan if n == 3 else 0}, "after decision 3 of a game, its reward is nan"),
        ({"pay": lambda n: None}, "its reward is null, expected a finite number"),
        (
            {
                "observations": spaces.Dict({"speed": ROW, "place": spaces.Discrete(2)}),
                "see": lambda n: {"speed": np.array([0, 0, np.nan]), "place": 0},
            },
            r"observation\['speed'\]\[2\] is nan",
        ),
        ({"observations": spaces.Discrete(2), "see": lambda n: 5}, r"observation is 5, expected Discrete\(2\)"),
        ({"see": lambda n: [0, [1, 2]]}, r"observation is \[0, \[1, 2\]\], expected float32 \[3\]"),
        ({"end": lambda over: np.array([over, over])}, r"terminated is \[False False\], expected true or false"),
        ({"end": str}, "terminated is False, expected true or false"),
        ({"end": lambda over: np.nan}, "terminated is nan, expected true or false"),
        ({"end": lambda over: over or None}, "terminated is null, expected true or false"),
        ({"end": lambda over: []}, r"terminated is \[\], expected true or false"),
        ({"end": lambda over: object()}, "terminated is .*object.*, expected true or false"),
        ({"pay": lambda n: 10**400}, "its reward is 1000.*, expected a finite number"),
        ({"pay": lambda n: np.ones(2)}, "its reward is .*, expected a finite number"),
        ({"pay": lambda n: "1"}, "its reward is '1', expected a finite number"),
        ({"see": lambda n: None}, r"observation is null, expected float32 \[3\]"),
        ({"observations": BYTES, "see": lambda n: [0, 0.5, 1]}, r"observation\[1\] is 0.5, expected uint8"),
        ({"observations": BYTES, "see": lambda n: [0, 1, 256]}, r"observation\[2\] is 256, expected uint8"),
        (
            {
                "observations": spaces.Dict({"whole": spaces.Box(0, 9, (2,), np.int64)}),
                "see": lambda n: {"whole": np.array([1.5, np.nan])},
            },
            r"observation\['whole'\]\[0\] is 1.5, expected int64",
        ),
        (
            {"observations": spaces.Box(-1, 1, (1,), np.float16), "see": lambda n: np.array([7e4])},
            r"observation\[0\] is 70000.0, expected a finite number",
        ),
        ({"tell": lambda n: None}, "info is null, expected a dictionary"),
        ({"tell": lambda n: np.ones(2)}, r"info is \[1. 1.\], expected a dictionary"),
    ],
    ids=range(25),
)
def test_numbers_that_cannot_be_used_are_found_where_they_arise(odd: Make, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        play(odd(**settings).make())


@pytest.mark.parametrize("pay", [2, np.float16(2), np.array(2), np.array([2.0]), np.array([[2]])], ids=range(5))
def test_a_reward_may_be_any_single_number(odd: Make, pay: Any) -> None:
    env = make_vector(odd(pay=lambda n: pay), 2)
    env.reset(seed=0)
    assert env.step(np.zeros(2, np.int64))[1].tolist() == [2.0, 2.0]


def test_whole_numbers_of_another_type_are_taken(odd: Make) -> None:
    env = make_vector(odd(observations=BYTES, see=lambda n: np.array([n, 1.0, 255.0])), 2)
    assert env.reset(seed=0)[0].tolist() == [[0, 1, 255]] * 2
    image = spaces.Dict({"image": spaces.Box(0, 255, (40, 40), np.uint8)})
    env = make_vector(odd(observations=image, see=lambda n: {"image": np.full((40, 40), 7.0)}), 2)
    assert (env.reset(seed=0)[0] == 7).all()


def test_an_environment_may_use_any_name_in_its_infos(odd: Make) -> None:
    told = {"time": "12:30", "distance": {"front": 1.0}, "outcome": 7, "clock": None, "restarted": "yes", "score": []}
    spec = odd(tell=lambda n: told)
    env = make_vector(spec, 2)
    env.reset(seed=0)
    for _ in range(3):
        *_, infos = env.step(np.zeros(2, np.int64))
    assert not {*told} & {*infos}
    assert not {*told} & {*infos["final_info"]}


@pytest.mark.parametrize(
    "own",
    [["walk"], lambda env: ["walk"], property(lambda env: ["walk"]), classmethod(lambda cls: {"walk": True})],
    ids=["list", "method", "property", "class method"],
)
def test_an_environment_may_have_capabilities_of_its_own(odd: Make, own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Odd, "capabilities", own, raising=False)
    assert odd().capabilities == Capabilities()
    assert odd().interface() == (ObservationSpec((3,)), 2)


def test_an_observation_that_the_environment_changes_later_is_kept_as_it_was(odd: Make) -> None:
    shared = np.zeros(3, np.float32)

    def see(n: int) -> Any:
        shared[0] = n
        return shared

    env = odd(see=see).make()
    first, _ = env.reset()
    env.step(0)
    assert first[0] == 0


def test_an_environment_that_cannot_be_closed_is_named(odd: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def close(env: Odd) -> None:
        raise RuntimeError("already closed")

    monkeypatch.setattr(Odd, "close", close)
    with pytest.raises(BadInput, match=r"Odd-v0\(\): its close failed \(RuntimeError: already closed; test_spaces"):
        odd().interface()


def test_an_environment_that_cannot_be_closed_after_a_game_is_a_note(
    odd: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def close(env: Odd) -> None:
        raise RuntimeError("display Surface quit\nand more")

    spec = odd()
    monkeypatch.setattr(Odd, "close", close)
    for _ in range(2):
        env = spec.make()
        env.reset(seed=0)
        env.step(0)
        env.close()
    assert capsys.readouterr().err == (
        "note: environment Odd-v0(): closing it failed (RuntimeError: display Surface quit); nothing that was finished "
        "is lost\n"
    )


WEIGHT = torch.ones(1, requires_grad=True)


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        (WEIGHT.sum() * 2, 2.0),
        (WEIGHT * 2, 2.0),
        (torch.tensor(2.0, dtype=torch.bfloat16), 2.0),
        (torch.tensor([[3]]), 3.0),
    ],
)
def test_a_reward_that_is_a_tensor_is_its_number(odd: Make, reward: Any, expected: float) -> None:
    env = odd(pay=lambda n: reward).make()
    env.reset(seed=0)
    assert env.step(0)[1] == expected


@pytest.mark.parametrize("reward", [torch.ones(1, device="meta"), torch.ones(2), WEIGHT * torch.inf])
def test_a_tensor_that_is_no_number_is_named(odd: Make, reward: Any) -> None:
    env = odd(pay=lambda n: reward).make()
    env.reset(seed=0)
    with pytest.raises(
        BadInput, match=r"Odd-v0\(\): after decision 1 of a game, its reward is .*expected a finite number"
    ):
        env.step(0)


@pytest.mark.parametrize("kind", ["row", "mapping", "end", "info"])
def test_tensors_with_gradients_are_taken_wherever_an_environment_gives_them(odd: Make, kind: str) -> None:
    row = WEIGHT.expand(3) * 2
    if kind == "row":
        env = odd(see=lambda n: row).make()
    elif kind == "mapping":
        parts = spaces.Dict({"a": spaces.Box(-9, 9, (3,), np.float32), "b": spaces.Tuple([spaces.Discrete(2)])})
        env = odd(observations=parts, see=lambda n: {"a": row, "b": (1,)}).make()
    elif kind == "end":
        env = odd(end=lambda over: WEIGHT * over).make()
    else:
        env = odd(tell=lambda n: {"loss": row}).make()
    env.reset(seed=0)
    seen = env.step(0)[0]
    assert isinstance(seen, np.ndarray)
    if kind == "row":
        assert seen.tolist() == [2.0, 2.0, 2.0]
    if kind == "mapping":
        assert seen.tolist() == [2.0, 2.0, 2.0, 0.0, 1.0]


def test_an_observation_without_numbers_is_named(odd: Make) -> None:
    env = odd(see=lambda n: torch.zeros(3, device="meta")).make()
    with pytest.raises(BadInput, match=r"after a reset, its observation is .*expected float32 \[3\]"):
        env.reset(seed=0)
