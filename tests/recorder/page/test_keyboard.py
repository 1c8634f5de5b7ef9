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
const [names, events, frames] = JSON.parse(process.argv[2]);
const bits = names && Object.fromEntries(names.map((name, index) => [name, 1 << index]));
const keyboard = names ? new Keyboard(window, bits) : new Keyboard(window);
const happen = ([kind, key, code, more]) => {
  heard[kind].forEach((act) => act({ key, code, timeStamp: 1, preventDefault() {}, ...more }));
  return keyboard.mask;
};
const masks = events.map(happen);
const held = frames.map(([from, to, ...late]) => {
  const pressed = keyboard.during(from, to);
  late.forEach(happen);
  return pressed;
});
console.log(JSON.stringify(frames.length ? held : masks));
"""


def event(text: str, **more: Any) -> list[Any]:
    """An event: + or - for a key that goes down or up, with its character and its code, either ? if there is none; and
    the names of what is true of it. Or the event's name."""
    if text[0] not in "+-":
        return [text, None, None, {}]
    key, code, *true = text[1:].split(" ") if " " in text else (text[1:], "")
    kind = "keydown" if text[0] == "+" else "keyup"
    return [kind, None if key == "?" else key, None if code == "?" else code, dict.fromkeys(true, True) | more]


def masks(
    events: list[list[Any]], names: list[str] | None = None, *, folder: Path, frames: list[list[Any]] | None = None
) -> list[int]:
    """The keys held after each event, as bits. With frames, [start, end, events after it was played …] in ms, the keys
    of each."""
    shutil.copy(STATIC / "keyboard.js", folder / "keyboard.mjs")
    script = ["node", "--input-type=module", "-e", SCRIPT, str(folder / "keyboard.mjs")]
    done = subprocess.run(
        [*script, json.dumps([names, events, frames or []])], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    held: list[int] = json.loads(done.stdout)
    return held


@pytest.mark.parametrize(
    ("press", "name"),
    [
        ("+1 Digit1", "1"),
        ("+& Digit1", "1"),  # French
        ("+١ Digit1", "1"),  # Arabic
        ("+1 Numpad1", "1"),
        ("+ц KeyW", "w"),  # Russian
        ("+W KeyW", "w"),
        ("+w KeyZ", "w"),  # French: the letter decides
        ("+z KeyW", None),
        ("+Dead KeyW", "w"),
        ("+Process KeyW", "w"),  # an input method, as for Japanese
        ("+ж Semicolon", ";"),
        ("+? KeyW", "w"),
        ("+ArrowLeft ArrowLeft", "arrowleft"),
        ("+Unidentified ArrowLeft", "arrowleft"),
        ("+Unidentified ShiftRight", "shift"),
        ("+End Digit1", None),
        ("+5 Digit5", None),
    ],
)
def test_the_position_of_a_key_decides_where_its_character_is_no_latin_letter(
    press: str, name: str | None, tmp_path: Path
) -> None:
    names = ["1", "w", "arrowleft", ";", "shift"]
    expected = 0 if name is None else 1 << names.index(name)
    assert masks([event(press)], names, folder=tmp_path) == [expected]


HOLDS: dict[str, tuple[list[str], list[int]]] = {
    "any keyboard": (["+q KeyQ", "+ц KeyW", "+o KeyO", "+a KeyQ"], [1, 3, 7, 7]),
    "macOS reports no release while Command is held": (
        ["+q KeyQ", "+Meta MetaLeft metaKey", "+w KeyW metaKey", "-Meta MetaLeft", "+o KeyO", "-o KeyO"],
        [1, 0, 0, 0, 4, 0],
    ),
    "remote desktops send no codes": (["+q", "+o", "-q", "-o"], [1, 5, 4, 0]),
    "none at all, and a capital letter once Shift is down": (["+q ?", "+p Unidentified", "-Q ?"], [1, 9, 8]),
    "a code in one of the two events": (["+q KeyQ", "-q", "+o", "-o KeyO"], [1, 0, 4, 0]),
    "two keys with the same letter": (["+q KeyQ", "+q KeyA", "-q KeyA", "-q KeyA"], [1, 1, 1, 1]),
    "another layout, or AltGr, between the two": (["+q KeyQ", "-й KeyQ", "+w KeyW", "-@ KeyW"], [1, 0, 2, 0]),
    "another layout without a code: what may be meant goes up": (["+q", "+w KeyW", "-й"], [1, 3, 2]),
    "a key that is not the game's releases none": (["+q", "+e", "-e", "-q"], [1, 1, 1, 0]),
    "full-width letters": (["+ｑ", "+Ｏ"], [1, 5]),
    "held since before the page had the keyboard": (["+q KeyQ repeat", "+q KeyQ repeat", "-q KeyQ"], [1, 1, 0]),
    "Alt opens a menu, which hears the release": (["+q KeyQ", "+Alt AltLeft altKey", "-Alt AltLeft"], [1, 1, 0]),
    **{away: (["+q KeyQ", away], [1, 0]) for away in ("blur", "pagehide", "visibilitychange", "contextmenu")},
}


@pytest.mark.parametrize(("events", "held"), HOLDS.values(), ids=HOLDS)
def test_a_key_is_released_however_its_release_is_reported(events: list[str], held: list[int], tmp_path: Path) -> None:
    assert masks([event(text) for text in events], folder=tmp_path) == held


def test_the_old_number_of_a_key_has_the_position(tmp_path: Path) -> None:
    events = [event("+й", keyCode=81), event("+Unidentified", keyCode=79), event("-й", keyCode=81)]
    assert masks(events, folder=tmp_path) == [1, 5, 4]


def test_a_press_counts_in_a_frame_whatever_the_clock_of_its_event(tmp_path: Path) -> None:
    frames = [
        # Reported once their frame was played.
        [10, 20, event("+q KeyQ", timeStamp=12), event("-q KeyQ", timeStamp=15)],
        [20, 30, event("+w KeyW", timeStamp=1.8e12)],  # ms since 1970
        # No time; a clock that goes back.
        [30, 5000, event("-w KeyW", timeStamp=None), event("+o KeyO", timeStamp=3), event("-o KeyO", timeStamp=2)],
        [5000, 5010],
        [5010, 5020],
    ]
    assert masks([], folder=tmp_path, frames=frames) == [0, 1, 2, 4, 0]
