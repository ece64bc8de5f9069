"""Rates of programs: how much each asks of the memory in a second, from the best source that there is.

Only rates of one source are compared with each other; a load is no byte, and a byte no waiting thread. So a decision
uses the best source that all programs have which are not idle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from . import processes
from .counters import Counters, Counts

LINE = 64
"""Bytes that a miss moves."""
MEASURED = ("counters", "published", "kernel")
"""Best first."""
PROFILES = tuple(f"profile:{source}" for source in MEASURED)
_ORDER = ("counters", "published", *PROFILES, "kernel")
STATIC = ("lira-static", "best-static", "worst-static")
UNITS = {
    "counters": "loads/s a thread",
    "published": "bytes/s",
    "kernel": "thousandths of a core wanted",
    "none": "",
}
_SECOND = 1_000_000_000
_WINDOW = 9
"""Readings of a thread's times. The kernel adds a wait only when it is over: single periods say little."""
_WORKING = 100
"""A thread works if it is runnable for more than this part of the time: 1/100."""


def name_of(source: str) -> str:
    """The source as the table has it."""
    return source.partition(":")[0]


def unit_of(source: str) -> str:
    return UNITS[source.rpartition(":")[2]]


def common_source(rates: Iterable[Mapping[str, int]], order: Sequence[str]) -> str:
    """The first source of `order` that all have; `none` if there is none, or no program."""
    all_rates = list(rates)
    return next((s for s in order if all_rates and all(s in r for r in all_rates)), "none")


def source_for(scheduler: str, programs: Sequence[tuple[Mapping[str, int], int]], idle_below: int) -> str:
    """The source for a decision about programs, of each of which the rates and the load are known.

    Schedulers that decide once go by profiles if all have one. Else the programs that have been measured and are not
    idle decide: one that has just come has nothing yet, and an idle one counts as 0 whatever is known of it.
    """
    all_rates = [rates for rates, _ in programs]
    if scheduler in STATIC and (source := common_source(all_rates, PROFILES)) != "none":
        return source
    measured = [(rates, load) for rates, load in programs if any(s in rates for s in MEASURED)]
    busy = [rates for rates, load in measured if load >= idle_below]
    return common_source(busy or [rates for rates, _ in measured] or all_rates, _ORDER)


def rate_by(rates: Mapping[str, int], source: str) -> int:
    """The rate by a source; by the program's profile of the same kind while nothing is measured; else 0: unknown."""
    return rates.get(source, rates.get(f"profile:{source}", 0))


def steady(last: int, rate: int, largest: int, band: int) -> int:
    """The rate for a decision: that of the last one, until the measured one differs from it by more than a part of the
    largest rate of all programs (band: thousandths). Equal programs never measure quite alike, and by ranks alone they
    would change places for nothing. last < 0: there is none."""
    return rate if last < 0 or abs(rate - last) * 1000 > band * largest else last


@dataclass
class Published:
    """What a program on Weft tells in its slot, from one reading to the next."""

    last: dict[str, Any] | None = None
    rate: int | None = None
    """Bytes in a second; None while it is not known, and for a program that declares no data."""
    state: str = "none"

    def read(self, reading: Mapping[str, Any], pids: Iterable[int]) -> None:
        """Takes a reading of ShareTable.slot(). A slot in which another process than the program's tells of itself
        counts as damaged: what it says is of no use."""
        self.state = str(reading["state"])
        if self.state != "fresh":
            self.last = self.rate = None
            return
        if reading["pid"] not in pids:
            self.state, self.last, self.rate = "foreign", None, None
            return
        last, self.last = self.last, dict(reading)
        if last is None or last["pid"] != reading["pid"]:
            self.rate = None
            return
        elapsed = reading["published"] - last["published"]
        if elapsed == 0:
            return  # not published since
        if elapsed < 0 or any(reading[k] < last[k] for k in ("tasks", "bytes", "processor")):
            self.rate = None  # a new runtime in the same process
            return
        if reading["misses"] >= 0 and last["misses"] >= 0:
            moved = max(reading["misses"] - last["misses"], 0) * LINE
        elif reading["bytes"] > 0:
            moved = reading["bytes"] - last["bytes"]
        else:
            self.rate = None
            return
        self.rate = in_a_second(moved, elapsed)


