"""`qwop-dataset`'s own words: a verb, and folders without their settings."""

import sys
from types import SimpleNamespace

import pytest
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("verify one two", "qwop-dataset verify: one and two: give one dataset"),
        ("copy one two dataset=three", "qwop-dataset copy: one and two and dataset=three: give one dataset"),
    ],
)
def test_a_folder_too_many_is_one_line(
    words: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        settings_of(monkeypatch, *words.split())
    assert ended.value.code == 2
    assert capsys.readouterr().err.strip() == said
