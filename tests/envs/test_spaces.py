"""Spaces of other packages' environments: every discrete action, and observations as numbers."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from qwop.common.errors import BadInput
from qwop.envs.actions import action_names, actions_of, form_of, numbers_of
from qwop.envs.spec import EnvironmentSpec, ObservationSpec, interface_of
from qwop.envs.vector import make_vector

from ..fakes import Odd
from .conftest import Make

ACTIONS: list[Any] = [
    (Discrete(3, start=-1), [-1, 0, 1]),
    (Discrete(2, start=1, dtype=np.uint8), [1, 2]),
    (MultiBinary([1, 2]), [[[0, 0]], [[1, 0]], [[0, 1]], [[1, 1]]]),
    (MultiDiscrete([2, 3]), [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]),
    (MultiDiscrete([2], start=[5]), [[5], [6]]),
    (Tuple((Discrete(2), MultiBinary(1))), [[0, [0]], [0, [1]], [1, [0]], [1, [1]]]),
    (Dict({"a": Discrete(1), "b": Discrete(2)}), [{"a": 0, "b": 0}, {"a": 0, "b": 1}]),
]


@pytest.mark.parametrize(("space", "forms"), ACTIONS, ids=lambda one: str(one)[:24])
def test_each_number_is_one_action_that_the_environment_takes(odd: Make, space: Any, forms: list[Any]) -> None:
    spec = odd(actions=space)
    assert spec.interface() == (ObservationSpec((3,)), len(forms))
    assert all(map(space.contains, actions_of(space)))
    assert [*numbers_of(space)] == [*map(form_of, forms)]
    env, games = spec.make(), make_vector(spec, 2)
    assert env.action_space == Discrete(len(forms))
    env.reset()
    games.reset(seed=0)
    numbers = [0, 1, len(forms) - 1]
    for number in numbers:
        env.step(number)
    games.step(np.array([0, len(forms) - 1]))
    taken = env.unwrapped.taken + [one.unwrapped.taken[0] for one in games.envs]  # type: ignore[attr-defined]
    assert [*map(form_of, taken)] == [form_of(forms[number]) for number in (*numbers, 0, -1)]
    names = action_names(env)
    assert names is not None
    assert len(set(names)) == len(forms)


def test_an_action_may_be_given_by_truths_and_in_any_order_of_its_parts() -> None:
    assert form_of({"b": [True, False], "a": np.int64(1)}) == form_of({"a": 1, "b": np.array([1, 0])})


ONE = Box(-1, 1, (1,), np.float32)
HALF = np.array([0.5], np.float32)

OBSERVATIONS: list[Any] = [
    (Discrete(3), 2, [0, 0, 1]),
    (Box(0, 1, (), np.float32), HALF[0], [0.5]),
    (Dict({"b": Discrete(2), "a": ONE}), {"a": HALF, "b": 1}, [0.5, 0, 1]),
    (Tuple((ONE, MultiBinary(2))), (HALF, np.array([1, 0], np.int8)), [0.5, 1, 0]),
    (Dict({"mission": Text(9), "place": Discrete(2)}), {"mission": "go", "place": 1}, [0, 1]),
    (Dict({"place": Discrete(2), "said": Dict({"mission": Text(9), "b": ONE})}),
     {"place": 1, "said": {"mission": "go", "b": HALF}}, [0, 1, 0.5]),
    (Tuple((Text(9), ONE, Dict({"mission": Text(9)}), Discrete(2))), ("go", HALF, {"mission": "go"}, 1), [0.5, 0, 1]),
    (Box(-(2**60), 2**60, (2,), np.int64), np.array([3, 4]), [3, 4]),
    (Box(0, 1, (1,), np.float64), np.array([0.25]), [0.25]),
    (Box(-9, 9, (1,), np.int8), np.array([-3], np.int8), [-3]),
]  # fmt: skip


@pytest.mark.parametrize(("space", "value", "row"), OBSERVATIONS, ids=lambda one: str(one)[:24])
def test_observations_of_numbers_become_rows_of_float32(odd: Make, space: Any, value: Any, row: list[float]) -> None:
    spec = odd(observations=space, see=lambda n: value)
    observation, _ = spec.interface()
    assert observation == ObservationSpec((len(row),))
    for env, rows in ((spec.make(), row), (make_vector(spec, 2), [row, row])):
        first = env.reset()[0]
        assert (first.tolist(), first.dtype) == (rows, np.float32)


def test_a_picture_alone_in_a_mapping_stays_a_picture_of_bytes(odd: Make) -> None:
    pictures = Box(0, 255, (40, 40, 3), np.uint8)
    spec = odd(observations=Dict({"image": pictures}), see=lambda n: {"image": np.full((40, 40, 3), 7.0)})
    assert spec.interface()[0] == ObservationSpec((40, 40, 3), "uint8")
    assert (make_vector(spec, 2).reset(seed=0)[0] == 7).all()


@pytest.mark.parametrize(
    ("actions", "observations", "complaint"),
    [
        (Box(-1, 1, (2,)), ONE, r"continuous; expected Discrete\(n\), MultiBinary.*Stable-Baselines3"),
        (Box(0, 255, (2,), np.uint8), ONE, r"uint8\); expected Discrete\(n\), .* or Dict of these; wrap the env"),
        (MultiBinary(16), ONE, "65,536 in all, expected at most 1,024; wrap"),
        (Discrete(100_000), ONE, "100,000 in all, expected at most 32,767"),
        (Tuple((Discrete(2), Box(0, 1))), ONE, r"expected Discrete\(n\), MultiBinary"),
        (Discrete(2), Text(5), "expected a Box of numbers or an image, discrete ones, or a Dict or Tuple"),
        (Discrete(2), spaces.Sequence(Discrete(2)), "expected a Box of numbers"),
        (Discrete(2), Box(0, 1, (0,)), r"observation shape \[0\]: expected up to 8 sizes of at least 1"),
        (Discrete(2), Box(0, 1, (20_000_000,)), r"\[20000000\]: .* together at most 16,777,216 numbers"),
    ],
    ids=str,
)  # fmt: skip
def test_other_spaces_are_refused_with_what_would_be_taken(actions: Any, observations: Any, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        interface_of(observations, actions, "one")


@pytest.mark.parametrize(
    ("shape", "channels", "height", "width"),
    [
        ((84, 84), 1, 84, 84), ((84, 84, 3), 3, 84, 84), ((84, 84, 9), 9, 84, 84), ((210, 160, 12), 12, 210, 160),
        ((3, 84, 84), 3, 84, 84), ((12, 210, 160), 12, 210, 160), ((64, 36, 36), 64, 36, 36),
        ((4, 84, 84, 3), 12, 84, 84), ((4, 3, 84, 84), 12, 84, 84),
    ],
)  # fmt: skip
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


def test_whole_numbers_that_float32_rounds_are_not_copied_to_it() -> None:
    with pytest.raises(BadInput, match=r"observations\[0\] is 16777217"):
        ObservationSpec((1,)).array(np.array([2**24 + 1]))


class Named(Odd):
    """An environment that names its actions by an attribute that a test sets, and lists them only once it is played."""

    meanings: Any = None

    def get_action_meanings(self) -> Any:
        return self.meanings()

    @property
    def actions(self) -> Any:
        return {}["level"]


@pytest.mark.parametrize(
    ("meanings", "names"),
    [
        (lambda: ["go", "stop"], ("go", "stop")),
        (lambda: {0: "a", 1: 2}, ("a", "2")),
        (lambda: ["down\nleft", "\udc80"], ("down\\nleft", "\\udc80")),
        (lambda: ["too", "many", "names"], None),
        (lambda: 2, None),
        (lambda: None, None),
    ],
)
def test_an_environment_names_its_actions(monkeypatch: pytest.MonkeyPatch, meanings: Any, names: Any) -> None:
    monkeypatch.setattr(Named, "meanings", staticmethod(meanings))
    assert action_names(Named()) == names


def test_names_that_fail_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Named, "meanings", staticmethod(lambda: {}["up"]))
    with pytest.raises(BadInput, match=r"its get_action_meanings failed \(KeyError: 'up'\); mend the environment"):
        action_names(Named())


def test_names_are_those_of_a_well_known_environment_or_there_are_none() -> None:
    assert EnvironmentSpec("CartPole-v1").spaces.action_names == ("push left", "push right")
    assert EnvironmentSpec("Blackjack-v1").spaces.action_names is None
