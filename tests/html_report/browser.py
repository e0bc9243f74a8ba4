"""A headless Chromium, spoken to in its DevTools protocol over a pair of pipes: https://chromedevtools.github.io."""
from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
from base64 import b64decode
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium")
PATIENCE = 60.0
"""Seconds for one answer."""


class Browser:
    """`with Browser(folder) as browser: browser.open(page)`. folder: for its profile.

    events: what it told of its own accord since the last page was opened, as (method, parameters).
    """

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   "--hide-scrollbars", "--disable-dev-shm-usage", f"--user-data-dir={folder}"]
        # The protocol wants descriptors 3 and 4, which only a shell puts there portably.
        script = f'exec 3<&{to_read} 4>&{to_write}; exec "$@"'
        self._process = subprocess.Popen(["bash", "-c", script, "bash", *command], pass_fds=(to_read, to_write),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self._received = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[tuple[str, dict[str, Any]]] = []

    def __enter__(self) -> Browser:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        os.close(self._read)
        os.close(self._write)

    def open(self, page: Path, width: int = 1200, height: int = 900, scheme: str = "light") -> None:
        """Load a file in a window of that many pixels. scheme: "light" or "dark"."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri())
        while not any(method == "Page.loadEventFired" for method, _ in self.events):
            self._message()

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        code = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}[key]
        more = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)

    def screenshot(self) -> bytes:
        """A PNG of the window."""
        return b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def pdf(self) -> bytes:
        return b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def complaints(self) -> list[str]:
        """What went to the console, and exceptions, since the page was opened."""
        names = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(told) for method, told in self.events if method in names]

    def requests(self) -> list[str]:
        """What was loaded since the page was opened."""
        return [told["request"]["url"] for method, told in self.events if method == "Network.requestWillBeSent"]

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])

    def _message(self) -> dict[str, Any]:
        """The next one; events are noted."""
        until = monotonic() + PATIENCE
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._read], [], [], max(until - monotonic(), 0))
            data = os.read(self._read, 1 << 16) if ready else b""
            if not data:
                raise TimeoutError("Chromium does not answer")
            self._received += data
        text, self._received = self._received.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append((message["method"], message.get("params", {})))
        return message
