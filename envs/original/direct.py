"""Calls into a page over the Chrome DevTools protocol, five times as fast as through ChromeDriver."""

import json
import socket
from typing import Any

from ...common.errors import BadInput


class PageGone(BadInput):
    """The browser was closed, or has left the page."""


class DirectObject:
    """An object in the page that `driver` (Selenium, Chrome) shows, named by a JavaScript expression.

    BadInput where the page has no such object. Calls raise `PageGone` once the page is not there any more.
    """

    def __init__(self, driver: Any, expression: str) -> None:
        import websocket  # Selenium needs it too

        self._number = 0
        address = driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
        url = f"ws://{address}/devtools/page/{driver.current_window_handle}"
        self._failures = (websocket.WebSocketException, OSError)
        # A socket of our own, or a proxy of the environment would be asked for the way to this machine.
        host, _, port = address.rpartition(":")
        plain = socket.create_connection((host.strip("[]"), int(port)), timeout=60)
        self._socket = websocket.create_connection(
            url, socket=plain, timeout=60, suppress_origin=True, skip_utf8_validation=True
        )
        result = self._ask("Runtime.evaluate", {"expression": expression})
        if "objectId" not in result:
            raise BadInput(f"{driver.current_url}: {expression} is not in the page")
        self._id = result["objectId"]

    def call(self, method: str, *arguments: Any, seconds: float = 60) -> Any:
        """Call a method; return its result, or that of its promise, as plain data within `seconds`."""
        function = f"function (...given) {{ return this.{method}(...given); }}"
        parameters = {
            "objectId": self._id,
            "functionDeclaration": function,
            "arguments": [{"value": argument} for argument in arguments],
            "returnByValue": True,
            "awaitPromise": True,
        }
        return self._ask("Runtime.callFunctionOn", parameters, seconds).get("value")

    def close(self) -> None:
        self._socket.close()

    def _ask(self, method: str, parameters: dict[str, Any], seconds: float = 60) -> dict[str, Any]:
        self._number += 1
        try:
            self._socket.settimeout(seconds)
            self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
            while (answer := json.loads(self._socket.recv() or "{}")).get("id") != self._number:
                if not answer or answer.get("method") == "Inspector.detached":
                    raise PageGone("the browser was closed")
        except self._failures as error:
            raise PageGone(f"the browser does not answer any more ({error or type(error).__name__})") from None
        if "error" in answer:
            raise PageGone(f"the page was left ({answer['error']['message']})")
        if exception := answer["result"].get("exceptionDetails"):
            description = exception.get("exception", {}).get("description") or exception["text"]
            raise BadInput(f"the page's game failed: {description.splitlines()[0]}")
        result: dict[str, Any] = answer["result"]["result"]
        return result
