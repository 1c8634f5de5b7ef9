"""The page's keys, in node: which key an event is about, and which are held."""

from typing import Any

from .node import in_node


def event(text: str, **more: Any) -> list[Any]:
    """An event: + or - for a key that goes down or up, with its character and its code, either ? if there is none; and
    the names of what is true of it. Or the event's name."""
    if text[0] not in "+-":
        return [text, None, None, {}]
    key, code, *true = text[1:].split(" ") if " " in text else (text[1:], "")
    kind = "keydown" if text[0] == "+" else "keyup"
    return [kind, None if key == "?" else key, None if code == "?" else code, dict.fromkeys(true, True) | more]


POSITIONS = [
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
]


def test_the_position_of_a_key_decides_where_its_character_is_no_latin_letter() -> None:
    names = ["1", "w", "arrowleft", ";", "shift"]
    held = in_node("keyboards.js", "all", names, [[event(press)] for press, _ in POSITIONS])
    named = [names[mask.bit_length() - 1] if mask else None for (mask,) in held]
    assert [*zip([press for press, _ in POSITIONS], named, strict=True)] == POSITIONS


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


def test_a_key_is_released_however_its_release_is_reported() -> None:
    held = in_node("keyboards.js", "all", None, [[event(text) for text in events] for events, _ in HOLDS.values()])
    assert dict(zip(HOLDS, held, strict=True)) == {name: masks for name, (_, masks) in HOLDS.items()}


def test_the_old_number_of_a_key_has_the_position() -> None:
    events = [event("+й", keyCode=81), event("+Unidentified", keyCode=79), event("-й", keyCode=81)]
    assert in_node("keyboards.js", "held", None, events) == [1, 5, 4]


def test_a_press_counts_in_a_frame_whatever_the_clock_of_its_event() -> None:
    frames = [
        # Reported once their frame was played.
        [10, 20, event("+q KeyQ", timeStamp=12), event("-q KeyQ", timeStamp=15)],
        [20, 30, event("+w KeyW", timeStamp=1.8e12)],  # ms since 1970
        # No time; a clock that goes back.
        [30, 5000, event("-w KeyW", timeStamp=None), event("+o KeyO", timeStamp=3), event("-o KeyO", timeStamp=2)],
        [5000, 5010],
        [5010, 5020],
    ]
    assert in_node("keyboards.js", "held", None, [], frames) == [0, 1, 2, 4, 0]
