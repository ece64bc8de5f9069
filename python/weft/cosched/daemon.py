"""The daemon: takes programs up, reads what they do, decides with `_core.share_decide`, moves them.

A turn is: look at the programs (which have ended, which threads there are), measure, decide, apply, publish. It comes
every period, and at once when a program comes or ends. A program is never waited for, and nothing that it writes is
trusted beyond its range. The daemon starts no programs: they are children of the shells and harnesses that started
them, so its own death takes nothing from them; the next daemon finds them in programs.json.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from .. import _core
from ..errors import Error, LibraryError, compose
from . import counters, processes
from .affinity import Place, Placement, Seats, apply, release, why_no_priorities
from .cpuset import Cpusets
from .domains import Domains, find_domains
from .door import Door
from .placements_trace import PlacementTrace
from .rates import PROFILES, Meter, name_of, rate_by, source_for, steady, unit_of
from .registry import Entry, read_entries, write_entries
from .settings import Settings, programs_path, socket_path

SLOTS = _core.share_most_programs
_DECISIONS_KEPT = 50
_LONGEST_NAME = 256
_GRACE = 1_000_000_000


@dataclass
class Watched:
    """A program, with all that the daemon knows of it."""

    entry: Entry
    end: int
    """A pidfd: readable when the first process has ended."""
    meter: Meter
    since: int
    domain: int = -1
    rate: int = 0
    source: str = "none"
    is_idle: bool = False
    why: str = ""
    placement: Placement | None = None
    seats: Seats = field(default_factory=Seats)
    threads: int = 0
    refused: str = ""
    slot_state: str = "none"


class Daemon:
    """One daemon at one directory. Only run() does anything; stop() may be called by a signal's handler."""

    def __init__(self, settings: Settings) -> None:
        """Takes the directory, and what a daemon before has left there. Raises `Error` or `LibraryError`."""
        self.settings = settings.checked()
        self.domains: Domains = find_domains(settings.domains)
        self.table = _core.ShareTable.create(settings.directory, SLOTS, settings.period)
        self.began = time.monotonic_ns()
        self._processor_before = time.process_time_ns()
        self._stopped = False
        self._programs: dict[int, Watched] = {}
        self._families = processes.Families()
        self._no_counters = counters.why_none()
        self._no_priorities = why_no_priorities()
        self._generation = self._decided = 0
        self._why: dict[str, Any] = {"code": "", "text": "no program has come", "score": 0, "source": "none"}
        self._decisions: deque[dict[str, Any]] = deque(maxlen=_DECISIONS_KEPT)
        self._moves = 0
        self._not_stored = ""
        self._cpusets = Cpusets(settings.directory) if settings.way == "cpuset" else None
        self._no_cpusets = self._cpusets.why_none if self._cpusets else ""
        self._trace = PlacementTrace(settings.trace, continues=self.table.adopted) if settings.trace else None
        self._poll = select.poll()
        self._ended: set[int] = set()
        """Pidfds of programs that have ended since the last turn."""
        self._door = Door(str(socket_path(settings.directory)), self._poll, self._answer)
        if self.table.adopted:
            self._adopt()

    # ---- life

    def run(self) -> None:
        """Until stop(), or SIGTERM, SIGINT or SIGHUP. Leaves no file, no cgroup, and no program away from where it
        might be; the programs go on."""
        before = {
            number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        }
        try:
            due = 0
            while not self._stopped:
                # Never longer than a period: the clock of a machine that is restored from an image goes back.
                due = min(due, time.monotonic_ns() + self.settings.period)
                wait = -(-(due - time.monotonic_ns()) // 1_000_000)
                came = self._events(max(wait, 0))
                is_due = time.monotonic_ns() >= due
                if is_due or came:
                    self._turn(is_period=is_due)
                if is_due:
                    due = time.monotonic_ns() + self.settings.period
        finally:
            self._leave()
            for number, handler in before.items():
                signal.signal(number, handler)

    def stop(self) -> None:
        self._stopped = True

    def _on_signal(self, _: int, __: FrameType | None) -> None:
        self.stop()

    def _leave(self) -> None:
        now = time.monotonic_ns()
        for watched in list(self._programs.values()):
            self._forget(watched, now)
        if self._trace:
            self._trace.close(now)
        self._door.close()
        if self._cpusets:
            self._cpusets.remove()
        clean_files(self.settings.directory)
        self.table.remove()

    # ---- programs

    def _adopt(self) -> None:
        """Goes on with the programs of the daemon before, where they are still the same processes."""
        seen = self.table.read()
        places: dict[tuple[int, int, int], Mapping[str, Any]] = {}
        if seen["state"] == "fresh":
            self._generation, self._decided = seen["generation"], min(seen["decided"], self.began)
            places = {(p["slot"], p["pid"], p["start"]): p for p in seen["programs"]}
        entries = read_entries(programs_path(self.settings.directory))
        for slot in set(range(self.table.slots)) - {e.slot for e in entries}:
            self.table.release(slot)
        for entry in entries:
            domain = places.get((entry.slot, entry.pid, entry.start), {}).get("domain", -1)
            if self._watch(entry, domain if domain < len(self.domains.sets) else -1) is None:
                self.table.release(entry.slot)
                free_leftovers(self.settings.directory, entry)
        if self._cpusets:
            self._cpusets.drop_others(self._programs)
        self._store()

    def _watch(self, entry: Entry, domain: int = -1) -> Watched | None:
        """None if the process has gone meanwhile."""
        try:
            end = os.pidfd_open(entry.pid)
        except OSError:
            return None
        # Only now: the process that the descriptor names is the one whose start is compared.
        if not processes.is_alive(entry.pid, entry.start) or not self._families.add(entry.slot, entry.pid):
            os.close(end)
            return None
        s = self.settings
        meter = Meter(weight=s.weight, counts=not self._no_counters, by_instruction=s.by_instruction)
        watched = Watched(entry, end, meter, time.monotonic_ns(), domain)
        self._programs[entry.slot] = watched
        self._poll.register(end, select.POLLIN)
        return watched

    def _forget(self, watched: Watched, now: int) -> None:
        """The program has ended, or the daemon does. What is left of its processes gets back what it came with."""
        slot = watched.entry.slot
        self._release(watched)
        self._poll.unregister(watched.end)
        os.close(watched.end)
        watched.meter.close()
        self._families.drop(slot)
        self.table.release(slot)
        if self._cpusets:
            self._cpusets.drop(slot)
        if self._trace:
            self._trace.end(now, slot)
        del self._programs[slot]

    def _release(self, watched: Watched) -> None:
        self._families.scan()
        if self._cpusets:
            self._cpusets.release(watched.entry.slot)
        mask = frozenset(watched.entry.mask)
        for pid in self._families.of(watched.entry.slot):
            release(processes.threads_of(pid), mask)
        free_leftovers(self.settings.directory, watched.entry)

    def _store(self) -> None:
        try:
            write_entries(programs_path(self.settings.directory), (w.entry for w in self._programs.values()))
            self._not_stored = ""
        except OSError as failure:
            self._not_stored = f"the next daemon would not find the programs: {failure.strerror}"

    # ---- a turn

    def _events(self, timeout_ms: int) -> bool:
        """Waits for whatever comes first. True: a program has come or ended."""
        came = False
        for file, event in self._poll.poll(timeout_ms):
            if not self._door.handles(file, event):
                self._ended.add(file)
                came = True
        return self._door.took() or came

    def _turn(self, *, is_period: bool) -> None:
        now = time.monotonic_ns()
        ended = [w for w in self._programs.values() if w.end in self._ended]
        self._ended.clear()
        for watched in ended:
            self._forget(watched, now)
        if ended:
            self._store()
        if is_period:
            self._families.scan()
            if self._cpusets:
                self._cpusets.drop_busy(self._programs)
        for watched in self._programs.values():
            self._look(watched, now, measures=is_period)
        self._decide(now)
        for watched in self._programs.values():
            self._place(watched)
        self._publish(now)

    def _look(self, watched: Watched, now: int, *, measures: bool) -> None:
        pids = self._families.of(watched.entry.slot)
        threads = watched.meter.follow(pids[1:] if watched.entry.bare else pids)
        watched.threads = len(threads)
        timeout = 5 * self.settings.period + _GRACE
        reading = self.table.slot(watched.entry.slot, now, timeout)
        watched.meter.published.read(reading, pids)
        watched.slot_state = watched.meter.published.state
        if measures:
            watched.meter.measure(now, threads, len(watched.placement.high) if watched.placement else 0)

    def _decide(self, now: int) -> None:
        programs = list(self._programs.values())
        known = [(w.meter.rates, w.meter.load) for w in programs]
        source = source_for(self.settings.scheduler, known, self.settings.idle_below)
        measured = [rate_by(w.meter.rates, source) for w in programs]
        for w, rate in zip(programs, measured, strict=True):
            its = source if w.meter.rates else "none"
            last = w.rate if w.source == its else -1
            w.rate, w.source = steady(last, rate, max(measured), self.settings.band), its
        if not programs:
            return
        costs = [(list(d), c) for d, c in self.settings.costs if len(d) == len(programs)]
        try:
            made = _core.share_decide(
                self.settings.scheduler,
                self.domains.counts,
                [{"id": w.entry.slot, "rate": w.rate, "load": w.meter.load, "domain": w.domain} for w in programs],
                generation=self._generation,
                now=now,
                decided=self._decided,
                counter_period=self.settings.counter_period,
                idle_below=self.settings.idle_below,
                costs=costs or None,
            )
        except LibraryError as failure:
            # Such as too many programs for worst-static: all stay where they are.
            self._why = {"code": "refused", "text": str(failure), "score": 0, "source": source}
            return
        flat = self.domains.flat
        for w, placed in zip(sorted(programs, key=lambda w: w.entry.slot), made["programs"], strict=True):
            moved = w.domain != placed["domain"]
            w.domain, w.is_idle, w.why = placed["domain"], placed["idle"], placed["why"]
            w.placement = Placement(
                placed["domain"],
                tuple(flat[c] for c in placed["cores"]),
                tuple(flat[c] for c in placed["high"]),
                placed["active"],
            )
            self._moves += moved
            if self._trace:
                where = f"domain {w.domain}" if w.domain >= 0 else "anywhere"
                self._trace.begin(now, w.entry.slot, w.entry.name, w.entry.pid, where, why=w.why, rate=w.rate)
        self._why = {"code": made["why"], "text": made["text"], "score": made["score"], "source": source}
        if made["changed"]:
            self._generation, self._decided = made["generation"], now
            decision = {"generation": self._generation, "at": now, **self._why}
            decision["domains"] = {str(w.entry.slot): w.domain for w in programs}
            self._decisions.append(decision)
            if self._trace:
                self._trace.decision(now, made["text"], generation=self._generation, score=made["score"], source=source)

    def _place(self, watched: Watched) -> None:
        placement = watched.placement
        if placement is None:
            return
        mask = frozenset(watched.entry.mask)
        watched.refused = ""
        if self._cpusets and not self._no_cpusets and placement.domain >= 0:
            pids = self._families.of(watched.entry.slot)
            watched.refused = self._cpusets.place(watched.entry.slot, pids, frozenset(placement.cpus) & mask)
        threads = list(watched.meter.threads.values())
        places = watched.seats.plan(
            placement,
            threads,
            mask,
            on_weft=watched.slot_state == "fresh",
            priorities=not self._no_priorities,
        )
        if watched.entry.bare:
            whole = frozenset(placement.cpus) & mask or mask
            places |= {tid: Place(whole) for tid in processes.threads_of(watched.entry.pid)}
        watched.refused = apply(places) or watched.refused

    def _publish(self, now: int) -> None:
        programs = [
            {
                "slot": w.entry.slot,
                "pid": w.entry.pid,
                "start": w.entry.start,
                "rate": w.rate,
                "source": name_of(w.source),
                "load": w.meter.load,
                "domain": w.domain,
                "active": w.placement.active if w.placement else 0,
                "name": w.entry.name.encode()[:31].decode(errors="ignore"),
            }
            for w in self._programs.values()
        ]
        self.table.publish(self._generation, self._decided, self.settings.scheduler, programs)
        if self._trace:
            for w in self._programs.values():
                self._trace.figures(now, w.entry.slot, w.entry.name, w.rate, w.meter.load)
            self._trace.flush()

    # ---- what others ask

    def _answer(self, request: Mapping[str, Any], pid: int, uid: int) -> tuple[dict[str, Any], bool]:
        """The answer to a request of this process, and whether a program has come. Raises `Error` for what is
        refused."""
        match request.get("do"):
            case "register":
                return self._register(request, pid, uid), True
            case "status":
                return self.status(), False
            case "stop":
                if uid not in (0, os.geteuid()):
                    raise Error(compose("only its user may stop the daemon", f"user {uid}", f"user {os.geteuid()}"))
                self.stop()
                return {"pid": os.getpid()}, False
            case other:
                raise Error(compose("no such request", repr(other)[:80], "register, status, stop"))

    def _register(self, request: Mapping[str, Any], pid: int, uid: int) -> dict[str, Any]:
        """Takes up the process that asks: the kernel says which it is."""
        if uid != os.geteuid() and os.geteuid() != 0:
            raise Error(compose("the daemon may not place this program", f"user {uid}", f"user {os.geteuid()}"))
        start = processes.start_of(pid)
        if pid == 0 or start is None:
            raise Error(
                compose("the program is in another process namespace, or gone", pid, "a process seen from here")
            )
        name, command = str(request.get("name", "")), str(request.get("command", ""))
        profile = request.get("profile", {})
        if not isinstance(profile, dict) or not all(
            k in PROFILES and type(v) is int and 0 <= v <= _core.share_most_rate for k, v in profile.items()
        ):
            raise Error(compose("no profile", repr(profile)[:80], f"rates of {', '.join(PROFILES)}"))
        known = next((w for w in self._programs.values() if (w.entry.pid, w.entry.start) == (pid, start)), None)
        if known is None:
            free = [slot for slot in range(SLOTS) if slot not in self._programs]
            if not free:
                raise Error(compose("no more programs can be placed", len(self._programs) + 1, f"up to {SLOTS}"))
            mask = tuple(sorted(os.sched_getaffinity(pid)))
            entry = Entry(
                free[0], pid, start, uid, name[:_LONGEST_NAME], command[:4096], mask, bool(request.get("bare"))
            )
            known = self._watch(entry)
            if known is None:
                raise Error(compose("the program has gone", pid, "a living process"))
        known.meter.rates |= profile
        try:
            spec = self.table.prepare(known.entry.slot, uid)
        except LibraryError:
            self._forget(known, time.monotonic_ns())
            raise
        self._store()
        # The second one tells a runtime that the first one is not a user's: src/share/slot_writer.cpp.
        return {"slot": known.entry.slot, "environment": {"WEFT_SHARE": spec, "COSCHED_SLOT": spec}}

    def status(self) -> dict[str, Any]:
        """All that is known, for `weft cosched status`. Times in ns of CLOCK_MONOTONIC, rates in units of their source,
        loads in thousandths."""
        now = time.monotonic_ns()
        usage = time.process_time_ns() - self._processor_before
        return {
            "version": 1,
            "directory": self.settings.directory,
            "now": now,
            "daemon": {
                "pid": os.getpid(),
                "since": self.began,
                "adopted": self.table.adopted,
                "processor_ns": usage,
                "processor_share": usage / max(now - self.began, 1),
            },
            "scheduler": self.settings.scheduler,
            "period_ns": self.settings.period,
            "domains": {"by": self.domains.by, "cpus": [list(d) for d in self.domains.sets]},
            "generation": self._generation,
            "decided": self._decided,
            "decision": self._why,
            "decisions": list(self._decisions),
            "moves": self._moves,
            "pressure": processes.pressure(),
            "missing": self._missing(),
            "programs": [self._program(w, now) for _, w in sorted(self._programs.items())],
        }

    def _missing(self) -> dict[str, str]:
        """What this daemon has to do without, and why."""
        hint = " (`--domains cores` takes cores in place of caches)" if self.domains.by == "caches" else ""
        reasons = {
            "counters": self._no_counters,
            "priorities": self._no_priorities,
            "cpuset": self._no_cpusets,
            "store": self._not_stored,
            "trace": self._trace.failure if self._trace else "",
            "domains": f"there is one domain, and nothing to place{hint}" if len(self.domains.sets) == 1 else "",
            "rates": "nothing is known of the programs: they are placed by their number alone"
            if self._programs and self._why["source"] == "none"
            else "",
        }
        return {what: why for what, why in reasons.items() if why}

    def _program(self, w: Watched, now: int) -> dict[str, Any]:
        placement = w.placement
        return {
            "slot": w.entry.slot,
            "pid": w.entry.pid,
            "uid": w.entry.uid,
            "name": w.entry.name,
            "command": w.entry.command,
            "seconds": (now - w.since) / 1e9,
            "domain": w.domain,
            "cpus": list(placement.cpus) if placement else [],
            "high": list(placement.high) if placement else [],
            "active": placement.active if placement else 0,
            "rate": w.rate,
            "source": w.source,
            "unit": unit_of(w.source),
            "rates": dict(w.meter.rates),
            "load": w.meter.load,
            "waiting": w.meter.waiting,
            "idle": w.is_idle,
            "why": w.why,
            "refused": w.refused,
            "slot_state": w.slot_state,
            "processes": len(self._families.of(w.entry.slot)),
            "threads": w.threads,
        }


def free_leftovers(directory: str, entry: Entry) -> None:
    """Gives processes of a program that no scan has seen, or that its end has orphaned, what the program came with.
    They are in its session, or have its slot in their environment."""
    for pid in processes.leftovers(entry.pid, entry.start, f"WEFT_SHARE={directory}:{entry.slot}"):
        release(processes.threads_of(pid), frozenset(entry.mask))


def clean_files(directory: str) -> None:
    """Removes the files that are not the table's own. The log stays with the supervisor."""
    for path in (socket_path(directory), programs_path(directory), Path(f"{programs_path(directory)}.new")):
        with contextlib.suppress(OSError):
            path.unlink()


def clean(directory: str) -> int:
    """Does what a daemon that was killed could not: frees its programs, and removes its table. Returns how many
    programs were freed.

    Raises `LibraryError` if a daemon is there, or the directory is not this user's.
    """
    table = _core.ShareTable.create(directory, SLOTS, 1_000_000_000)
    freed = 0
    for entry in read_entries(programs_path(directory)):
        family = processes.Families()
        if processes.is_alive(entry.pid, entry.start) and family.add(entry.slot, entry.pid):
            family.scan()
            freed += 1
            for pid in family.of(entry.slot):
                release(processes.threads_of(pid), frozenset(entry.mask))
        free_leftovers(directory, entry)
    Cpusets(directory).remove()
    clean_files(directory)
    table.remove()
    return freed


def serve(settings: Settings) -> int:
    """The daemon as a process of its own; its exit status."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one or more for each thread of each program
    try:
        Daemon(settings).run()
    except (Error, LibraryError, OSError) as failure:
        print(f"weft: {failure}", file=sys.stderr)
        return 1
    return 0
