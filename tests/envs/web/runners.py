"""Runs the web's scripts in Node, Chromium or Firefox, to compare what they play with the simulator.

A browser needs no driver: it opens a page of a local server, whose script imports a module of `static/` or of this
folder, calls one of its functions, and sends back what that returns.
"""

import json
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from qwop.common.errors import BadInput
from qwop.envs.web import ENGINE, STATIC, engine_module

HERE = Path(__file__).parent

NODE, CHROMIUM, FIREFOX = RUNNERS = ("node", "chromium", "firefox")

PROGRAMS = {NODE: ("node", "nodejs"), CHROMIUM: ("chromium", "chromium-browser", "google-chrome"),
            FIREFOX: ("firefox-esr", "firefox")}  # fmt: skip
"""Names of each program on the path."""

_TYPES = {".js": "text/javascript", ".wasm": "application/wasm", ".html": "text/html; charset=utf-8"}

_CALL = """
const input = await INPUT;
let output;
try {
  const { [input.function]: called } = await import(input.module);
  const engine = await WebAssembly.compile(await ENGINE);
  output = { result: await called(engine, ...input.arguments) };
} catch (error) {
  output = { error: String(error.stack ?? error) };
}
"""

_IN_PAGE = """<!doctype html><meta charset="utf-8"><title>qwop</title><script type="module">
{call}
await fetch("result", {{ method: "POST", body: JSON.stringify(output) }});
</script>""".format(
    call=_CALL.replace("INPUT", '(await fetch("input.json")).json()').replace(
        "ENGINE", '(await fetch("engine.wasm")).arrayBuffer()'
    )
)

_IN_NODE = """
import { readFileSync, writeFileSync } from "node:fs";
const [folder, given, wanted] = process.argv.slice(2);
CALL
writeFileSync(wanted, JSON.stringify(output));
""".replace(
    "CALL",
    _CALL.replace("INPUT", 'JSON.parse(readFileSync(given, "utf8"))')
    .replace("ENGINE", "readFileSync(`${folder}/engine.wasm`)")
    .replace("import(input.module)", "import(`${folder}/${input.module}`)"),
)


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
    given = {"module": f"./{module}", "function": function, "arguments": list(arguments)}
    scripts = {file.name: file for file in (*STATIC.iterdir(), *HERE.glob("*.js"))} | dict(files or {})
    contents = {name: file.read_bytes() for name, file in scripts.items()} | {ENGINE: engine_module()}
    run = _in_node if runner == NODE else _in_browser
    output = run(program, given, contents, timeout)
    if "error" in output:
        raise RuntimeError(f"{runner}: {output['error']}")
    return output["result"]


def _in_node(program: str, given: dict[str, Any], files: Mapping[str, bytes], timeout: float) -> Any:
    with tempfile.TemporaryDirectory(prefix="qwop-node-") as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        (folder / "package.json").write_text('{"type": "module"}')  # or Node takes .js for CommonJS
        (folder / "run.mjs").write_text(_IN_NODE)
        (folder / "input.json").write_text(json.dumps(given))
        command: list[str | Path] = [program, folder / "run.mjs", folder, folder / "input.json", folder / "output.json"]
        subprocess.run(command, check=True, timeout=timeout)
        return json.loads((folder / "output.json").read_text())


def _in_browser(program: str, given: dict[str, Any], files: Mapping[str, bytes], timeout: float) -> Any:
    results: queue.Queue[Any] = queue.Queue()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(json.dumps(given).encode(), files, results.put))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="qwop-browser-", ignore_cleanup_errors=True) as profile:
        if "firefox" in Path(program).name:
            options = ["--headless", "--no-remote", "--profile", profile]
        else:
            options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                       f"--user-data-dir={profile}"]  # fmt: skip
        browser = subprocess.Popen(
            [program, *options, f"http://127.0.0.1:{server.server_port}/"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
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
            server.shutdown()
            server.server_close()


def _handler(given: bytes, files: Mapping[str, bytes], report: Callable[[Any], None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.lstrip("/") or "index.html"
            if name == "index.html":
                self._send(_IN_PAGE.encode(), _TYPES[".html"])
            elif name == "input.json":
                self._send(given, "application/json")
            elif name in files:
                self._send(files[name], _TYPES.get(Path(name).suffix, "application/octet-stream"))
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self._send(b"", "text/plain")
            report(json.loads(body))

        def _send(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: Any) -> None:
            """Say nothing."""

    return Handler
