"""What a wheel must contain; scripts/wheel makes one and tries it."""

from __future__ import annotations

import re
import subprocess

from conftest import SOURCE
from weft import _core

SYSTEM = {"libc", "libm", "libstdc++", "libgcc_s", "libz", "ld-linux-x86-64"}  # as manylinux has it


def test_terms_of_all_linked_libraries_are_in_the_wheel() -> None:
    tags = subprocess.run(["readelf", "-d", _core.__file__], check=True, capture_output=True, text=True).stdout
    linked = set(re.findall(r"\(NEEDED\).*\[([\w+-]+)\.so", tags)) - SYSTEM
    assert "libhwloc" in linked
    rules = (SOURCE / "python/CMakeLists.txt").read_text(encoding="utf-8")
    (packages,) = re.findall(r"foreach\(package IN ITEMS ([^)]*)\)", rules)
    for library in linked:
        names = f"({library.replace('_', '-')}|{library.split('_')[0]})[0-9.]*"  # as Debian calls packages
        assert any(re.fullmatch(names, p) for p in packages.split()), f"{library}: see python/CMakeLists.txt"