def in_a_second(amount: int, elapsed: int) -> int:
    """Whole numbers, within what the decision takes. elapsed: ns, above 0."""
    return max(0, min(amount * _SECOND // elapsed, _core.share_most_rate))


def _parts(now: processes.Times, then: processes.Times, elapsed: int) -> tuple[int, int]:
    """Thousandths of the time in which a thread was runnable, and in which it waited for a processor."""
    run, wait = now.run - then.run, now.wait - then.wait
    wanted, waited = (max(0, min(part * 1000 // max(elapsed, 1), 1000)) for part in (run + wait, wait))
    return wanted, waited


@dataclass
class Thread:
    """One thread with what it did in the last periods."""

    pid: int
    tid: int
    stat: processes.SchedStat | None
    """None: it is placed, but not measured."""
    counters: Counters | None
    past: deque[tuple[int, processes.Times]] = field(default_factory=lambda: deque(maxlen=_WINDOW))
    """When its times were read, and what they were."""
    counts: Counts | None = None
    wanted: int = 0
    """Thousandths of the last periods in which it was runnable, whether it had a processor or not."""
    waited: int = 0
    rested: int = 0
    """Periods in a row in which it did not work."""

    def close(self) -> None:
        if self.stat:
            self.stat.close()
        if self.counters:
            self.counters.close()


@dataclass
class Meter:
    """Measures one program. Rates are averages with exponentially falling weights."""

    weight: int = 500
    """Of the new value, in thousandths."""
    counts: bool = False
    """Hardware counters are to be had."""
    by_instruction: bool = False
    """Loads in a million instructions, not in a second."""
    threads: dict[int, Thread] = field(default_factory=dict)
    rates: dict[str, int] = field(default_factory=dict)
    load: int = 1000
    waiting: int = 0
    """Thousandths of a core for which its threads were runnable without a processor."""
    published: Published = field(default_factory=Published)
    _listed: dict[int, tuple[int, list[int]]] = field(default_factory=dict)
    _last: int = 0
    _load: int = -1

    def follow(self, pids: Sequence[int]) -> list[Thread]:
        """Takes up new threads of these processes, drops those that have ended, and returns all in the order of the
        processes, main threads first."""
        found: list[Thread] = []
        for pid in pids:
            for tid in self._threads_of(pid):
                thread = self.threads.get(tid)
                if thread is None or thread.pid != pid:
                    if thread:
                        thread.close()
                        del self.threads[tid]
                    stat = processes.open_schedstat(pid, tid)
                    thread = self.threads[tid] = Thread(pid, tid, stat, self._counters(tid))
                found.append(thread)
        for pid in self._listed.keys() - set(pids):
            del self._listed[pid]
        there = {t.tid for t in found}
        for tid in [t for t in self.threads if t not in there]:
            self.threads.pop(tid).close()
        return found

    def measure(self, now: int, threads: Sequence[Thread], high: int) -> None:
        """Reads all figures at `now` (ns). high: on how many cores the program has the high-priority worker; 0: any."""
        elapsed, self._last = now - self._last, now
        if elapsed <= 0:  # the clock has gone back: what was read before says nothing of a stretch of time
            for t in threads:
                t.past.clear()
        new: dict[str, int] = {}
        wanted = waited = loads = counted = 0
        shares: list[int] = []
        for t in threads:
            times = t.stat.read() if t.stat else None
            if times and t.past:
                then = t.past[-1][1]
                t.rested = 0 if _parts(times, then, elapsed)[0] * _WORKING > 1000 else t.rested + 1
                t.wanted, t.waited = _parts(times, t.past[0][1], now - t.past[0][0])
                wanted += t.wanted
                waited += t.waited
                shares.append(t.wanted)
            if times:
                t.past.append((now, times))
            else:
                self._listed.pop(t.pid, None)  # it has ended: another may have come in its place
            if t.counters:
                counts, t.counts = t.counts, t.counters.read()
                if counts and t.counts and elapsed > 0:
                    did = t.counts.loads - counts.loads
                    whole = t.counts.instructions - counts.instructions if self.by_instruction else 0
                    rate = did * 1_000_000 // max(whole, 1) if self.by_instruction else in_a_second(did, elapsed)
                    if t.rested == 0:
                        loads, counted = loads + max(rate, 0), counted + 1
        if shares:
            new["kernel"] = wanted
            most = sorted(shares, reverse=True)[: high or len(shares)]
            self.load = _core.share_smooth(self._load, sum(most) // len(most), self.weight)
            self._load = self.load
            self.waiting = waited
        if counted:
            new["counters"] = min(loads // counted, _core.share_most_rate)
        if self.published.rate is not None:
            new["published"] = self.published.rate
        for source in MEASURED:
            if source in new:
                self.rates[source] = _core.share_smooth(self.rates.get(source, -1), new[source], self.weight)
        if self.published.rate is None:
            self.rates.pop("published", None)

    def close(self) -> None:
        for thread in self.threads.values():
            thread.close()
        self.threads.clear()

    def _threads_of(self, pid: int) -> list[int]:
        """Listed anew only when their number has changed, or one has ended."""
        count = processes.thread_count(pid)
        known = self._listed.get(pid)
        if known is None or known[0] != count:
            # Guests are on cores that other programs lend, and their program sees to them (docs/share.md).
            own = [tid for tid in processes.threads_of(pid) if not processes.is_guest(pid, tid)]
            known = self._listed[pid] = count, own
        return known[1]

    def _counters(self, tid: int) -> Counters | None:
        if not self.counts:
            return None
        try:
            return Counters(tid)
        except OSError:  # the thread has ended, or is another user's
            return None
