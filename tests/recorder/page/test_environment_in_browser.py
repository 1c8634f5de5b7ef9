"""Other environments on the page in a real browser, played by key events; then cloned and watched."""

import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from qwop.datasets import Dataset, open_dataset
from qwop.datasets.control import PERSON, POLICY
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

from ...play.page import lift, open_browser, touch
from .recording_page import RecordingPage

UP, LEFT, RIGHT, BACKSPACE = "\ue013", "\ue012", "\ue014", "\ue003"


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Callable[..., RecordingPage]]:
    opened: list[RecordingPage] = []

    def of(id: str, *more: str) -> RecordingPage:
        opened.append(RecordingPage(browser, tmp_path / "games", "source=environment", f"source.id={id}", *more))
        return opened[-1]

    yield of
    for page in opened:
        page.stop()


def actions_of(games: Dataset) -> set[int]:
    """All actions of all games; a page on a busy machine skips frames, so a single game may lack some."""
    return {action for game in games for action in game.actions.tolist()}


def run(command: str, *arguments: str) -> str:
    program = Path(sysconfig.get_path("scripts")) / command
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def test_a_game_played_by_keys_is_in_the_dataset(open_page: Callable[..., RecordingPage]) -> None:
    page = open_page("CartPole-v1")
    page.press(RIGHT)
    page.wait("playing")
    page.keys().key_down(RIGHT).perform()
    page.wait("over")
    page.keys().key_up(RIGHT).perform()
    (episode,) = open_dataset(page.folder)
    assert set(episode.actions.tolist()) == {1}
    assert page.text("detail") == "Recorded as game 1."
    assert page.text("title") == f"Game over: return {len(episode)}.0 in {len(episode)} steps"
    assert page.browser.get_log("browser") == []
    assert "terminated 1" in page.stop()


def test_a_game_is_played_by_touch_alone(tmp_path: Path) -> None:
    phone = open_browser(phone=True)
    page = RecordingPage(phone, tmp_path / "games", "source=environment", "source.id=CartPole-v1")
    try:
        touch(phone, "#choices .main")
        lift(phone)
        page.wait("playing")
        touch(phone, '[data-key="arrowright"]')
        page.wait("over")
        lift(phone)
        (episode,) = open_dataset(page.folder)
        assert set(episode.actions.tolist()) == {1}
        shown = [choice.text for choice in page.find("#choices button")]
        assert shown == ["Keep and play again", "Discard"]  # no "(R)" and "(X)": a phone has no keys
    finally:
        page.stop()
        phone.quit()


def test_a_policy_is_corrected_by_keys(browser: Any, tmp_path: Path) -> None:
    spec = EnvironmentSpec("MountainCar-v0")
    observation, actions = spec.interface()
    network = ActorCritic(observation, actions, (16,), torch.Generator().manual_seed(1))
    file = save_policy(tmp_path / "policy.safetensors", Policy(network, spec, observation))
    coached = (f"source.policy={file}", "source.release=0.2", "source.back=0.5", "source.fps=15")
    page = RecordingPage(browser, tmp_path / "games", "source=environment", "source.id=MountainCar-v0", *coached)
    browser.get_log("browser")  # of earlier pages, whose recorders have ended

    def who() -> str:
        return str(browser.execute_script("return document.getElementById('who').dataset.who"))

    try:
        page.press("r")
        page.wait("playing")
        page.wait_until(lambda: float(page.text("metres").split()[1]) <= -15, "a second along")
        assert who() == "policy"
        page.keys().key_down(RIGHT).perform()
        page.wait_until(lambda: who() == "person", "in the person's hands")
        page.keys().key_up(RIGHT).perform()
        page.wait_until(lambda: who() == "policy", "released")
        before = float(page.text("metres").split()[1])
        page.press(BACKSPACE)
        page.wait_until(lambda: float(page.text("metres").split()[1]) > before, "back")
        assert who() == "waiting"
        page.press("t")
        page.wait_until(lambda: who() == "person", "handed over")
        page.keys().key_down(LEFT).pause(0.3).key_up(LEFT).perform()
        page.press("m")
        assert page.text("speed") == "1/2 speed"
        page.press("r")
        page.wait_until(lambda: len(page.recorded()) >= 2, "written")
        assert page.browser.get_log("browser") == []
    finally:
        page.stop()
    line, branch = [*open_dataset(page.folder)][:2]
    assert branch.branch is not None
    for game in (line, branch):
        assert game.actors is not None
        assert {*game.actors.tolist()} == {POLICY, PERSON}


@pytest.mark.slow
@pytest.mark.needs(module="Box2D")
def test_lunar_lander_is_played_cloned_and_watched(open_page: Callable[..., RecordingPage], tmp_path: Path) -> None:
    page = open_page("LunarLander-v3", "source.fps=50")
    assert [help.text for help in page.find(".key-help li")] == ["←left engine", "↑main engine", "→right engine"]
    for _ in range(3):
        page.press("r")
        page.wait("playing")
        page.keys().key_down(UP).pause(0.3).key_up(UP).key_down(LEFT).pause(0.3).key_up(LEFT).perform()
        page.wait("over")
    page.stop()
    games = open_dataset(page.folder)
    assert all(game.terminated for game in games)
    assert {0, 1, 2} <= actions_of(games)
    clone = tmp_path / "clone"
    assert "decisions of episodes held out" in run(
        "qwop-pretrain", f"dataset={page.folder}", f"out={clone}", "epochs=2", "games=1"
    )
    run("qwop-watch", f"dataset={page.folder}", "episode=2", f"out={tmp_path / 'game.html'}")
    run("qwop-watch", f"policy={clone / 'policy.safetensors'}", f"out={tmp_path / 'clone.mp4'}")
    assert "data:video/mp4;base64," in (tmp_path / "game.html").read_text()
    assert (tmp_path / "clone.mp4").read_bytes()[4:8] == b"ftyp"


@pytest.mark.exhaustive
@pytest.mark.needs(module="ale_py")
def test_an_atari_game_is_played_cloned_and_watched(open_page: Callable[..., RecordingPage], tmp_path: Path) -> None:
    page = open_page("ALE/Breakout-v5", "source.settings={obs_type: ram}", "source.fps=60")
    for number in range(3):
        page.press("r")  # the game before is kept, as far as it was played
        page.wait("playing")
        page.keys().key_down(" ").pause(0.2).key_up(" ").key_down("d").pause(0.3).key_up("d").perform()
        page.wait_until(lambda of=number: len(page.recorded()) == of, "written")
    page.stop()
    games = open_dataset(page.folder)
    assert games.info.observation.shape == (128,)
    assert all(game.truncated for game in games)
    assert {1, 2} <= actions_of(games)
    clone = tmp_path / "clone"
    run("qwop-pretrain", f"dataset={page.folder}", f"out={clone}", "epochs=2", "games=0")
    run("qwop-watch", f"dataset={page.folder}", "episode=0", f"out={tmp_path / 'game.mp4'}")
    assert (tmp_path / "game.mp4").read_bytes()[4:8] == b"ftyp"
