"""The programs to sample, and the rows of the table that come out of their samples."""

import statistics
from dataclasses import dataclass
from typing import Callable, Optional


@dataclass
class Program:
    """One executable with arguments. A sample is the JSON object that it prints."""
    name: str
    executable: str
    arguments: tuple = ()
    rounds: int = 7
    launcher: tuple = ()  # a command put before it
    after: Optional[Callable] = None  # (sample, stderr): adds what only the launcher knows
    optional: str = ""  # what to say if the executable or the launcher is not there


@dataclass
class Row:
    """One figure. `values` makes a list of measured values of one sample;
    the figure is the median of all, the 99th percentile or the maximum."""
    what: str
    program: str
    unit: str
    values: Callable
    target: Optional[float] = None
    at_least: bool = False
    strictly: bool = False
    of: str = "median"
    digits: int = 2
    more_is_better: bool = False

    @property
    def compared(self):
        """Whether bench/compare looks at it: not at rows that are there to explain others."""
        return not self.what.startswith("  ") or self.more_is_better

    def reached(self, value):
        if self.target is None:
            return None
        if self.at_least:
            return value >= self.target
        return value < self.target if self.strictly else value <= self.target

    def target_text(self):
        if self.target is None:
            return "-"
        sign = ">=" if self.at_least else "<" if self.strictly else "<="
        return f"{sign} {self.target:g} {self.unit}".strip()


def one(key):
    return lambda sample: [sample[key]]


def over_serial(key, serial="serial"):
    return lambda sample: [sample[key] - sample[serial]]


def many(key):
    return lambda sample: sample[key]


def instructions(sample, stderr):
    for line in stderr.splitlines():
        if "Collected :" in line:
            sample["instructions"] = int(line.split(":")[1]) / sample["forks"]


FORK_FORMS = [("plain", "plain"), ("lvalues", "plain, closures with names by reference"), ("context", "context")]
FORK_BUILDS = [  # suffix, what it is, the targets of the forms
    ("", "-O2, fib not inlined", (1.8, None, 1.4)),
    ("_O3", "-O3, fib not inlined", None),
    ("_inline_O2", "-O2, fib may be inlined", (1.2, None, 0.6)),
    ("_inline_O3", "-O3, fib may be inlined", (1.2, 1.4, 0.75)),
    ("_shared", "-O2 -fPIC, fib may be inlined, libweft.so", (1.2, None, 0.6)),
    ("_clang", "clang -O2, fib not inlined", None),
    ("_clang_O3", "clang -O3, fib not inlined", None),
    ("_clang_inline_O2", "clang -O2, fib may be inlined", None),
    ("_clang_inline_O3", "clang -O3, fib may be inlined", None),
]
COUNTED_FORMS = ["serial", "calls", *(form for form, _ in FORK_FORMS)]
COUNTED_BUILDS = [(suffix, build) for suffix, build, _ in FORK_BUILDS if suffix != "_shared"]

LATENCIES = [
    ("searching", "idle worker awake"),
    ("later", "idle only after the linking"),
    ("parked", "idle workers asleep"),
    ("two", "two asleep, two frames"),
    ("runtime", "asked inside the runtime"),
]

SORTED = [  # type, number of elements, what they are
    ("u32", 10_000, "10,000 uint32"), ("u32", 1_000_000, "1 M uint32"), ("u32", 10_000_000, "10 M uint32"),
    ("u32", 100_000_000, "100 M uint32"), ("f64", 10_000, "10,000 double"), ("f64", 10_000_000, "10 M double"),
    ("record", 10_000, "10,000 records of 24 bytes"), ("record", 10_000_000, "10 M records of 24 bytes")]

MODELLED = ["pack:4 core:8 pu:1", "pack:4 core:16 pu:1"]
MODELLED_CHILDREN = [1, 9, 100]  # us

ALL_POLICIES = ["serial", "steal-parent-first", "share", "near", "locality", "socket", "slaw", "mts", "pws", "hws", "pdf",
                "cpdf", "cab", "static", "dynamic", "constrained", "laws", "laws-nc", "adws", "ml-adws", "ml-steal", "sb",
                "random-push", "chs", "cls", "crs", "tatl", "offline", "numalb"]
