import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.common.npz import read_arrays
from qwop.common.reading import CannotBeRead, NotReadNow, parse_json, parse_yaml, read_bytes, read_text


def test_a_mapping_is_read_without_resolving_interpolations() -> None:
    assert parse_yaml("a: {b: 1.5}\nc: [x, null]\nd: ${oc.env:HOME}\n") == {
        "a": {"b": 1.5},
        "c": ["x", None],
        "d": "${oc.env:HOME}",
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- a\n- b", "not a mapping of names to values"),
        ("text", "not a mapping of names to values"),
        ("a: !!python/name:os.system", "could not determine a constructor"),
        ("a: &b [1]\nc: *b", "an alias"),
        (f"a: {'[' * 1000}", "recursion"),
        ("a: [", "expected"),
    ],
)
def test_a_document_that_is_no_settings_or_more_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_yaml(text)


def test_a_byte_order_mark_is_no_part_of_a_document(tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_text('{"a": 1}', encoding="utf-8-sig")
    assert parse_json(path.read_bytes()) == parse_json(read_text(path, 100, "expected it")) == {"a": 1}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ('{"a": 1, "b": 2, "a": 3}', "a stands twice in it"),
        ('[{"c": {"b": 1, "b": 1}}]', "b stands twice in it"),
        ("NaN", "NaN is no number"),
        ("[-Infinity]", "-Infinity is no number"),
        ("1e999", "1e999 is no number of JSON, or too large"),
        ('["\\ud800"]', "lone surrogate"),
        (b"\xff", r"not UTF-8 text \(byte 0\)"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_no_program_writes_is_refused(document: str | bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_json(document)


def test_names_given_twice_are_found_in_linear_time() -> None:
    """Comparing every pair of names would take longer than the tests' time limit."""
    names = ",".join(f'"{number}":0' for number in range(300_000))
    with pytest.raises(ValueError, match="299999 stands twice"):
        parse_json("{" + names + ',"299999":0}')


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(bytes(101))
    (tmp_path / "loop").symlink_to("loop")
    kinds = {"pipe": "a pipe", ".": "a folder", "missing": "no such file", "large": "more than", "loop": "symbolic"}
    for name, kind in {**kinds, "a\0b": "null", "/dev/null": "a device"}.items():
        with pytest.raises(CannotBeRead, match=f"{kind}.*; give another") as refusal:
            read_bytes(tmp_path / name, 100, "give another")
        assert not isinstance(refusal.value, NotReadNow)


def test_a_file_that_may_be_whole_is_told_from_one_that_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(NotReadNow, match="permission denied"):
        read_bytes(tmp_path / "file", 100, "expected it")


def test_arrays_are_read_by_name_and_within_a_size(tmp_path: Path) -> None:
    path = tmp_path / "file.npz"
    np.savez_compressed(path, a=np.arange(6).reshape(2, 3), b=np.zeros(1_000_000))
    names: list[str] = []
    arrays = read_arrays(path, lambda every: names.extend(every) or ["a"], 10_000, "expected it")
    assert names == ["a", "b"]
    np.testing.assert_array_equal(arrays["a"], [[0, 1, 2], [3, 4, 5]])
    with pytest.raises(BadInput, match="8 MB unpacked, more than the 0 MB permitted; expected it"):
        read_arrays(path, lambda every: every, 10_000, "expected it")
    with pytest.raises(BadInput, match="has a, b, but no c"):
        read_arrays(path, lambda _: ["c"], 10_000, "expected it")


@pytest.mark.parametrize("damage", ["pickle", "twice", "torn", "flipped", "no archive"])
def test_archives_that_cannot_be_trusted_are_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "file.npz"
    np.savez(path, a=np.array([{}], object) if damage == "pickle" else np.arange(100))
    whole = path.read_bytes()
    if damage == "twice":
        with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.npy", archive.read("a.npy"))
    variants = {"torn": whole[:-40], "flipped": whole[:300] + b"\x7f" + whole[301:], "no archive": b"\x93NUMPY"}
    if damage in variants:
        path.write_bytes(variants[damage])
    with pytest.raises(BadInput, match=r"file\.npz: .*; expected it"):
        read_arrays(path, lambda _: ["a"], 10_000, "expected it")
