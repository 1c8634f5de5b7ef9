"""Runs the web's scripts in Node, Chromium or Firefox, to compare what they play with the simulator.

A browser needs no driver: it opens a page of a local server, whose script imports a module of `static/` or of this
folder, calls one of its functions, and sends back what that returns. Node gets the same files, and a `fetch` of them.
"""

import functools
import json
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from qwop.common.errors import BadInput
from qwop.envs.web import ENGINE, STATIC, engine_module

HERE = Path(__file__).parent

NODE, CHROMIUM, FIREFOX = RUNNERS = ("node", "chromium", "firefox")

PROGRAMS = {NODE: ("node", "nodejs"), CHROMIUM: ("chromium", "chromium-browser", "google-chrome"),
            FIREFOX: ("firefox-esr", "firefox")}  # fmt: skip
"""Names of each program on the path."""

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
"""Of a Chromium without a window."""

FILES = {
    "index.html": '<!doctype html><meta charset="utf-8"><script type="module" src="call.js"></script>',
    "call.js": f"""
const input = await (await fetch("input.json")).json();
let output;
try {{
  const {{ [input.function]: called }} = await import(input.module);
  const engine = await WebAssembly.compile(await (await fetch("{ENGINE}")).arrayBuffer());
  output = {{ result: await called(engine, ...input.arguments) }};
}} catch (error) {{
  output = {{ error: String(error.stack ?? error) }};
}}
await fetch("result", {{ method: "POST", body: JSON.stringify(output) }});
""",
    "node.mjs": """
import { readFileSync, writeFileSync } from "node:fs";
globalThis.fetch = async (name, sent) => sent ? writeFileSync(name, sent.body) : {
  json: () => JSON.parse(readFileSync(name, "utf8")), arrayBuffer: () => readFileSync(name),
};
await import("./call.js");
""",
    "package.json": '{"type": "module"}',  # or Node takes .js for CommonJS
}


def program_of(runner: str) -> str | None:
    """Path of the program behind a runner; None if it is not installed."""
    return next(filter(None, map(shutil.which, PROGRAMS[runner])), None)


def call(
    runner: str,
    module: str,
    function: str,
    arguments: Sequence[Any],
    files: Mapping[str, Path] | None = None,
    timeout: float = 600,
) -> Any:
    """Call a function of a script in `static/` or here with the compiled engine and these arguments (plain data).

    files: more files beside the scripts, by name. Raises BadInput if the program is not installed, and RuntimeError
    with the script's own error.
    """
    program = program_of(runner)
    if program is None:
        raise BadInput(f"{runner}: not installed; expected one of {', '.join(PROGRAMS[runner])} on the path")
    with tempfile.TemporaryDirectory(prefix="qwop-web-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for script in (*STATIC.iterdir(), *HERE.glob("*.js"), *(files or {}).values()):
            shutil.copy(script, folder)
        for file, text in FILES.items():
            (folder / file).write_text(text)
        (folder / ENGINE).write_bytes(engine_module())
        words = {"module": f"./{module}", "function": function, "arguments": list(arguments)}
        (folder / "input.json").write_text(json.dumps(words))
        if runner == NODE:
            subprocess.run([program, "node.mjs"], cwd=folder, check=True, timeout=timeout)
            output = json.loads((folder / "result").read_text())
        else:
            output = _in_browser(program, folder, timeout)
    if "error" in output:
        raise RuntimeError(f"{runner}: {output['error']}")
    return output["result"]


class Files(SimpleHTTPRequestHandler):
    """Python's own server of files, as any static host serves them."""

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def static_host(folder: Path, handler: type[Files] = Files) -> Iterator[str]:
    """The address of a folder's files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def _in_browser(program: str, folder: Path, timeout: float) -> Any:
    results: queue.Queue[Any] = queue.Queue()

    class Handler(Files):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()
            results.put(json.loads(body))

    profile = folder / "profile"
    profile.mkdir()
    if "firefox" in Path(program).name:
        options = ["--headless", "--no-remote", "--profile", str(profile)]
    else:
        options = [*FLAGS, "--no-first-run", f"--user-data-dir={profile}"]
    with static_host(folder, Handler) as address:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        browser = subprocess.Popen([program, *options, address], **quiet)
        try:
            return results.get(timeout=timeout)
        except queue.Empty:
            raise RuntimeError(f"{program}: no result within {timeout:.0f} seconds") from None
        finally:
            browser.terminate()
            with suppress(subprocess.TimeoutExpired):
                browser.wait(timeout=10)
            browser.kill()
            browser.wait()
