import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from qwop.common.command import Command
from qwop.common.imports import VARIABLE
from qwop.envs.original.browser import BROWSERS
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.devices import use_one_thread
from qwop.policies.files import ARCHITECTURES
from qwop.policies.networks import Network, State
from qwop.policies.policy import Policy
from torch import Tensor, nn

if importlib.util.find_spec("absl"):  # TensorBoard brings it
    from absl import logging as absl_logging

    # Its handler keeps the stream that it finds as it is imported, here the one that pytest captures with, and closes
    # it when Hydra sets up logging; the real one it leaves open.
    absl_logging.get_absl_handler().python_handler.setStream(sys.__stderr__)


# A shell's background jobs ignore Ctrl-C and those of nohup hang-ups, which tests send to themselves and to commands.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


EXTRAS = {
    "ale_py": "atari", "Box2D": "box2d", "d3rlpy": "d3rlpy", "minigrid": "minigrid",
    "pynput": "keyboard", "ray": "ray", "selenium": "browser", "stable_baselines3": "sb3",
}  # fmt: skip
"""The extra that brings a module which the extra `test` does not."""
FIXTURES = {"chromium": "selenium", "browser": "selenium"}
"""Fixtures whose tests need a module."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in an order drawn with this seed")


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what needs a module that is not installed; shuffle if asked."""
    if (seed := config.getoption("--shuffle")) is not None:
        random.Random(seed).shuffle(items)
    for item in items:
        for fixture in FIXTURES.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.needs(module=FIXTURES[fixture]))
        for marker in list(item.iter_markers("needs")):
            module = marker.kwargs["module"]
            if importlib.util.find_spec(module) is None:
                brought = f" (the extra '{EXTRAS[module]}')" if module in EXTRAS else ""
                item.add_marker(pytest.mark.skip(reason=f"needs {module}{brought}"))


class Alternating(Network):
    """A network with a state: decision t of an episode is most probably action t modulo the number of actions.

    Its state is t, int64 [n, 1], and the sum of the observations so far, float32 [n, *shape], by whose mean the
    probabilities vary a little.
    """

    architecture = "alternating"

    def __init__(self, observation: ObservationSpec, actions: int) -> None:
        super().__init__(observation, actions)
        self.weight = nn.Parameter(torch.tensor(4.0))

    def initial_state(self, n: int) -> State:
        return torch.zeros(n, 1, dtype=torch.int64), torch.zeros(n, *self.observation.shape)

    def step(self, observations: Tensor, state: State) -> tuple[Tensor, State]:
        decision, total = state
        following = decision + 1, total + observations
        turn = nn.functional.one_hot(decision[:, 0] % self.actions, self.actions)
        return turn * (self.weight + following[1].flatten(1).mean(1, keepdim=True).sin()), following


@pytest.fixture
def alternating(monkeypatch: pytest.MonkeyPatch) -> Callable[[EnvironmentSpec], Policy]:
    """Makes a policy with a state for an environment; its files can be loaded."""
    monkeypatch.setitem(ARCHITECTURES, Alternating.architecture, Alternating)

    def make(environment: EnvironmentSpec) -> Policy:
        observation, actions = environment.interface()
        return Policy(Alternating(observation, actions), environment, observation)

    return make


class Done(NamedTuple):
    """Exit code of a command, and what it said on either stream."""

    code: int
    out: str
    err: str

    def output(self) -> str:
        """What the command printed, which must have succeeded."""
        assert self.code == 0, self.err
        return self.out

    def refusal(self) -> str:
        """The one line with which the command was refused."""
        assert self.code == 2, self.out
        assert len(self.err.strip().splitlines()) == 1, self.err
        return self.err


@pytest.fixture
def run_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs a command with these arguments in this process."""

    def run(command: Command[Any], *arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", [command.program, *arguments])
        try:
            command()
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return run


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    use_one_thread()


@pytest.fixture(autouse=True)
def modules_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that a test's command line names are not those of the next one."""
    monkeypatch.setenv(VARIABLE, "")


@pytest.fixture(scope="session")
def chromium() -> None:
    """Skips without a browser; Selenium is there, or the test would not run."""
    if not any(map(shutil.which, BROWSERS)) or not shutil.which("chromedriver"):
        pytest.skip("no Chromium with its ChromeDriver on the path")


@pytest.fixture(scope="session")
def fake() -> Path:
    """The page of a toy that has the names of the original's properties."""
    return Path(__file__).parent / "envs" / "original" / "fake"


@pytest.fixture(scope="session")
def original(chromium: None) -> str:
    """A local copy of the original game; it is not ours to ship."""
    folder = os.environ.get("QWOP_ORIGINAL")
    if not folder:
        pytest.skip("QWOP_ORIGINAL is not set: the folder of a local copy of the original game")
    return folder


@pytest.fixture(scope="session")
def trigonometry(original: str) -> str:
    """The library of sines and cosines by which the browser plays three random games as the simulator does."""
    from qwop.envs import replay
    from qwop.envs.engine.interface import TRIGONOMETRIES
    from qwop.envs.original.page import OriginalPage, PageSettings

    generator = np.random.default_rng(1)
    games = [generator.integers(0, 16, 80).repeat(10).astype(np.uint8) for _ in range(3)]
    played = []
    with OriginalPage(PageSettings(folder=original)) as page:
        for keys in games:
            page.new_game()
            played.append(page.play(keys).states)
    for name in TRIGONOMETRIES:
        ours = (replay(keys, trigonometry=name).states[1:] for keys in games)
        if all(map(np.array_equal, played, ours)):
            return name
    pytest.fail(f"the browser calculates by neither of {', '.join(TRIGONOMETRIES)}")


@pytest.fixture
def present_browser(trigonometry: str) -> None:
    """Skips in browsers that calculate as those before 2023, whose games differ from the environment's."""
    if trigonometry != "current":
        pytest.skip(f"this browser calculates by {trigonometry}")


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A screen of our own, for programs that are started; skips without Xvfb and xdotool."""
    for program in ("Xvfb", "xdotool"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1024x800x24", "-noreset"],
        pass_fds=[write], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(write)
    with os.fdopen(read) as told:
        number = told.readline().strip()
    monkeypatch.setenv("DISPLAY", f":{number}")
    yield f":{number}"
    server.terminate()
    server.wait()


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], list[tuple[int, bool]]]:
    """Note, from now on, what is synced to the disk: its inode, and whether this path exists by then."""

    def note(path: Path) -> list[tuple[int, bool]]:
        found: list[tuple[int, bool]] = []
        fsync = os.fsync

        def noted(descriptor: int) -> None:
            fsync(descriptor)
            found.append((os.fstat(descriptor).st_ino, path.exists()))

        monkeypatch.setattr(os, "fsync", noted)
        return found

    return note
