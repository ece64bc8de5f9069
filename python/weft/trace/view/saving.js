/** Saves the shown time in Chrome's trace format, which Perfetto's page opens: names of classes, workers and runs. */

/** The events that overlap [begin, end], as the format has them; its times are microseconds. */
export function chromeEvents(trace, begin, end) {
  const us = (ns) => ns / 1000;
  const named = (tid, name) => ({ ph: "M", pid: 0, tid, name: "thread_name", args: { name } });
  const slice = (tid, from, to, name, args) => ({ ph: "X", pid: 0, tid, ts: us(from), dur: us(to - from), name, args });
  const { head, lanes } = trace;
  const events = [{ ph: "M", pid: 0, tid: 0, name: "process_name", args: { name: `${head.program}, ${head.stats.policy} on ${head.stats.machine}` } }];
  for (let w = 0; w < trace.workers; w++) {
    events.push(named(w, `worker ${w}`));
    for (let i = Math.max(lanes.first[w], lanes.lastBefore(w, begin)); i < lanes.first[w + 1] && lanes.begin[i] < end; i++) {
      const task = trace.taskOf(i);
      if (task < 0 || lanes.end[i] <= begin) continue;
      events.push(slice(w, lanes.begin[i], lanes.end[i], trace.className(task), { task: trace.taskNumber[task] }));
    }
  }
  const callers = new Set();
  trace.callLane.forEach((lane, i) => {
    if (trace.callEnd[i] < begin || trace.callBegin[i] > end) return;
    callers.add(lane);
    events.push(slice(trace.workers + lane, trace.callBegin[i], trace.callEnd[i], `run ${i + 1}`, {}));
  });
  for (const lane of callers) events.push(named(trace.workers + lane, `caller ${lane}`));
  return events;
}

/** Hands the file to the browser as a download. */
export function save(trace, begin, end) {
  const text = JSON.stringify({ displayTimeUnit: "ns", traceEvents: chromeEvents(trace, begin, end) });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = `${trace.head.file.replace(/\.[^.]*$/, "")}.perfetto.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
