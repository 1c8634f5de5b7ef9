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
console.log(JSON.stringify(masks));
"""


def masks(events: list[list[Any]], names: list[str] | None = None, *, folder: Path) -> list[int]:
    """The keys held after each event, [kind, key, code, more], as bits."""
    shutil.copy(STATIC / "keyboard.js", folder / "keyboard.mjs")
    command = ["node", "--input-type=module", "-e", SCRIPT, str(folder / "keyboard.mjs"), json.dumps([names, events])]
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
