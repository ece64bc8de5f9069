"""Settings files, which WEFT_SETTINGS names: docs/advise.md has the format. The library reads them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import _core, library
from .errors import Error, LibraryError, compose

VERSION = 1

Value = str | bool | int | float | Sequence[str] | Sequence[float]


def read_settings(path: str | os.PathLike[str]) -> dict[str, str]:
    """The settings of a file, as for the environment's variables: "policy" is that of WEFT_POLICY, and so on. Raises
    `LibraryError` if the file cannot be read, is of another version, or has a key, a value or a policy that the library
    refuses."""
    settings: dict[str, str] = _core.settings(os.fspath(path))
    if "policy" in settings:
        try:
            library.check_policy(settings["policy"])
        except LibraryError as failure:
            raise LibraryError(f"{os.fspath(path)}: {failure}") from None
    return settings


def settings_text(settings: Mapping[str, str | int], advice: Mapping[str, Value] | None = None) -> str:
    """The text of a settings file. `advice`: how it came about, for people."""
    lines = [f"version = {VERSION}", "", "[settings]", *_lines(settings)]
    if advice:
        lines += ["", "[advice]", *_lines(advice)]
    return "\n".join(lines) + "\n"


def write_settings(
    path: str | os.PathLike[str], settings: Mapping[str, str | int], advice: Mapping[str, Value] | None = None
) -> None:
    """Writes a settings file. An older settings file is replaced. Raises `Error` if there is a file that is none."""
    to = Path(path)
    if to.exists():
        check_replaceable(to)
    to.write_text(settings_text(settings, advice), encoding="utf-8")


def check_replaceable(path: Path) -> None:
    """Raises `Error` if there is a file that is no settings file."""
    if not path.exists():
        return
    try:
        _core.settings(os.fspath(path))
    except LibraryError as failure:
        given = f"{path}, which is no settings file ({failure})"
        raise Error(compose("this file is not replaced", given, "a new name, or a settings file")) from None


def _lines(table: Mapping[str, Value]) -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in table.items()]


def _value(value: Value) -> str:
    if isinstance(value, str):
        # TOML's basic strings have the escapes of JSON. Unlike JSON, TOML forbids DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    return f"[{', '.join(_value(one) for one in value)}]"
