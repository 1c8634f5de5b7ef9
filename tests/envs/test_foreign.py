"""Other packages' environments: values that cannot be used are named where they arise, and films of their games."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import qwop
import torch
from gymnasium.spaces import Box, Dict, Discrete, Tuple
from qwop.common.errors import BadInput
from qwop.envs.spec import Capabilities, ObservationSpec
from qwop.envs.vector import make_vector
from qwop.evaluation.film import film_actions

from ..fakes import ROW, Odd, python
from .conftest import Make

BYTES = Box(0, 255, (3,), np.uint8)
PAIR = Box(-np.inf, np.inf, (2,), np.float32)
WHOLE = Box(-(2**60), 2**60, (2,), np.int64)
BEYOND = 2**24 + 1
WEIGHT = torch.ones(1, requires_grad=True)
NOTHING = np.zeros(2, np.int64)


def masked(values: Any, place: Any = ()) -> Any:
    array = np.ma.array(values)
    array[place] = np.ma.masked
    return array


SEEN = np.zeros((4, 4), np.float32)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("observations", masked(SEEN, (1, 2))), ("observations", [*SEEN[:3], masked(SEEN[3], 0)]),
        ("actions", masked([0, 1, 1], 1)), ("rewards", masked([0.0, 1.0, 2.0], 2)),
        ("terminated", masked([False, False, True], 2)), ("times", masked([0.0, 1.0, 2.0, 3.0], 3)),
        ("behaviour_probabilities", masked(np.full((3, 2), 0.5), (0, 0))),
    ],
)  # fmt: skip
def test_masked_values_are_no_data_of_an_episode(tmp_path: Path, name: str, values: Any) -> None:
    episode = {"observations": SEEN, "actions": [0, 1, 1], "environment": "CartPole-v1", name: values}
    with pytest.raises(BadInput, match=rf"{name}.* is masked, expected a number"):
        qwop.write_episode(tmp_path / "d", **episode)
    assert not list(tmp_path.rglob("*.parquet"))
    qwop.write_episode(tmp_path / "d", **{**episode, name: SEEN if name == "observations" else np.ma.getdata(values)})


def play(env: Any, action: Any = 0) -> None:
    env.reset(seed=0)
    for _ in range(3):
        env.step(action)


def broken(value: float, type_: Any = np.float64, at: int = 2) -> Any:
    return lambda n: np.array([0, value if n == at else 0, 0], type_)


def raising(error: BaseException, at: int) -> Any:
    def see(n: int) -> Any:
        if n == at:
            raise error
        return np.zeros(3, np.float32)

    return see


PARTS = Dict({"speed": ROW, "place": Discrete(2)})


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"see": broken(np.inf)}, r"after decision 2 of a game, its observation\[1\] is inf"),
        ({"see": broken(np.nan)}, r"observation\[1\] is nan"),
        ({"see": broken(np.nan, np.float32)}, r"after decision 2 of a game, its observation\[1\] is nan"),
        ({"see": broken(np.nan, np.float32, at=3)}, r"after decision 3 of a game, its observation\[1\] is nan"),
        ({"see": broken(1e300)}, r"observation\[1\] is 1e\+300"),
        ({"see": np.zeros(4)}, r"after a reset, its observation is float64 \[4\], expected float32 \[3\]"),
        ({"see": lambda n: [0, [1, 2]]}, r"observation is \[0, \[1, 2\]\], expected float32 \[3\]"),
        ({"see": lambda n: None}, r"observation is null, expected float32 \[3\]"),
        ({"observations": PARTS, "see": {"speed": broken(np.nan)(2), "place": 0}}, r"observation\[3\] is nan"),
        ({"observations": BYTES, "see": [0, 0.5, 1]}, r"observation\[1\] is 0.5, expected whole numbers that uint8"),
        ({"observations": BYTES, "see": [0, 1, 256]}, r"observation\[2\] is 256, expected whole numbers that uint8"),
        ({"observations": WHOLE, "see": np.array([0, BEYOND])}, r"observation\[1\] is 16777217, expected whole"),
        ({"observations": WHOLE, "see": [2**53 + 1, 0]}, "is 9007199254740993, expected whole numbers"),
        ({"observations": PAIR, "see": np.array([BEYOND, 0])}, r"observation\[0\] is 16777217"),
        ({"observations": Dict({"n": WHOLE}), "see": {"n": np.array([0, -BEYOND])}}, r"observation\[1\] is -16777217"),
        ({"pay": lambda n: np.nan if n == 3 else 0}, "after decision 3 of a game, its reward is nan"),
        ({"pay": lambda n: np.inf if n == 2 else 0.0}, "after decision 2 of a game, its reward is inf"),
        ({"pay": lambda n: None}, "its reward is null, expected a finite number"),
        ({"pay": np.ones(2)}, "its reward is .*, expected a finite number"),
        ({"see": masked([0.0, 1.0, 2.0], 1)}, r"after a reset, its observation\[1\] is masked"),
        ({"observations": PARTS, "see": {"speed": masked([0, 1, 2], 2), "place": 0}},
         r"observation\['speed'\]\[2\] is masked"),
        ({"pay": np.ma.masked}, "its reward is .*, expected a finite number"),
        ({"end": lambda over: None}, "its terminated is null, expected true or false"),
        ({"end": lambda over: 2}, "its terminated is 2, expected true or false"),
        ({"end": lambda over: "False"}, "its terminated is False, expected true or false"),
        ({"tell": lambda n: None}, "info is null, expected a dictionary"),
        ({"tell": np.ones(2)}, r"info is \[1. 1.\], expected a dictionary"),
        ({"see": raising(KeyError("speed"), 2)},
         r"its step failed in decision 2 of a game \(KeyError: 'speed'; test_foreign.py, line \d+\); mend"),
        ({"end": lambda over: np.array([over, over])}, "after decision 1 of a game, its terminated is"),
        ({"observations": Discrete(2), "see": 5}, r"its reset failed \(ValueError: 5 is not in Discrete\(2\)"),
        ({"observations": Dict({"n": PAIR}), "see": {}}, r"its reset failed \(KeyError: 'n'"),
        ({"see": raising(SystemExit("no display"), 0)}, r"its reset failed \(SystemExit: no display"),
    ],
    ids=range(32),
)  # fmt: skip
def test_what_cannot_be_used_is_named_where_it_arises(odd: Make, settings: dict[str, Any], complaint: str) -> None:
    spec = odd(**settings)
    for env, action in ((spec.make(), 0), (make_vector(spec, 2), NOTHING)):
        with pytest.raises(BadInput, match=rf"Odd-v0\(\): .*{complaint}") as refusal:
            play(env, action)
        assert "\n" not in str(refusal.value)


def test_an_environment_that_cannot_be_drawn_or_lacks_a_setting_says_so(odd: Make) -> None:
    env = odd().make(render_mode="rgb_array")
    env.reset()
    with pytest.raises(BadInput, match=r"its render failed \(NotImplementedError"):
        env.render()
    with pytest.raises(BadInput, match="no setting render_mode; it cannot be drawn"):
        odd(lambda: Odd()).make(render_mode="rgb_array")
    with pytest.raises(BadInput, match=r"'size'.*; register it with values for what it lacks \(kwargs of"):
        odd(lambda size: Odd()).interface()


def test_an_environment_may_use_any_name_in_its_infos(odd: Make) -> None:
    info = {"time": "12:30", "distance": {"front": 1.0}, "outcome": 7, "clock": None, "restarted": "yes", "score": []}
    env = make_vector(odd(tell=info), 2)
    env.reset(seed=0)
    for _ in range(3):
        *_, infos = env.step(NOTHING)
    assert not {*info} & ({*infos} | {*infos["final_info"]})


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
    kept = [env.reset()[0], *(env.step(0)[0] for _ in range(3))]
    assert [row[0] for row in kept] == [0, 1, 2, 3]


def test_an_environment_that_cannot_be_closed_is_a_note(
    odd: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def close(env: Odd) -> None:
        raise RuntimeError("display Surface quit\nand more")

    spec = odd()
    monkeypatch.setattr(Odd, "close", close)
    spec.interface()
    for _ in range(2):
        env = spec.make()
        play(env)
        env.reset()
        env.close()
    (note,) = capsys.readouterr().err.splitlines()
    assert note.startswith("note: environment Odd-v0(): closing it failed (RuntimeError: display Surface quit); ")


GROWN = WEIGHT.expand(3) * 2
MIXED = Dict({"a": Box(-9, 9, (3,), np.float32), "b": Tuple([Discrete(2)])})
NONE = [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("settings", "row", "reward"),
    [
        *(({"pay": pay}, NONE, 2.0) for pay in (2, np.float16(2), np.array([[2]]), WEIGHT * 2)),
        ({"observations": BYTES, "see": lambda n: np.array([n, 1.0, 255.0])}, [0, 1, 255], 1.0),
        ({"see": GROWN.to(torch.bfloat16)}, [2.0, 2.0, 2.0], 1.0),
        ({"observations": MIXED, "see": {"a": GROWN, "b": (1,)}}, [2.0, 2.0, 2.0, 0.0, 1.0], 1.0),
        ({"end": lambda over: WEIGHT * over, "tell": {"loss": GROWN}}, NONE, 1.0),
    ],
    ids=range(8),
)
def test_numbers_of_other_types_and_tensors_with_gradients_are_taken(
    odd: Make, settings: dict[str, Any], row: list[float], reward: float
) -> None:
    env = make_vector(odd(**settings), 2)
    assert env.reset(seed=0)[0].tolist() == [row] * 2
    steps = [env.step(NOTHING) for _ in range(3)]
    assert steps[0][1].tolist() == [reward] * 2
    assert [step[2].tolist() for step in steps] == [[False] * 2, [False] * 2, [True] * 2]


def test_a_policy_decides_about_no_masked_observation() -> None:
    champion = qwop.load_policy("champion")
    seen = masked(np.zeros((1, champion.observation.size), np.float32), (0, 3))
    for use in (champion.act, champion.probabilities):
        with pytest.raises(BadInput, match=r"observations\[0, 3\] is masked"):
            use(seen)


PICTURE = np.zeros((8, 8, 3), np.uint8)
CHANCE = np.random.default_rng()


@pytest.mark.parametrize(
    ("last", "complaint"),
    [
        (None, "are <class 'NoneType'>, expected uint8 [height, width, 3]"), ([[0, 1]], "are <class 'list'>"),
        (np.zeros((8, 8, 3)), "are float64 [8, 8, 3]"),
        (np.zeros((3, 8, 8), np.uint8), "are uint8 [3, 8, 8], expected"),
        (np.zeros((0, 0, 3), np.uint8), "are uint8 [0, 0, 3], expected"),
        (np.zeros((9, 8, 3), np.uint8), "change their size, from [8, 8, 3] to [9, 8, 3]"), (PICTURE, None),
    ],
    ids=range(7),
)  # fmt: skip
def test_pictures_that_cannot_be_filmed_are_the_reason_for_a_missing_film(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: Make, last: Any, complaint: str | None
) -> None:
    monkeypatch.setattr(Odd, "pictures", [PICTURE, last])
    why = film_actions(
        tmp_path / "it.mp4", odd(), 0, np.zeros(1, np.int16), np.zeros((2, 3), np.float32), lambda *_: None
    )
    assert why is None if complaint is None else f"pictures {complaint}" in str(why).replace("(rgb_array) ", "")
    assert (tmp_path / "it.mp4").exists() is (complaint is None)


@pytest.mark.parametrize(("wanders", "kept"), [(0, 4), (2, 4), (3, 1)])
def test_a_film_does_not_show_another_game_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: Make, wanders: int, kept: int
) -> None:
    """An environment that does not draw its chances from its seed, in its observation of this number."""
    monkeypatch.setattr(Odd, "pictures", (PICTURE,) * 4)
    actions, seen = np.zeros(3, np.int16), np.full((4, 3), 0.5, np.float32)[-kept:]
    for where, same in ((wanders, False), (9, True)):
        spec = odd(see=lambda n, where=where: np.full(3, CHANCE.random() if n == where else 0.5, np.float32))
        why = film_actions(tmp_path / f"{same}.mp4", spec, 0, actions, seen, lambda *_: None)
        assert why is None if same else "the same seed and actions give another game; " in str(why)
        assert (tmp_path / f"{same}.mp4").exists() is same
    changed = film_actions(tmp_path / "it.mp4", spec, 0, actions, np.ones((kept, 2)), lambda *_: None)
    assert "the environment was changed" in str(changed)


CODE = """
import os
from qwop.envs.spec import EnvironmentSpec
env = EnvironmentSpec("CartPole-v1").make(render_mode="rgb_array")
env.reset(seed=0)
print(env.render().shape, os.environ["SDL_VIDEODRIVER"])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a display")
def test_a_drawing_without_a_display_reports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    done = python(CODE, tmp_path)
    assert (done.returncode, done.stdout) == (0, "(400, 600, 3) dummy\n"), done.stderr
    assert "XDG_RUNTIME_DIR" not in done.stderr