POLICIES = ["steal", "near", "steal:zone=reported", "steal-parent-first", "share"]

DAG_KEYS = [("objects", "lvalues"), ("data", "weft::datum"), ("after", "after()")]
DAG_SHAPES = [  # name, size, what it is, the target of a second run of Weft's
    ("wavefront", 1024, "wavefront of 2^20", 50), ("layered", 1000, "1000 layers of 1000", None)]
DAG_PEERS = [  # executable, what it is, whether a graph runs again, what to say if it is not there
    ("tbb", "oneTBB's flow graph", True, "not built (libtbb-dev)"),
    ("libgomp", "task depend, libgomp", False, "not built (GCC with OpenMP)"),
    ("libomp", "task depend, libomp", False, "not built (clang-19, libomp-19-dev)"),
    ("starpu", "StarPU", True, "not built (libstarpu-dev)"),
]

PREEMPTION_US = [100, 200, 500, 2000, 10000]  # intervals besides 1 ms
PREEMPTION_WAYS = [  # an argument, what it is
    ("timer=created", "timers of their own phase"), ("timer=one-to-all", "one timer, to all"), ("timer=chain", "one timer, a chain"),
    ("park=futex", "futex, one pool"), ("park=sigsuspend", "sigsuspend, one pool")]
# kinds of stages (s: serial in order, p: parallel), us of work in each, what it is
PIPELINES = [*((kinds, us, f"pipeline of {what}, {us} us a stage")
               for kinds, what in (("sps", "3 stages, the middle one parallel"), ("sppps", "5 stages, 3 of them parallel"),
                                   ("spsps", "5 stages, serial and parallel by turns"))
               for us in (1, 10, 100)), ("dedup", 0, "pipeline examples/dedup, 4 MB")]
PREEMPTION_TYPES = [("ticks", "the ticks alone"), ("yield", "yield"), ("klt", "klt")]
PREEMPTION_SWEEPS = [(256, 4), (1024, 4), (16384, 4)]  # KB of each array, threads a worker

CALLGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             "--toggle-collect=*counted_region*")


def programs(n):
    size = (f"n={n}",)
    found = [Program("fork" + suffix, "fork_cost" + suffix, size, rounds=9 if aimed else 5,
                     optional="" if not suffix else "not built")
             for suffix, _, aimed in FORK_BUILDS]
    found += [Program("speedup", "fork_speedup", size, rounds=11), Program("group", "group"), Program("trace", "trace")]
    found += [Program("latency-" + s, "latency", (f"scenario={s}",), rounds=5) for s, _ in LATENCIES]
    found += [Program("control", "control", rounds=5), Program("memory", "memory", rounds=5),
              Program("blocked", "blocked", rounds=3),
              Program("idle", "idle", rounds=5)]
    found += [Program("policy-" + p, "policies", (f"policy={p}",), rounds=5) for p in POLICIES]
    found += [Program("coarse-" + p, "policies_coarse", (f"policy={p}",), rounds=3) for p in ALL_POLICIES]
    found += [Program("loop-1", "loop_launch", ("workers=1",), rounds=5),
              Program("loop-2", "loop_launch", ("workers=2",), rounds=5),
              Program("outside-1", "loop_outside", ("workers=1",), rounds=5),
              Program("outside-2", "loop_outside", ("workers=2",), rounds=5),
              Program("loop-long", "loop_long", rounds=5), Program("nqueens", "nqueens", rounds=7),
              Program("uts", "uts", rounds=5, optional="nettle not installed"),
              Program("model", "model_rate", rounds=5)]
    for shape, n, _, _ in DAG_SHAPES:
        graph = (f"shape={shape}", f"n={n}")
        found += [Program(f"dag-{shape}-{keys}-{w}", "dag", (*graph, f"keys={keys}", f"workers={w}"), rounds=5)
                  for keys, _ in DAG_KEYS for w in (1, 2)]
        found += [Program(f"peers.dag-{shape}.{w}.{peer}", f"dag_{peer}", (*graph, f"workers={w}"), rounds=3,
                          optional=missing)
                  for peer, _, _, missing in DAG_PEERS for w in (1, 2)]
    for kinds, us, _ in PIPELINES:
        stages = (f"kinds={kinds}", f"us={us}")
        for w in (1, 2):
            found += [Program(f"pipeline-{kinds}-{us}-{w}", "pipeline", (*stages, f"workers={w}"), rounds=5,
                              optional="nettle or zlib not installed"),
                      Program(f"peers.pipeline-{kinds}-{us}-{w}", "pipeline_tbb", (*stages, f"workers={w}"), rounds=5,
                              optional="libtbb-dev not installed")]
    found += [Program(f"sort-{t}-{count}", "sort", (f"type={t}", f"elements={count}"), rounds=3 if count > 1e7 else 5)
              for t, count, _ in SORTED]
    found += preemption_programs()
    found += [Program("startup", "startup", rounds=5)]
    found += [Program(f"model-bound-{i}", "model_bound", (f"machine={m}",), rounds=1) for i, m in enumerate(MODELLED)]
    found += [Program(f"count{suffix}-{form}", f"fork_counted{suffix}", ("n=20", f"form={form}"), rounds=1,
                      launcher=CALLGRIND, after=instructions, optional="valgrind or the compiler not installed")
              for suffix, _ in COUNTED_BUILDS for form in COUNTED_FORMS]
    return found


