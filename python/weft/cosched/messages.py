"""What is said to a daemon, over the socket in its directory: one JSON object each way, then the connection ends."""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any

from ..errors import Error, compose
from .settings import socket_path

MOST_BYTES = 1 << 16
"""Of a request."""
_MOST_ANSWER = 4 << 20
_TIMEOUT = 10.0


class NoDaemonError(Error):
    """No daemon answers at this directory."""


def ask(directory: str, request: dict[str, Any], *, timeout: float = _TIMEOUT, wait: float = 0.0) -> dict[str, Any]:
    """Sends a request, and returns the answer. `wait`: for so many seconds a daemon that is not there may still come.

    Raises `NoDaemonError` if there is none, `Error` with its reason if it refuses.
    """
    until = time.monotonic() + wait
    while True:
        try:
            answer = _exchange(directory, request, timeout)
            break
        except OSError as failure:
            if time.monotonic() >= until:
                reason = failure.strerror or str(failure)
                allowed = "the directory of a running daemon (`weft cosched daemon`)"
                raise NoDaemonError(compose(f"no daemon answers ({reason})", directory, allowed)) from None
            time.sleep(0.02)
    if error := answer.get("error"):
        raise Error(str(error))
    return answer


def _exchange(directory: str, request: dict[str, Any], timeout: float) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as s:
        s.settimeout(timeout)
        _connect(s, directory)
        s.sendall(json.dumps(request).encode())
        s.shutdown(socket.SHUT_WR)
        parts: list[bytes] = []
        while part := s.recv(1 << 16):
            parts.append(part)
            if sum(map(len, parts)) > _MOST_ANSWER:
                raise OSError("its answer has no end")
    try:
        found = json.loads(b"".join(parts))
    except ValueError:
        raise OSError("it has gone before it answered") from None
    if not isinstance(found, dict):
        raise OSError("its answer is none")
    return found


def _connect(s: socket.socket, directory: str) -> None:
    # By the open directory, so that its path may be of any length.
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        s.connect(f"/proc/self/fd/{folder}/{socket_path(directory).name}")
    finally:
        os.close(folder)
