"""The page's files, and the command that writes and serves them."""

import http.client
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from qwop.commands import play as main
from qwop.common.errors import BadInput
from qwop.play.server import HOST, LocalServer
from qwop.play.site import files, write_site


def test_the_page_is_small_and_names_no_address_outside() -> None:
    assert sum(map(len, files().values())) < 1_300_000  # with the champion's acting part alone
    for name, content in files().items():
        if name.endswith((".js", ".css", ".html", ".svg", ".json")):
            addresses = re.findall(rb"(?:https?:)?//[\w.]+\.\w+", content)
            assert [address for address in addresses if address != b"http://www.w3.org"] == [], name


def test_every_file_that_the_page_asks_for_is_there() -> None:
    asked = {"index.html"}
    for name, content in files().items():
        text = content.decode(errors="replace")
        if name.endswith(".js"):
            asked |= set(re.findall(r'from "\./([\w.]+)"', text))
        if name == "main.js":
            asked |= set(re.findall(r'"([\w]+\.(?:safetensors|txt|js))"', text))
        if name == "index.html":
            asked |= set(re.findall(r'(?:href|src)="([^"]+)"', text))
    assert asked <= set(files())
    assert not re.search(r'(?:href|src)="/', files()["index.html"].decode())


def test_the_command_writes_the_page_into_a_folder(run_command: Callable[..., Any], tmp_path: Path) -> None:
    left = tmp_path / "site" / "board" / f".{'0a' * 16}.partial.html"  # by a killed command
    left.parent.mkdir(parents=True)
    left.touch()
    done = run_command(main, f"out={tmp_path / 'site'}", "serve=false")
    assert done.code == 0, done.err
    assert "for any static host" in done.out
    found = {str(path.relative_to(tmp_path / "site")): path.read_bytes() for path in (tmp_path / "site").rglob("*.*")}
    assert found == files()
    assert write_site(tmp_path / "site", files()) == sum(map(len, found.values()))  # again, over the same files


def test_a_folder_with_other_files_is_refused_and_an_earlier_page_is_renewed(tmp_path: Path) -> None:
    site = {"index.html": b"page", "champion_keys.txt": b"3 Q\n"}
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(BadInput, match=r"holds index\.html, which would be overwritten"):
        write_site(tmp_path, site)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
    (tmp_path / "index.html").write_bytes(b"page")  # of a page that was interrupted
    write_site(tmp_path, site)
    write_site(tmp_path, {**site, "index.html": b"newer"})
    assert (tmp_path / "index.html").read_text() == "newer"


@pytest.mark.parametrize(
    ("file", "what"), [("dataset.json", "a dataset"), ("config.yaml", "the run of another command")]
)
def test_a_folder_of_something_else_is_refused(tmp_path: Path, file: str, what: str) -> None:
    (tmp_path / file).touch()
    with pytest.raises(BadInput, match=f"holds {what}"):
        write_site(tmp_path, {"index.html": b"page", "champion_keys.txt": b"3 Q\n"})
    assert [path.name for path in tmp_path.iterdir()] == [file]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serve=false"], "out=DIR"),
        (["port=70000"], "port=70000"),
        (["out=/dev/null/x", "serve=false"], "out"),
    ],
)
def test_wrong_settings_are_refused_in_a_line(run_command: Callable[..., Any], arguments: list[str], said: str) -> None:
    done = run_command(main, *arguments)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


@pytest.fixture
def server() -> Iterator[LocalServer]:
    made = LocalServer(files().get, 0)
    made.start()
    yield made
    made.stop()


def answer(server: LocalServer, path: str, host: str | None = None) -> tuple[int, bytes, str | None]:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=10)
    connection.request("GET", path, headers={} if host is None else {"Host": host})
    found = connection.getresponse()
    return found.status, found.read(), found.headers["Content-Type"]


def test_the_page_is_served_to_its_own_address_alone(server: LocalServer) -> None:
    assert answer(server, "/")[:2] == (200, files()["index.html"])
    assert answer(server, "/engine.wasm?x=1")[2] == "application/wasm"
    assert answer(server, "/tiles/lane.png")[2] == "image/png"
    for path in ("/../pyproject.toml", "/%2e%2e/pyproject.toml", "/nothing", "/tiles/"):
        assert answer(server, path)[0] == 404
    for host in ("localhost", f"LOCALHOST:{server.port}", "127.0.0.1:9", "[::1]:8000"):  # of a forwarded port
        assert answer(server, "/", host=host)[0] == 200, host
    for host in ("", "example.org", "127.0.0.1.example.org", "localhost.example.org:80", "a@localhost", "localhost:x"):
        status, said, _ = answer(server, "/", host=host)
        assert (status, b"open http://127.0.0.1" in said) == (403, True), host


def test_a_second_page_takes_a_free_port_and_a_given_one_that_is_taken_is_refused(server: LocalServer) -> None:
    second, third = LocalServer({}.get, 0), LocalServer({}.get, 0)
    assert len({server.port, second.port, third.port}) == 3
    second.stop()
    third.stop()
    with pytest.raises(BadInput, match=f"port={server.port}: cannot be opened"):
        LocalServer({}.get, server.port)
