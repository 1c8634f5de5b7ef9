"""Pictures of other packages' environments on a machine without a display."""

import os
import subprocess
import sys

import pytest

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
