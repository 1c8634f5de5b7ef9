"""Values that are no numbers: masked ones, whole ones that float32 rounds, tensors; wherever arrays come in."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import qwop
from gymnasium import spaces
from gymnasium.error import InvalidAction
from qwop.common.errors import BadInput
from qwop.envs.observed import masked_place
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.envs.vector import make_vector

ROW = spaces.Box(-np.inf, np.inf, (2,), np.float32)
WHOLE = spaces.Box(-(2**60), 2**60, (2,), np.int64)
BEYOND = 2**24 + 1


class Sensor(gymnasium.Env[Any, Any]):
    """An environment of two numbers, which gives what a test puts into it."""

    action_space = spaces.Discrete(2)

    def __init__(self, space: Any = ROW, see: Any = None, pay: Any = 0.0, end: Any = False) -> None:
        self.observation_space, self.see, self.pay, self.end = space, see, pay, end

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.look(), {}

    def step(self, action: Any) -> tuple[Any, Any, Any, bool, dict[str, Any]]:
        return self.look(), self.pay() if callable(self.pay) else self.pay, self.end, False, {}

    def look(self) -> Any:
        if self.see is None:
            return np.zeros(2, self.observation_space.dtype)
        return self.see() if callable(self.see) else self.see


Make = Callable[..., EnvironmentSpec]


@pytest.fixture
def sensor() -> Iterator[Make]:
    def make(**settings: Any) -> EnvironmentSpec:
        gymnasium.register("Sensor-v0", Sensor, kwargs=settings, disable_env_checker=True)
        return EnvironmentSpec("Sensor-v0")

    yield make
    gymnasium.registry.pop("Sensor-v0", None)


def masked(values: Any, *places: Any) -> Any:
    array = np.ma.array(values)
    for place in places:
        array[place] = np.ma.masked
    return array


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (masked(np.zeros((3, 2)), (1, 0)), "[1, 0]"),
        ([np.zeros(2), masked(np.zeros(2), 1)], "[1][1]"),
        ({"speed": masked(np.zeros(2, int), 0)}, "['speed'][0]"),
        ((0, {"a": [np.ma.masked]}), "[1]['a'][0]"),
        (np.ma.masked, ""),
        (masked([1.0, 2.0]), None),
        (np.zeros(3), None),
        ([0, 1], None),
    ],
    ids=range(8),
)
def test_a_masked_value_is_found_at_any_depth(value: Any, place: str | None) -> None:
    assert masked_place(value) == place


SEEN = np.zeros((4, 4), np.float32)


@pytest.mark.parametrize(
    "given",
    [
        {"observations": masked(SEEN, (1, 2))},
        {"observations": [*SEEN[:3], masked(SEEN[3], 0)]},
        {"actions": masked([0, 1, 1], 1)},
        {"rewards": masked([0.0, 1.0, 2.0], 2)},
        {"terminated": masked([False, False, True], 2)},
        {"behaviour_probabilities": masked(np.full((3, 2), 0.5), (0, 0))},
        {"times": masked([0.0, 1.0, 2.0, 3.0], 3)},
        {"observations": np.ma.array(SEEN, mask=True)},
    ],
    ids=lambda given: next(iter(given)),
)
def test_masked_values_are_no_data_of_an_episode(tmp_path: Path, given: dict[str, Any]) -> None:
    known = {"observations": SEEN, "actions": [0, 1, 1], "environment": "CartPole-v1", **given}
    with pytest.raises(BadInput, match=rf"{next(iter(given))}.* is masked, expected a number"):
        qwop.write_episode(tmp_path / "d", **known)
    assert not list(tmp_path.rglob("*.parquet"))
    known = {name: np.ma.getdata(values) if name != "observations" else SEEN for name, values in given.items()}
    qwop.write_episode(
        tmp_path / "d", **{"observations": SEEN, "actions": [0, 1, 1]} | known, environment="CartPole-v1"
    )


def test_whole_numbers_of_an_episode_that_float32_rounds_are_refused(tmp_path: Path, sensor: Make) -> None:
    spec = sensor(space=WHOLE)
    with pytest.raises(BadInput, match=r"\[1, 0\] is 16777217, expected whole numbers that float32 holds"):
        qwop.write_episode(tmp_path / "d", [[0, 0], [BEYOND, 0]], [1], environment=spec)
    qwop.write_episode(tmp_path / "d", [[0, 0], [BEYOND - 1, 2**30]], [1], environment=spec)
    assert qwop.open_dataset(tmp_path / "d")[0].observations[1].tolist() == [2**24, 2**30]


def decide(env: Any) -> None:
    env.reset()
    env.step(0 if isinstance(env, gymnasium.Env) else np.zeros(2, np.int64))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"see": masked(np.zeros(2, np.float32), 1)}, r"observation\[1\] is masked, expected a number"),
        ({"see": [0.5, np.ma.masked]}, r"observation\[1\] is masked"),
        (
            {"space": spaces.Dict({"a": ROW}), "see": {"a": masked(np.zeros(2), 0)}},
            r"observation\['a'\]\[0\] is masked",
        ),
        ({"pay": np.ma.masked}, "reward is --, expected a finite number"),
        ({"pay": masked([1.0], 0)}, "reward is .*, expected a finite number"),
        ({"end": np.ma.masked}, "terminated is --, expected true or false"),
        ({"space": WHOLE, "see": np.array([0, BEYOND])}, r"observation\[1\] is 16777217, expected whole numbers"),
        ({"space": WHOLE, "see": np.array([-BEYOND, 0])}, r"observation\[0\] is -16777217, expected whole"),
        ({"space": WHOLE, "see": [2**53 + 1, 0]}, "is 9007199254740993, expected whole numbers"),
        ({"see": np.array([BEYOND, 0])}, r"observation\[0\] is 16777217"),
        (
            {"space": spaces.Dict({"n": WHOLE}), "see": {"n": np.array([0, BEYOND])}},
            r"observation\['n'\]\[1\] is 16777217",
        ),
    ],
    ids=range(11),
)
def test_an_environment_that_gives_no_numbers_is_named(sensor: Make, settings: dict[str, Any], said: str) -> None:
    for make in (lambda spec: spec.make(), lambda spec: make_vector(spec, 2)):
        env = make(sensor(**settings))
        with pytest.raises(BadInput, match=rf"Sensor-v0.*{said}"):
            decide(env)


def test_observations_of_every_type_are_as_datasets_and_policies_hold_them(sensor: Make) -> None:
    for space in (WHOLE, spaces.Box(0, 1, (2,), np.float64), spaces.Box(-1, 1, (2,), np.int8), spaces.Discrete(2)):
        spec = sensor(space=space, see=1 if isinstance(space, spaces.Discrete) else None)
        env = make_vector(spec, 2)
        seen, _ = env.reset()
        assert (seen.dtype, env.single_observation_space.dtype) == (np.float32, np.float32)
        assert spec.make().reset()[0].dtype == np.float32
    assert make_vector(EnvironmentSpec("Blackjack-v1"), 2).reset(seed=0)[0].dtype == np.float32


def test_whole_numbers_that_float32_rounds_are_not_copied_to_it() -> None:
    with pytest.raises(BadInput, match=r"observations\[0\] is 16777217"):
        ObservationSpec((1,)).array(np.array([BEYOND]))


def test_tensors_are_taken_as_their_numbers(sensor: Make) -> None:
    torch = pytest.importorskip("torch")
    grown = torch.tensor([0.5, 1.0], requires_grad=True)
    for see in (grown, grown.to(torch.bfloat16)):
        spec = sensor(see=lambda see=see: see, pay=lambda: (grown * 2).sum(), end=torch.tensor(True))
        env = make_vector(spec, 2)
        assert env.reset()[0].tolist() == [[0.5, 1.0]] * 2
        seen, rewards, terminated, *_ = env.step(np.zeros(2, np.int64))
        assert (seen.tolist(), rewards.tolist(), terminated.tolist()) == ([[0.5, 1.0]] * 2, [3.0] * 2, [True] * 2)
    space = spaces.Dict({"a": ROW, "b": spaces.Tuple((ROW,))})
    env = sensor(space=space, see=lambda: {"a": grown, "b": (grown,)}).make()
    assert env.reset()[0].tolist() == [0.5, 1.0] * 2


def test_a_policy_decides_about_no_masked_observation() -> None:
    pytest.importorskip("torch")
    champion = qwop.load_policy("champion")
    seen = np.ma.array(np.zeros((1, champion.observation.size), np.float32))
    seen[0, 3] = np.ma.masked
    for use in (champion.act, champion.probabilities):
        with pytest.raises(BadInput, match=r"observations\[0, 3\] is masked"):
            use(seen)


def test_actions_that_are_masked_are_refused(sensor: Make) -> None:
    env = QWOPEnv()
    env.reset()
    batch: Any = gymnasium.make_vec("QWOP-v1", 2)
    batch.reset()
    for act in (
        lambda: env.step(masked(np.array(3), ())),
        lambda: env.advance(masked(np.array(3), ())),
        lambda: batch.step(masked(np.array([3, 3]), 1)),
    ):
        with pytest.raises(InvalidAction, match="expected"):
            act()