def preemption_programs():
    found = [Program("preempt-cost", "preemption_cost", rounds=5), Program("preempt-one", "preemption_one", rounds=5)]
    found += [Program(f"preempt-cost-{us}us", "preemption_cost", (f"interval_us={us}", "rounds=3"), rounds=3)
              for us in PREEMPTION_US]
    found += [Program(f"preempt-cost-{way}", "preemption_cost", (way, "rounds=3"), rounds=3) for way, _ in PREEMPTION_WAYS]
    found += [Program(f"preempt-barrier-{barrier}-{kind}", "preemption_barrier", (f"barrier={barrier}", f"type={kind}"), rounds=3)
              for barrier in ("spin", "pthread") for kind in ("yield", "klt")]
    found += [Program(f"preempt-sweeps-{kb}", "preemption_sweeps", (f"kbytes={kb}", f"threads={threads}",
              f"sweeps={max(40 * 1024 // kb, 2)}"), rounds=3) for kb, threads in PREEMPTION_SWEEPS]
    found += [Program("preempt-nested", "preemption_nested", rounds=3)]
    return found


def preemption_rows():
    def costs(program, what, aimed=False):
        targets = {"yield": 0.35, "klt": 1.0} if aimed else {}
        return [Row(f"{what}: {name}", program, "%", many(key), targets.get(key)) for key, name in PREEMPTION_TYPES]

    def over_kernel(key):
        return lambda sample: [statistics.median(sample[key]) / statistics.median(sample["kernel"])]

    table = costs("preempt-cost", "ten tasks a worker preempted each ms, longer by", True)
    for us in PREEMPTION_US:
        table += costs(f"preempt-cost-{us}us", f"  each {us / 1000:g} ms")
    for way, what in PREEMPTION_WAYS:
        table += costs(f"preempt-cost-{way}", f"  each ms, {what}")
    table += [Row("one preemption, over the kernel's of two threads: yield", "preempt-one", "x", over_kernel("yield"), 1.3),
              Row("one preemption, over the kernel's of two threads: klt", "preempt-one", "x", over_kernel("klt"), 4.0)]
    table += [Row(f"  a preemption: {what}", "preempt-one", "us", many(key))
              for key, what in (("kernel", "the kernel's of two threads"), ("yield", "yield"), ("klt", "klt"))]
    table += [Row(f"a round of a {barrier} barrier, for each further thread of a worker: {kind}", f"preempt-barrier-{barrier}-{kind}",
                  "intervals", one("intervals"), digits=3)
              for barrier in ("spin", "pthread") for kind in ("yield", "klt")]
    for kb, threads in PREEMPTION_SWEEPS:
        table += [Row(f"{threads} threads a worker through {kb} KB each, preempted each ms, longer by: {kind}", f"preempt-sweeps-{kb}",
                      "%", many(kind)) for kind in ("yield", "klt")]
    table += [Row(f"Cholesky with teams of 4, {what}, over the same without teams", "preempt-nested", "x", many(key))
              for key, what in (("yielding", "that let others run"), ("preempted", "that spin and are preempted (klt)"))]
    return table


