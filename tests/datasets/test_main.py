"""`qwop-dataset`'s own words: a verb, and folders without their settings."""

import sys
from types import SimpleNamespace

import pytest
from qwop.common.errors import BadInput
from qwop.datasets import main


def settings_of(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """The settings that a verb's command gets."""
    given: list[str] = []
    command = SimpleNamespace(command=lambda: given.extend(sys.argv[1:]))
    monkeypatch.setattr(main, "import_module", lambda module: command)
    monkeypatch.setattr(sys, "argv", ["qwop-dataset", *words])
    main.main()
    return given


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("verify data/me", ["dataset=data/me"]),
        ("verify dataset=data/me", ["dataset=data/me"]),
        ("copy one two three out=all", ["dataset=one", "others=[two, three]", "out=all"]),
        ("copy one others=[two] out=all", ["dataset=one", "others=[two]", "out=all"]),
    ],
)
def test_folders_may_be_given_without_their_settings(
    words: str, settings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings_of(monkeypatch, *words.split()) == settings


@pytest.mark.parametrize("words", ["verify one two", "copy one two dataset=three"])
def test_a_folder_too_many_is_refused(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match=r"one and two.*: give one dataset"):
        settings_of(monkeypatch, *words.split())
