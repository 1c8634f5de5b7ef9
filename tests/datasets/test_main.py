"""`qwop-dataset`'s own words: a verb, and folders without their settings."""

import pytest
from qwop.common.errors import BadInput
from qwop.datasets.main import with_names


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("verify data/me", ["dataset=data/me"]),
        ("verify dataset=data/me", ["dataset=data/me"]),
        ("copy one two three out=all", ["dataset=one", "others=[two, three]", "out=all"]),
        ("copy one others=[two] out=all", ["dataset=one", "others=[two]", "out=all"]),
    ],
)
def test_folders_may_be_given_without_their_settings(words: str, settings: list[str]) -> None:
    verb, *rest = words.split()
    assert with_names(verb, rest) == settings


@pytest.mark.parametrize("words", ["verify one two", "copy one two dataset=three"])
def test_a_folder_too_many_is_refused(words: str) -> None:
    verb, *rest = words.split()
    with pytest.raises(BadInput, match=r"one and two.*: give one dataset"):
        with_names(verb, rest)
