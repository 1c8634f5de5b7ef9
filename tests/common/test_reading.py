import pytest
from qwop.common.reading import parse_yaml


@pytest.mark.parametrize("text", ["7", "- a\n- b", "[{}, {}]", "text", "!!python/name:os.system"])
def test_a_yaml_document_that_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a mapping of names to values"):
        parse_yaml(text)


def test_a_mapping_is_read_without_resolving_interpolations() -> None:
    assert parse_yaml("a: {b: 1.5}\nc: [x, null]\nd: ${oc.env:HOME}\n") == {
        "a": {"b": 1.5},
        "c": ["x", None],
        "d": "${oc.env:HOME}",
    }


def test_a_million_entries_are_refused_before_they_are_made() -> None:
    with pytest.raises(ValueError, match="more entries than settings have"):
        parse_yaml("a: [" + "{}," * 300_000 + "]")
