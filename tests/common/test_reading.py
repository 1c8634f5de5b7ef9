from pathlib import Path

import pytest
from qwop.common.reading import parse_json, parse_yaml, read_text


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


def test_a_byte_order_mark_is_no_part_of_a_document(tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_text('{"a": 1}', encoding="utf-8-sig")
    assert parse_json(path.read_bytes()) == parse_json(read_text(path, 100, "expected it")) == {"a": 1}
