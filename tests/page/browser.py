# SPDX-License-Identifier: BSD-3-Clause
"""Drives headless Chromium over the DevTools protocol, through pipes: no other package is needed."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXECUTABLE = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
_TIMEOUT_S = 60
_KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    """A browser with one page. `requests` are the addresses that it requested, `errors` what scripts reported;
    `timeout_s` is the longest time without a message from it."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._number, self._rest = 0, b""
        self._session: str | None = None
        self.timeout_s = _TIMEOUT_S
        self.requests: list[str] = []
        self.errors: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def open(self, place: Path | str, width: int = 1400, height: int = 900, dark: bool = False) -> None:
        """Opens a page, a file or an address, and waits until its script says that it is ready."""
        url = place if isinstance(place, str) else place.as_uri()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.requests.clear()
        self.errors.clear()
        self._call("Page.navigate", url=url)
        self.wait(f"location.href === {json.dumps(url)} && document.documentElement?.dataset.ready")

    def open_on_phone(self, place: Path, width: int) -> None:
        """Opens a page whose scripts do not report that it is ready, with the layout of a phone."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=True)
        self.errors.clear()
        self._call("Page.navigate", url=place.as_uri())
        self.wait(f"location.href === {json.dumps(place.as_uri())} && document.readyState === 'complete'")

    def wait(self, condition: str) -> Any:
        """Waits until an expression is true, and returns it."""
        end = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < end:
            found = self.evaluate(condition)
            if found:
                return found
            if self.errors:
                raise RuntimeError(f"the page reported: {self.errors}")
            time.sleep(0.02)
        raise TimeoutError(f"{condition} is not true after {_TIMEOUT_S} s; errors: {self.errors}")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, as JSON has it."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", found["exceptionDetails"]))
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Presses a key: a character, or a name of `_KEYS`."""
        text = {"Enter": "\r"}.get(key, "" if key in _KEYS else key)
        fields: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": _KEYS.get(key, 0)}
        self._call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **fields)
        self._call("Input.dispatchKeyEvent", type="keyUp", **fields)

    def type(self, text: str) -> None:
        self._call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Clicks the middle of an element with the mouse."""
        x, y = self.evaluate(
            f"(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect())"
        )
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def mouse(self, kind: str, x: float, y: float, **fields: Any) -> None:
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1, **fields)

    def choose_files(self, selector: str, *paths: Path) -> None:
        """Chooses files in a field for them."""
        document = self._call("DOM.getDocument")["root"]["nodeId"]
        node = self._call("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]
        self._call("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                return dict(found["result"])
            self._note(found)

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"].get("exception", {}).get("description", params)))
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._receive], [], [], self.timeout_s)[0]:
                raise TimeoutError(f"the browser sent no message for {self.timeout_s} s")
            read = os.read(self._receive, 1 << 20)
            if not read:
                raise RuntimeError("the browser has ended")
            self._rest += read
        message, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(message))


@contextlib.contextmanager
def browser(*others: str) -> Iterator[Browser]:
    """A browser that can reach only this machine, with a new profile. `others` are options of the command."""
    assert EXECUTABLE is not None
    to_browser, send = os.pipe()
    receive, from_browser = os.pipe()

    def connect() -> None:  # the protocol's descriptors are 3 and 4
        a, b = os.dup(to_browser), os.dup(from_browser)
        os.dup2(a, 3)
        os.dup2(b, 4)

    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        options += ["--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        options.append("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        process = subprocess.Popen(
            [EXECUTABLE, *options, *others],
            preexec_fn=connect,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Browser(send, receive)
        finally:
            os.close(send)
            os.close(receive)
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
