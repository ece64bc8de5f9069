"""The daemon's socket. Any number of clients may be slow, say nonsense or go away; the daemon waits for none of
them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import Error, LibraryError, compose
from .messages import MOST_BYTES

_MOST_CLIENTS = 64
_PATIENCE = 5.0
"""Seconds that a client has for its request and for taking the answer."""

Answer = Callable[[Mapping[str, Any], int, int], tuple[dict[str, Any], bool]]
"""Of a request, the pid and the uid of the process that asks."""


@dataclass
class _Client:
    socket: socket.socket
    pid: int
    uid: int
    came: float
    request: bytearray = field(default_factory=bytearray)
    answer: memoryview | None = None


class Door:
    """Listens at `path`, whose directory is the daemon's alone."""

    def __init__(self, path: str, poll: select.poll, answer: Answer) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self._path = path
        self._poll = poll
        self._answer = answer
        self._took = False
        self._clients: dict[int, _Client] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._listener.bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}")  # of any length
        finally:
            os.close(folder)
        os.chmod(path, 0o666)  # what a client may do is decided by its user
        self._listener.listen(_MOST_CLIENTS)
        poll.register(self._listener, select.POLLIN)

    def handles(self, file: int, event: int) -> bool:
        """Deals with an event of the poll, if it is one of this socket."""
        if file == self._listener.fileno():
            self._accept()
            return True
        client = self._clients.get(file)
        if client is None:
            return False
        try:
            if client.answer is None:
                self._read(client)
            else:
                self._write(client)
        except OSError:
            self._close(client)
        return True

    def took(self) -> bool:
        """Whether a program has come since the last call. Clients that have used up their time are dropped."""
        now = time.monotonic()
        for client in [c for c in self._clients.values() if not 0 <= now - c.came <= _PATIENCE]:
            self._close(client)
        took, self._took = self._took, False
        return took

    def close(self) -> None:
        for client in list(self._clients.values()):
            # The client that asked for the stop gets its answer.
            with contextlib.suppress(OSError):
                if client.answer is not None:
                    client.socket.send(client.answer)
            self._close(client)
        self._poll.unregister(self._listener)
        self._listener.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _accept(self) -> None:
        try:
            s, _ = self._listener.accept()
        except OSError:
            time.sleep(0.001)  # no descriptor is left: the socket stays readable
            return
        if len(self._clients) >= _MOST_CLIENTS:
            s.close()
            return
        s.setblocking(False)
        size = struct.calcsize("3i")
        pid, uid, _ = struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        self._clients[s.fileno()] = _Client(s, pid, uid & 0xFFFFFFFF, time.monotonic())
        self._poll.register(s, select.POLLIN)

    def _read(self, client: _Client) -> None:
        part = client.socket.recv(MOST_BYTES)
        client.request += part
        if part and len(client.request) <= MOST_BYTES:
            return
        client.answer = memoryview(json.dumps(self._answer_to(client)).encode())
        self._poll.modify(client.socket, select.POLLOUT)
        self._write(client)

    def _answer_to(self, client: _Client) -> dict[str, Any]:
        try:
            if len(client.request) > MOST_BYTES:
                raise Error(compose("the request is too long", f"more than {MOST_BYTES} bytes", "less"))
            request = json.loads(bytes(client.request))
            if not isinstance(request, dict):
                raise ValueError("no object")
            answer, took = self._answer(request, client.pid, client.uid)
            self._took |= took
            return answer
        except (Error, LibraryError) as failure:
            return {"error": str(failure)}
        except (ValueError, RecursionError):
            return {"error": compose("no request", repr(bytes(client.request[:80])), "one JSON object")}
        except OSError as failure:
            return {"error": str(failure)}

    def _write(self, client: _Client) -> None:
        assert client.answer is not None
        try:
            client.answer = client.answer[client.socket.send(client.answer) :]
        except BlockingIOError:
            return
        if not client.answer:
            self._close(client)

    def _close(self, client: _Client) -> None:
        if self._clients.pop(client.socket.fileno(), None):
            self._poll.unregister(client.socket)
            client.socket.close()