def pipeline_rows():
    """Time over that of the serial program, of Weft and of oneTBB."""
    table = []
    for kinds, us, what in PIPELINES:
        for w in (1, 2):
            name = f"pipeline-{kinds}-{us}-{w}"
            table += [Row(f"{what}, {w} worker{'s' * (w > 1)} over serial", name, "x", one("over"), digits=3),
                      Row("  oneTBB", f"peers.{name}", "x", one("over"), digits=3)]
    return table


def dag_rows(shape, what, target_again):
    """Graphs of one shape: Weft's, in each way to say what a task waits for, then the peers'."""
    table = []
    for keys, by in DAG_KEYS:
        for w in (1, 2):
            name = f"dag-{shape}-{keys}-{w}"
            target = (8e6, 10e6)[w - 1] if shape == "wavefront" else None
            table += [Row(f"graph, {what} by {by}, built and run, {w} worker{'s' * (w > 1)}", name, "tasks/s",
                          one("tasks_per_second"), target, at_least=True, digits=0),
                      Row("  a second run, a task", name, "ns", one("again"), target_again, digits=1)]
        table.append(Row("  peak memory", f"dag-{shape}-{keys}-1", "MB", one("mb"),
                         150 if shape == "wavefront" else None, digits=0))
    for peer, by, runs_again, _ in DAG_PEERS:
        for w in (1, 2):
            name = f"peers.dag-{shape}.{w}.{peer}"
            table.append(Row(f"  the same by {by}, {w} worker{'s' * (w > 1)}", name, "tasks/s", one("tasks_per_second"),
                             digits=0))
            if runs_again:
                table.append(Row("  a second run, a task", name, "ns", one("again"), digits=1))
            table.append(Row("  peak memory", name, "MB", one("mb"), digits=0))
    return table


