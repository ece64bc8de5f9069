"""A browser for tests: Chromium without a window, controlled by its DevTools protocol over a pipe."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

PATIENCE = 30
"""Seconds after which a browser that does not answer counts as broken."""
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --no-default-browser-check "
    "--disable-background-networking --disable-component-update --disable-sync --disable-extensions --mute-audio "
    "--disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe"
)


def chromium() -> str:
    """The path of the browser. If there is none, an error that says how to install it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise FileNotFoundError("tests of weft trace view need the Debian package chromium; scripts/setup installs it")
    return found


class BrowserError(Exception):
    """The browser did not do what it was asked to do."""


class Browser:
    """One browser with one page and its profile in the empty folder `profile`. `log` holds the messages of its console,
    errors and failures of scripts included; `requests` holds the addresses that it requested."""

    def __init__(self, profile: Path, width: int = 1400, height: int = 900) -> None:
        commands, write_end = os.pipe()
        read_end, answers = os.pipe()

        def place_pipes() -> None:
            # The protocol wants them to be 3 and 4; numbers above those first, so that neither takes the other's place.
            high = [os.dup(commands), os.dup(answers)]
            while min(high) < 5:
                high = [os.dup(fd) for fd in high]
            os.dup2(high[0], 3, inheritable=True)
            os.dup2(high[1], 4, inheritable=True)
            os.setsid()

        own = [f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(
            [chromium(), *_FLAGS.split(), *own],
            preexec_fn=place_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._write, self._read = write_end, read_end
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        self.log: list[str] = []
        self.requests: list[str] = []
        pages = self.send("Target.getTargets")["targetInfos"]
        target = next(p["targetId"] for p in pages if p["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.size(width, height)

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(BrowserError, OSError):
            self._session = None
            self.send("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._write)
        os.close(self._read)

    # ---- the protocol

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._next(until, method)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, until: float, doing: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, until - time.monotonic()))
            part = os.read(self._read, 1 << 20) if ready else b""
            if not part:
                raise BrowserError(f"{doing}: the browser {'has ended' if ready else 'says nothing'}")
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method: str | None, said: dict[str, Any]) -> None:
        if method == "Runtime.consoleAPICalled":
            words = (str(a.get("value", a.get("description"))) for a in said["args"])
            self.log.append(f"{said['type']}: " + " ".join(words))
        elif method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.log.append(f"exception: {details.get('exception', {}).get('description', details['text'])}")
        elif method == "Log.entryAdded":
            self.log.append(f"{said['entry']['level']}: {said['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])

    # ---- what tests do

    def open(self, page: Path) -> None:
        self.log.clear()
        self.requests.clear()
        self.send("Page.navigate", url=page.as_uri())

    def size(self, width: int, height: int) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def run(self, script: str) -> Any:
        """The value of an expression, awaited; raises BrowserError if it fails."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait_for(self, script: str, wanted: Any = True) -> None:
        """Waits until an expression has the wanted value; True stands for any true value."""
        until = time.monotonic() + PATIENCE
        while (value := self.run(f"Boolean({script})" if wanted is True else script)) != wanted:
            if time.monotonic() > until:
                raise BrowserError(f"still {value!r}, not {wanted!r}: {script}; the console said {self.log}")
            time.sleep(0.02)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """`kind`: mousePressed, mouseReleased, mouseMoved, mouseWheel."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def key(self, key: str) -> None:
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
