"""Policies that are corrected, and other environments, in a real browser: by key events and by touch."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.datasets.control import PERSON, POLICY
from qwop.datasets.verify import verify
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.files import save_policy

from ...fakes import untrained
from ...play.page import lift, touch
from .recording_page import RecordingPage

pytestmark = pytest.mark.needs(module="selenium")

LEFT, RIGHT, BACKSPACE, ESCAPE, ENTER = "\ue012", "\ue014", "\ue003", "\ue00c", "\ue007"
CHAMPION = ("source=page", "source.policy=champion", "source.release=0.3", "source.back=1")


@pytest.mark.slow
def test_a_policy_is_corrected(open_page: Callable[..., RecordingPage]) -> None:
    page = open_page(*CHAMPION, "source.player=me")
    page.press(ENTER)
    page.wait("playing")
    page.wait_until(lambda: page.seconds() > 3, "three seconds along")
    page.browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "key": "ы", "code": "KeyS"})
    assert page.text("speed") == "1/2 speed"  # also on another keyboard
    page.press("s")  # or a busy machine is too late, and the runner has fallen
    assert page.text("speed") == "1/4 speed"
    assert page.who() == "policy"
    page.keys().key_down("q").perform()
    page.wait_for("person")
    page.keys().key_up("q").perform()
    page.wait_for("policy")
    page.press("t")
    page.wait_for("person")
    page.press("t")
    page.wait_for("policy")
    page.press(BACKSPACE)
    page.wait_for("waiting")
    time.sleep(0.5)  # until the newest frame is drawn
    stands = page.seconds()
    time.sleep(0.3)
    assert page.seconds() == stands
    page.press(BACKSPACE)  # again: nothing was played, so no episode is left
    page.wait_until(lambda: page.seconds() < stands, "further back")
    page.press(ESCAPE)  # a game that waits is paused, not left
    page.wait("paused")
    page.press(ESCAPE)
    page.wait("playing")
    assert page.who() == "waiting"
    page.press("s")
    assert page.text("speed") == ""
    page.keys().key_down("q").key_down("p").perform()
    page.wait_for("person")
    page.wait("over")
    page.keys().key_up("q").key_up("p").perform()
    page.press(BACKSPACE)
    page.wait_for("waiting")
    time.sleep(0.5)  # until the newest frame is drawn
    stands = page.seconds()
    page.press("t")
    page.wait_until(lambda: page.seconds() > stands + 0.2, "going on")  # a line without a decision is no episode
    page.press("r")
    page.wait_until(lambda: len(page.recorded()) >= 3, "written")
    page.require_quiet()
    page.stop()
    games = [*open_dataset(page.folder)][:3]  # the policy has begun another one
    first = games[0].origin.game
    assert first is not None
    assert [game.origin.game for game in games] == [first, first + 1, first + 2]
    assert [None if game.branch is None else game.branch.game for game in games] == [None, first, first + 1]
    assert games[1].outcome == "fell"
    assert {PERSON, POLICY} <= {*np.concatenate([game.actors for game in games]).tolist()}  # type: ignore[misc]
    checked, problems = verify(page.folder, replay=True)
    assert all(one.replayed for one in checked)
    assert problems == []


@pytest.mark.slow
def test_a_policy_is_corrected_by_touch_alone(phone: Any, open_page: Callable[..., RecordingPage]) -> None:
    page = open_page(*CHAMPION, into=phone)

    def tap(selector: str) -> None:
        touch(phone, selector)
        lift(phone)

    tap("#choices .main")
    page.wait("playing")
    page.wait_until(lambda: page.seconds() > 1.5, "along")
    for speed in ("1/2 speed", "1/4 speed"):  # or a busy machine is too late, and the runner has fallen
        tap('[data-do="slow"]')
        assert page.text("speed") == speed
    touch(phone, '[data-key="q"]', '[data-key="p"]')
    page.wait_for("person")
    assert [cap.text for cap in page.find(".keys .down")] == ["Q", "P"]
    lift(phone)
    page.wait_for("policy")
    tap('[data-do="pause"]')
    page.wait("paused")
    tap("#choices .main")
    page.wait("playing")
    tap('[data-do="back"]')
    page.wait_for("waiting")
    tap('[data-do="handOver"]')
    page.wait_for("person")
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    tap('[data-do="list"]')
    page.wait_until(lambda: len(page.find("#own tr")) == 1, "listed, the line that was left")
    tap("#close")
    assert page.state == "paused"  # since the list was opened
    tap('[data-do="restart"]')
    page.wait_until(lambda: len(page.recorded()) >= 2, "written")
    page.require_quiet()


def environment(id: str, *more: str) -> tuple[str, ...]:
    return ("source=environment", f"source.id={id}", *more)


def test_a_game_of_another_environment_is_in_the_dataset(open_page: Callable[..., RecordingPage]) -> None:
    page = open_page(*environment("CartPole-v1"))
    assert [help.text for help in page.find(".key-help li")] == ["←push left", "→push right"]
    page.press(RIGHT)
    page.wait("playing")
    page.keys().key_down(RIGHT).perform()
    page.wait("over")
    page.keys().key_up(RIGHT).perform()
    (episode,) = open_dataset(page.folder)
    assert set(episode.actions.tolist()) == {1}
    assert page.text("detail") == "Recorded as game 1."
    assert page.text("title") == f"Game over: return {len(episode)}.0 in {len(episode)} steps"
    page.require_quiet()
    assert "terminated 1" in page.stop()


def test_a_policy_of_another_environment_is_corrected(open_page: Callable[..., RecordingPage], tmp_path: Path) -> None:
    file = save_policy(tmp_path / "policy.safetensors", untrained(EnvironmentSpec("MountainCar-v0")))
    coached = (f"source.policy={file}", "source.release=0.2", "source.back=0.5", "source.fps=15")
    page = open_page(*environment("MountainCar-v0", *coached))

    def total() -> float:
        return float(page.text("metres").split()[1])

    page.press("r")
    page.wait("playing")
    page.wait_until(lambda: total() <= -15, "a second along")
    assert page.who() == "policy"
    page.keys().key_down(RIGHT).perform()
    page.wait_for("person")
    page.keys().key_up(RIGHT).perform()
    page.wait_for("policy")
    page.press(BACKSPACE)
    page.wait_for("waiting")
    page.press("t")
    page.wait_for("person")
    page.keys().key_down(LEFT).pause(0.3).key_up(LEFT).perform()
    page.press("m")
    assert page.text("speed") == "1/2 speed"
    page.press("r")
    page.wait_until(lambda: len(page.recorded()) >= 2, "written")
    page.require_quiet()
    page.stop()
    line, branch = [*open_dataset(page.folder)][:2]
    assert branch.branch is not None
    for game in (line, branch):
        assert game.actors is not None
        assert {*game.actors.tolist()} == {POLICY, PERSON}
