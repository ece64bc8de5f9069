"""What a result needs to be understood later: the machine, the compiler, the state of the source."""

import os
import platform
import re
import subprocess
import time
from pathlib import Path


def first_line(command, folder=None):
    try:
        out = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return out.stdout.strip().split("\n")[0] if out.returncode == 0 else ""


def cpu_model():
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    found = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def describe(compiler, command):
    source = Path(__file__).resolve().parent
    commit = first_line(["git", "rev-parse", "HEAD"], source)
    changed = bool(first_line(["git", "status", "--porcelain", "--", "../src", "../include", "."], source))
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "compiler": compiler,
        "commit": commit + ("+" if commit and changed else ""),  # +: with changes that are not committed
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": command,
        "load_before": round(os.getloadavg()[0], 2),
    }


def kind(machine):
    """Part of a file name: amd-epyc-2-cores."""
    words = re.sub(r"\(.*?\)|CPU|@.*|Processor", " ", machine["cpu"]).lower()
    return re.sub(r"[^a-z0-9]+", "-", f"{words} {machine['cores']} cores").strip("-")
