"""The page's keys, in node: which key an event is about, and which are held."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import qwop.envs.pictures.scene as scene

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

STATIC = Path(scene.__file__).with_name("static")

SCRIPT = """
const heard = {};
globalThis.window = { addEventListener: (kind, act) => (heard[kind] ??= []).push(act) };
const { Keyboard } = await import(process.argv[1]);
const [names, events] = JSON.parse(process.argv[2]);
const bits = names && Object.fromEntries(names.map((name, index) => [name, 1 << index]));
const keyboard = names ? new Keyboard(window, bits) : new Keyboard(window);
const masks = events.map(([kind, key, code, more]) => {
  heard[kind].forEach((act) => act({ key, code, timeStamp: 1, preventDefault() {}, ...more }));
  return keyboard.mask;
});
const frames = (JSON.parse(process.argv[3] ?? "[]")).map(([from, to, ...late]) => {
  const pressed = keyboard.during(from, to);
  for (const [kind, key, code, more] of late) {
    heard[kind].forEach((act) => act({ key, code, preventDefault() {}, ...more }));
  }
  return pressed;
});
console.log(JSON.stringify(frames.length ? frames : masks));
"""


def masks(
    events: list[list[Any]], names: list[str] | None = None, *, folder: Path, frames: list[list[Any]] | None = None
) -> list[int]:
    """The keys held after each event, [kind, key, code, more], as bits.

    With frames, [start, end, events after it was played …] in ms, the keys of each.
    """
    shutil.copy(STATIC / "keyboard.js", folder / "keyboard.mjs")
    script = ["node", "--input-type=module", "-e", SCRIPT, str(folder / "keyboard.mjs")]
    command = [*script, json.dumps([names, events]), json.dumps(frames or [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[int] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("key", "code", "name"),
    [
        ("1", "Digit1", "1"),
        ("&", "Digit1", "1"),  # French
        ("١", "Digit1", "1"),  # Arabic
        ("1", "Numpad1", "1"),
        ("ц", "KeyW", "w"),  # Russian
        ("W", "KeyW", "w"),
        ("w", "KeyZ", "w"),  # French: the letter decides
        ("z", "KeyW", None),
        ("Dead", "KeyW", "w"),
        ("Process", "KeyW", "w"),  # an input method, as for Japanese
        (";", "Semicolon", ";"),
        ("ж", "Semicolon", ";"),
        (None, "KeyW", "w"),
        ("ArrowLeft", "ArrowLeft", "arrowleft"),
        ("End", "Digit1", None),
        ("5", "Digit5", None),
    ],
)
def test_the_position_of_a_key_decides_where_its_character_is_no_latin_letter(
    key: str | None, code: str, name: str | None, tmp_path: Path
) -> None:
    names = ["1", "w", "arrowleft", ";"]
    expected = 0 if name is None else 1 << names.index(name)
    assert masks([["keydown", key, code, {}]], names, folder=tmp_path) == [expected]


def test_qwop_is_played_on_any_keyboard(tmp_path: Path) -> None:
    events = [["keydown", key, code, {}] for key, code in (("q", "KeyQ"), ("ц", "KeyW"), ("o", "KeyO"), ("a", "KeyQ"))]
    assert masks(events, folder=tmp_path) == [1, 3, 7, 7]


def test_a_key_released_while_command_is_held_is_not_held_any_more(tmp_path: Path) -> None:
    events = [
        ["keydown", "q", "KeyQ", {}],
        ["keydown", "Meta", "MetaLeft", {"metaKey": True}],
        ["keydown", "w", "KeyW", {"metaKey": True}],  # macOS reports no release of these two
        ["keyup", "Meta", "MetaLeft", {}],
        ["keydown", "o", "KeyO", {}],
        ["keyup", "o", "KeyO", {}],
    ]
    assert masks(events, folder=tmp_path) == [1, 0, 0, 0, 4, 0]


@pytest.mark.parametrize(
    ("events", "held"),
    [
        pytest.param(
            [["keydown", "q", "", {}], ["keydown", "o", "", {}], ["keyup", "q", "", {}], ["keyup", "o", "", {}]],
            [1, 5, 4, 0],
            id="remote desktops send no codes",
        ),
        pytest.param(
            [["keydown", "q", None, {}], ["keydown", "p", "Unidentified", {}], ["keyup", "Q", None, {}]],
            [1, 9, 8],
            id="none at all, and a capital letter once Shift is down",
        ),
        pytest.param(
            [
                ["keydown", "q", "KeyQ", {}],
                ["keyup", "q", "", {}],
                ["keydown", "o", "", {}],
                ["keyup", "o", "KeyO", {}],
            ],
            [1, 0, 4, 0],
            id="a code in one of the two events",
        ),
        pytest.param(
            [["keydown", "q", "KeyQ", {}], ["keydown", "q", "KeyA", {}], *[["keyup", "q", "KeyA", {}]] * 2],
            [1, 1, 1, 1],
            id="two keys with the same letter",
        ),
        pytest.param(
            [
                ["keydown", "q", "KeyQ", {}],
                ["keyup", "й", "KeyQ", {}],
                ["keydown", "w", "KeyW", {}],
                ["keyup", "@", "KeyW", {}],
            ],
            [1, 0, 2, 0],
            id="another layout, or AltGr, between the two events",
        ),
        pytest.param(
            [["keydown", "q", "", {}], ["keydown", "w", "KeyW", {}], ["keyup", "й", "", {}]],
            [1, 3, 2],
            id="another layout without a code: what may be meant goes up",
        ),
        pytest.param(
            [["keydown", "q", "", {}], ["keydown", "e", "", {}], ["keyup", "e", "", {}], ["keyup", "q", "", {}]],
            [1, 1, 1, 0],
            id="a key that is not the game's releases none",
        ),
        pytest.param(
            [
                ["keydown", "й", "", {"keyCode": 81}],
                ["keydown", "Unidentified", "", {"keyCode": 79}],
                ["keyup", "й", "", {"keyCode": 81}],
            ],
            [1, 5, 4],
            id="the old number of a key has the position",
        ),
        pytest.param([["keydown", "ｑ", "", {}], ["keydown", "Ｏ", "", {}]], [1, 5], id="full-width letters"),
        pytest.param(
            [
                ["keydown", "q", "KeyQ", {"repeat": True}],
                ["keydown", "q", "KeyQ", {"repeat": True}],
                ["keyup", "q", "KeyQ", {}],
            ],
            [1, 1, 0],
            id="held since before the page had the keyboard",
        ),
        pytest.param(
            [
                ["keydown", "q", "KeyQ", {}],
                ["keydown", "Alt", "AltLeft", {"altKey": True}],
                ["keyup", "Alt", "AltLeft", {}],
            ],
            [1, 1, 0],
            id="Alt opens a menu, which hears the release",
        ),
        *(
            pytest.param([["keydown", "q", "KeyQ", {}], [away, None, None, {}]], [1, 0], id=away)
            for away in ("blur", "pagehide", "visibilitychange", "contextmenu", "dragstart")
        ),
    ],
)
def test_a_key_is_released_however_its_release_is_reported(events: list[Any], held: list[int], tmp_path: Path) -> None:
    assert masks(events, folder=tmp_path) == held


def test_keys_with_a_name_are_known_by_their_position_too(tmp_path: Path) -> None:
    names = ["arrowleft", " ", "enter", "shift"]
    codes = ["ArrowLeft", "Space", "Enter", "ShiftRight"]
    events = [["keydown", "Unidentified", code, {}] for code in codes]
    assert masks(events, names, folder=tmp_path) == [1, 3, 7, 15]


def test_a_press_counts_in_a_frame_whatever_the_clock_of_its_event(tmp_path: Path) -> None:
    press = lambda key, at: ["keydown", key, f"Key{key.upper()}", {"timeStamp": at}]  # noqa: E731
    lift = lambda key, at: ["keyup", key, f"Key{key.upper()}", {"timeStamp": at}]  # noqa: E731
    frames = [
        [10, 20, press("q", 12), lift("q", 15)],  # reported once their frame was played
        [20, 30, press("w", 1.8e12)],  # ms since 1970
        [30, 5000, lift("w", None), press("o", 3), lift("o", 2)],  # no time; a clock that goes back
        [5000, 5010],
        [5010, 5020],
    ]
    assert masks([], folder=tmp_path, frames=frames) == [0, 1, 2, 4, 0]
