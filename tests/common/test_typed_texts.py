"""Texts on the command line: what a person types is what a setting has, and what its written configuration holds."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import settings as tries
from hypothesis import strategies as st
from qwop.common.command import Command, to_yaml
from qwop.common.command_line import command_line
from qwop.common.errors import BadInput
from qwop.common.reading import parse_yaml
from qwop.common.settings import Settings, choice_of, read, setting
from qwop.common.typed_texts import Names


@dataclass(frozen=True)
class Person(Settings):
    """A person."""

    name: str = setting("me", "Name.")


@dataclass(frozen=True)
class Machine(Settings):
    """A machine."""

    name: str = setting("it", "Name.")
    file: str | None = setting(None, "File.", path=True)


@dataclass(frozen=True)
class Label(Settings):
    """The settings of the example."""

    note: str | None = setting(None, "Note.")
    steps: int = setting(1, "Steps.")
    folder: str = setting("here", "Folder.", path=True)
    names: tuple[str, ...] = setting(("a",), "Names.")
    files: tuple[str, ...] = setting(("a",), "Files.", path=True)
    free: Mapping[str, Any] = setting({}, "Anything.")
    columns: Mapping[str, Names] = setting({}, "Names of columns.")
    agent: Person | Machine = choice_of({"person": Person, "machine": Machine}, "person", "Who.", tag="kind")


LABEL = Command("label", Label, lambda settings: None, about="Label.", examples=[])

TYPED = [
    "O'Brien", "me (left hand)", "José", "Jürgen", "données/josé", "#1", "a,b", "1e3", "2026_11_25", "1.50", "+5",
    "true", "no", "~", "~me", "a=b", "[left]", "[", "{a: 1}", "}", "a b", "say: hi", "5 # five", '"', "it's", "\\",
    "a\\", "C:\\new", "null?", "NULL", "@home", "*", "a*?[0-9].npz", "--help", "=", "1:30", "$", "${", "${a b}",
    "\\${x}", "ﬁ 狗 🐕",
]  # fmt: skip


@pytest.mark.parametrize("text", TYPED)
def test_a_text_is_taken_as_it_is_typed(text: str) -> None:
    settings = LABEL.read([f"note={text}", "agent=machine", f"++agent.name={text}"])
    assert (settings.note, settings.agent.name) == (text, text)


@tries(deadline=None, max_examples=20)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1))
@example("'")
@example("\\'")
@example("\n")
def test_any_text_survives_the_command_line_and_the_configuration(text: str) -> None:
    assume(text.strip() and text not in ("null", "???"))
    assume(not (len(text) > 1 and text[0] == text[-1] and text[0] in "'\""))
    settings = LABEL.read([f"note={text}"])
    assert settings.note == text
    assert read(Label, parse_yaml(to_yaml(settings))) == settings


@tries(deadline=None, max_examples=10)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), min_size=1, max_size=3))
def test_a_reproducing_command_line_gives_the_same_texts(texts: list[str]) -> None:
    assume(all(text.strip() and "${" not in text and text != "???" for text in texts))
    settings = Label(note=texts[0], names=tuple(texts))
    _, *words = shlex.split(command_line("label", settings))
    assert LABEL.read(words) == settings


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("[a,b]", ("a", "b")),
        ("[O'Brien, José ,1e3]", ("O'Brien", "José", "1e3")),
        ("['a,b',c]", ("a,b", "c")),
        ("[a[1,2].npz,b (c, d)]", ("a[1,2].npz", "b (c, d)")),
        ("[a(,b]", ("a(", "b")),
        ("[null,true]", ("null", "true")),
        ("[2026_11_25]", ("2026_11_25",)),
    ],
)
def test_a_list_has_the_texts_between_its_commas(typed: str, names: tuple[str, ...]) -> None:
    assert LABEL.read([f"names={typed}"]).names == names


def test_a_list_without_brackets_is_refused() -> None:
    with pytest.raises(BadInput, match=r"names=José: expected a list of texts"):
        LABEL.read(["names=José"])


def test_quotes_null_and_other_settings_stay_hydras() -> None:
    assert LABEL.read(["note='a b'"]).note == "a b"
    assert LABEL.read(["note='null'"]).note == "null"
    assert LABEL.read(["note=x", "note=null"]).note is None
    assert LABEL.read(["note=run ${steps}", "steps=7"]).note == "run 7"


def test_a_text_among_free_settings_is_taken_where_it_is_nothing_else() -> None:
    free = LABEL.read(["free.name=José", "free.count=3", "free.both=O'Brien"]).free
    assert free == {"name": "José", "count": 3, "both": "O'Brien"}


NAMES = [
    "größe", "動作", "a b", "2x", "ArrowLeft+Space", "-", "ﬁ", "o'clock", "x (m)", "obs/x", "é.è", "a: b", "a, b",
    "[x]", "{", "'", '"', "=", "#1", "@", "100%", "1", "🐕",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_mapping_is_taken_as_it_is_typed(name: str) -> None:
    in_quotes = "'" + name.replace("'", "\\'") + "'"
    assert LABEL.read([f"free={{{in_quotes}: [1, ü], b: 2}}"]).free == {name: [1, "ü"], "b": 2}
    if not set(name) & set("=.,:[{'\""):
        assert LABEL.read([f"free.{name}=3", f"free.{name}=José"]).free == {name: "José"}
        assert LABEL.read([f"free={{{name}: O'Brien, a: {{{name}: ü}}}}"]).free == {name: "O'Brien", "a": {name: "ü"}}


@tries(deadline=None, max_examples=5)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
@example("[{,'")
@example("o'clock: 1, 2")
@example("1")
@example("NAN")
def test_a_reproducing_command_line_gives_the_same_names(name: str) -> None:
    assume(name.strip() and "${" not in name and name != "???")
    settings = Label(free={name: [1, "ü", {name: name}]}, columns={name: [name, "1e3"], "a": name})
    _, *words = shlex.split(command_line("label", settings))
    assert LABEL.read(words) == settings


def test_names_of_names_are_texts_whatever_they_look_like() -> None:
    columns = {"action": "1e3", "observation": ["Höhe (m)", "2026_11", "true"]}
    assert LABEL.read(["columns={action: 1e3, observation: [Höhe (m), 2026_11,true]}"]).columns == columns
    assert LABEL.read(["columns.observation=[Höhe (m),2026_11,true]", "columns.action=1e3"]).columns == columns


def test_names_in_braces_are_as_they_are_typed() -> None:
    names = ["2026_11", "1e3", "007", "+5", "true", "null", "1.50", "7"]
    assert [*LABEL.read([f"free={{{', '.join(f'{name}: 1' for name in names)}}}"]).free] == names


@pytest.mark.parametrize("wrong", ["free={ö: [1,2", "free={ö}", "free=ö", "free={: 1, ö: 2}", "größe=1", "free.=ö"])
def test_what_is_no_mapping_is_refused_as_it_was_typed(wrong: str) -> None:
    with pytest.raises(BadInput) as found:
        LABEL.read([wrong])
    assert "$u" not in str(found.value)
    assert str(found.value).startswith(wrong[:5])


def test_a_number_is_no_text() -> None:
    with pytest.raises(BadInput, match="steps=ü: "):
        LABEL.read(["steps=ü"])


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(BadInput, match=r"note=a\\udcff: expected a text"):
        LABEL.read(["note=a\udcff"])


def test_a_path_may_begin_with_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    settings = LABEL.read(["folder=~/games", "files=[~/a.npz,b~]", "agent=machine", "agent.file=~", "note=~/x"])
    assert settings.folder == "/home/me/games"
    assert settings.files == ("/home/me/a.npz", "b~")
    assert settings.agent == Machine(file="/home/me")
    assert settings.note == "~/x"  # no path
    assert Path(Label(folder="~/games").folder) == Path("/home/me/games")


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("free={a: 1, b: 2, a: 3}", "a"),
        ("free={b: [{'x (m)': 1, x (m): 1}]}", r"x \(m\)"),
        ("columns={action: a, action: b}", "action"),
    ],
)
def test_a_name_given_twice_in_braces_is_refused(argument: str, name: str) -> None:
    with pytest.raises(BadInput, match=f": {name} is given twice; give it once"):
        LABEL.read([argument])
    assert LABEL.read(["free={a: {b: 1}, b: {b: 2}}", "note={a: 1, a: 2}"]).note == "{a: 1, a: 2}"
