"""Films of other packages' environments: their pictures, rates, the same game, and machines without a display."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.evaluation.film import film_actions

from .conftest import Make
from .odd import Odd

PICTURE = np.zeros((8, 8, 3), np.uint8)
CHANCE = np.random.default_rng()
PLAYED: Any = (0, np.zeros(1, np.int16), np.zeros((2, 3), np.float32), lambda *_: None)
"""The seed, the actions and the observations of a decision in `Odd`, and no progress."""


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (None, "pictures (rgb_array) are <class 'NoneType'>, expected uint8 [height, width, 3]"),
        ([[0, 1]], "pictures (rgb_array) are <class 'list'>"),
        (np.zeros((8, 8, 3)), "pictures (rgb_array) are float64 [8, 8, 3]"),
        (np.zeros((9, 8, 3), np.uint8), "pictures change their size, from [8, 8, 3] to [9, 8, 3]"),
        (np.zeros((3, 8, 8), np.uint8), "pictures (rgb_array) are uint8 [3, 8, 8], expected"),
        (np.zeros((0, 0, 3), np.uint8), "pictures (rgb_array) are uint8 [0, 0, 3], expected"),
        (PICTURE, None),
    ],
    ids=range(7),
)
def test_pictures_that_cannot_be_filmed_are_the_reason_for_a_missing_film(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: Make, last: Any, said: str | None
) -> None:
    monkeypatch.setattr(Odd, "pictures", [PICTURE, last])
    why = film_actions(tmp_path / "it.mp4", odd(), *PLAYED)
    assert why is None if said is None else said in str(why)
    assert (tmp_path / "it.mp4").exists() is (said is None)


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
from qwop.envs.spec import EnvironmentSpec
env = EnvironmentSpec("CartPole-v1").make(render_mode="rgb_array")
env.reset(seed=0)
print(env.render().shape)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a display")
def test_nothing_is_said_about_the_display() -> None:
    pytest.importorskip("pygame")
    without = ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "SDL_VIDEODRIVER")
    own = {name: value for name, value in os.environ.items() if name not in without}
    done = subprocess.run([sys.executable, "-c", CODE], env=own, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "(400, 600, 3)\n"), done.stderr
    assert "XDG_RUNTIME_DIR" not in done.stderr