def rows():
    table = []
    for suffix, build, aimed in FORK_BUILDS:
        name = "fork" + suffix
        for (form, what), target in zip(FORK_FORMS, aimed or (None, None, None)):
            table.append(Row(f"fork over serial, {what} ({build})", name, "ns", over_serial(form), target))
            if "may be inlined" in build:
                table.append(Row("  over a serial program that may be inlined too", name, "ns",
                                 over_serial(form, "serial_free")))
        if not suffix:
            table.append(Row("  two real calls over serial, no fork", name, "ns", over_serial("calls")))
            table.append(Row("  serial program, a call", name, "ns", one("serial")))
    for form in ("plain", "context"):
        table.append(Row(f"speed-up of fib by a second worker, {form}", "speedup", "x", one(form), 1.95,
                         at_least=True))
    table += [Row("task_group::run of an empty child", "group", "ns", one("run"), 15, digits=1),
              Row("  fib with a group in each node, a node", "group", "ns", one("node"), digits=1)]
    table += [Row("an event of a trace", "trace", "ns", one("event"), 40, digits=1),
              Row("  tasks of 2 us with a trace, over without", "trace", "", one("tasks"), 1.10, digits=3)]
    for scenario, what in LATENCIES:
        table.append(Row(f"work hidden beside a leaf, maximum: {what}", "latency-" + scenario, "us",
                         many("us"), 1000, of="maximum", digits=1))
    table.append(Row("work hidden beside a leaf, 99 of 100: idle workers asleep", "latency-parked", "us", many("us"), 50,
                     of="99th percentile", digits=1))
    table += [Row("  the machine alone, 99 of 100: waking a sleeping thread", "control", "us",
                  many("wake_us"), of="99th percentile", digits=1),
              Row("  the machine alone, maximum: a signal to a spinning thread", "control", "us",
                  many("signal_us"), of="maximum", digits=1),
              Row("  the machine alone, maximum: waking a sleeping thread", "control", "us",
                  many("wake_us"), of="maximum", digits=1),
              Row("peak memory of fib with two workers", "memory", "MB", one("mb"), 8, strictly=True),
              Row("  of it before main()", "memory", "MB", one("before_main_mb")),
              Row("memory of a task that waits, 200,000 at once", "blocked", "KB", one("kb")),
              Row("CPU time of idle workers, of one core", "idle", "%", one("percent"), 1, strictly=True,
                  digits=4)]
    table += [Row(f"fork under {p}, fib(25)", "policy-" + p, "ns", one("fork"), digits=1) for p in POLICIES]
    for p in ALL_POLICIES:
        table += [Row(f"tasks of 20 us under {p} over steal, 2 workers", "coarse-" + p, "x", one("tasks"), 1.05, digits=3),
                  Row(f"  fib(34), serial below 16, under {p} over steal, 2 workers", "coarse-" + p, "x", one("fib"),
                      digits=3),
                  Row("  a cache line from core to core meanwhile", "coarse-" + p, "ns", one("line_ns"))]
    table += [Row("parallel_for of 10,000 trivial elements, 1 worker", "loop-1", "us", one("us")),
              Row("parallel_for of 10,000 trivial elements, 2 workers", "loop-2", "us", one("us"), 1.1),
              *(Row(f"{what} from a plain thread, {w} worker{'s' if w > 1 else ''}", f"outside-{w}", "us", one(key), most)
                for key, what, most in (("run", "run() of nothing", 1.0),
                                        ("loop", "parallel_for of 10,000 trivial elements", 1.5),
                                        ("group", "task_group of 1,000 empty children", None))
                for w in (1, 2)),
              Row("parallel_for of 100 M elements, 1 worker over serial", "loop-long", "x", one("one")),
              Row("  speed-up over serial, 2 workers", "loop-long", "x", one("two"), more_is_better=True)]
    for name, what, target in (("nqueens", "nqueens(13)", 1.02), ("uts", "UTS T1", 1.03)):
        table += [Row(f"{what}, 1 worker over serial recursion", name, "x", one("one"), target),
                  Row("  speed-up over serial, 2 workers", name, "x", one("two"), more_is_better=True)]
    for t, count, what in SORTED:
        aimed = what == "10 M uint32"
        table += [Row(f"parallel_sort of {what}, 1 worker over std::sort", f"sort-{t}-{count}", "x", one("one"),
                      0.30 if aimed else None, digits=3),
                  Row(f"  2 workers over std::sort", f"sort-{t}-{count}", "x", one("two"),
                      0.16 if aimed else None, digits=3),
                  Row("  2 workers over 1", f"sort-{t}-{count}", "x", lambda s: [s["two"] / s["one"]], 1.0, digits=3)]
    for shape, _, what, again in DAG_SHAPES:
        table += dag_rows(shape, what, again)
    table += pipeline_rows()
    table += preemption_rows()
    table += [Row("start to end of a program with one join", "startup", "ms", one("join"), 4),
              Row("  of a program that does nothing", "startup", "ms", one("nothing"))]
    for i, m in enumerate(MODELLED):
        table += [Row(f"a loop of spawns of {us} us on '{m}', of the greedy bound", f"model-bound-{i}", "",
                      one(f"of_{us}_us"), 0.85, at_least=True, digits=3) for us in MODELLED_CHILDREN]
    table += [Row("model engine, n-queens(13) on 16 virtual workers", "model", "events/s", one("events_per_second"),
                  300_000, at_least=True, digits=0),
              Row("model engine, heat2d 1024 x 1024, 10 sweeps, 16 virtual workers", "model", "s", one("heat_seconds"),
                  60, digits=3)]
    for suffix, build in COUNTED_BUILDS:
        for form, what in FORK_FORMS:
            table.append(Row(f"instructions a fork, {what}, whole program ({build})", f"count{suffix}-{form}", "",
                             one("instructions"), digits=1))
        table += [Row("  the program with two real calls", f"count{suffix}-calls", "", one("instructions"), digits=1),
                  Row("  the serial program", f"count{suffix}-serial", "", one("instructions"), digits=1)]
    return table
