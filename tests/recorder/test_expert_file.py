import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.recorder.expert_file import read_expert_file
from qwop.recorder.published_source import find_files


def test_a_recording_is_read_game_by_game(tmp_path: Path, make_demo: Callable[..., Any]) -> None:
    arrays = make_demo([((3,) * 4, 10, 6.0), ((4,) * 6, 10, -4.0)])
    np.savez(tmp_path / "demo.npz", **arrays)
    recording = read_expert_file(tmp_path / "demo.npz")
    assert recording.games == (slice(0, 5), slice(5, 12))
    assert np.array_equal(recording.observations, arrays["obs"])
    assert np.array_equal(recording.actions, arrays["actions"][:, 0])
    assert np.array_equal(recording.rewards, arrays["rewards"])
    assert recording.name == "demo.npz"


def test_the_digest_is_of_the_arrays(tmp_path: Path, make_demo: Callable[..., Any]) -> None:
    np.savez(tmp_path / "one.npz", **make_demo())
    np.savez_compressed(tmp_path / "two.npz", **make_demo())
    np.savez(tmp_path / "other.npz", **make_demo(seed=1))
    one, two, other = (read_expert_file(tmp_path / f"{name}.npz").digest for name in ("one", "two", "other"))
    assert one == two != other


def changed(name: str, value: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda arrays: {**arrays, name: value(arrays[name]) if callable(value) else value}


def poked(row: Any, value: Any) -> Callable[[Any], Any]:
    def poke(array: Any) -> Any:
        copy = array.copy()
        copy[row] = value
        return copy

    return poke


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: {name: arrays[name] for name in ("obs", "actions")}, "has actions, obs, but no rewards"),
        (changed("obs", lambda a: a[:, :70]), r"obs are float64 \[31, 70\], expected numbers \[n, 71\]"),
        (changed("obs", lambda a: a[:0]), r"obs are float64 \[0, 71\]"),
        (changed("obs", lambda a: a.astype(str)), "obs are <U"),
        (changed("obs", poked((7, 3), np.nan)), "obs hold NaN or infinity in row 7"),
        (changed("obs", lambda a: a.astype(object)), "cannot be read"),
        (changed("actions", lambda a: a[:-1]), r"actions have shape \[30, 1\], expected \[31\] or \[31, 1\]"),
        (changed("actions", poked(3, 11)), "actions from 0 to 11, expected 0 … 10"),
        (changed("actions", poked(3, -1)), "actions from -1 to"),
        (changed("actions", lambda a: a + 0.5), "actions are float64, expected whole numbers"),
        (changed("rewards", lambda a: a[:-1]), r"rewards are float64 \[30\], expected numbers \[31\]"),
        (changed("rewards", poked(4, np.inf)), "rewards hold NaN or infinity in row 4"),
        (changed("rewards", poked(4, 50.0)), "but its rewards sum to"),
        (changed("episode_starts", lambda a: a.astype(float)), "episode_starts are float64"),
        (changed("episode_starts", poked(0, False)), "does not begin with a start"),
        (changed("episode_starts", poked(9, True)), r"episode_returns are float64 \[1\], expected numbers \[2\]"),
    ],
)
def test_invalid_arrays_are_refused_by_name(
    tmp_path: Path, make_demo: Callable[..., Any], change: Callable[[Any], Any], message: str
) -> None:
    path = tmp_path / "demo.npz"
    np.savez(path, **change(make_demo()))
    with pytest.raises(BadInput, match=f"demo.npz: .*{message}"):
        read_expert_file(path)


@pytest.mark.parametrize("content", [b"", b"some text\n", b"PK\x03\x04 torn", b"\x80\x04K\x01."])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "demo.npz"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"not an \.npz file; expected an expert file"):
        read_expert_file(path)


def test_an_archive_of_other_things_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "demo.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("obs", "actions", "rewards", "episode_starts", "episode_returns"):
            archive.writestr(name, "no array")
    with pytest.raises(BadInput, match=r"demo\.npz: "):
        read_expert_file(path)


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_a_truncated_recording_is_refused(tmp_path: Path, make_demo: Callable[..., Any], keep: float) -> None:
    path = tmp_path / "demo.npz"
    np.savez(path, **make_demo())
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])
    with pytest.raises(BadInput, match=r"demo\.npz: "):
        read_expert_file(path)


def test_damage_in_the_middle_is_refused(tmp_path: Path, make_demo: Callable[..., Any]) -> None:
    path = tmp_path / "demo.npz"
    np.savez_compressed(path, **make_demo())
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 3 + 40] = bytes(40)
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"demo\.npz: cannot be read"):
        read_expert_file(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nothing\.npz: no such file"):
        read_expert_file(tmp_path / "nothing.npz")
    with pytest.raises(BadInput, match="a folder"):
        read_expert_file(tmp_path)


def test_patterns_name_files_once_and_in_order(tmp_path: Path) -> None:
    for name in ("b2.npz", "b1.npz", "a[1].npz", "c.txt"):
        (tmp_path / name).touch()
    found = find_files([str(tmp_path / "b2.npz"), str(tmp_path / "*.npz"), str(tmp_path / "a[1].npz")])
    assert [path.name for path in found] == ["b2.npz", "a[1].npz", "b1.npz"]
    assert find_files([f"{tmp_path.parent}/{tmp_path.name[:-1]}*/b1.npz"]) == [tmp_path / "b1.npz"]
    with pytest.raises(BadInput, match=r"x\*\.npz: no file of such a name"):
        find_files([str(tmp_path / "x*.npz")])
    with pytest.raises(BadInput, match=r"source\.files is empty"):
        find_files([])
