import { duration, instant } from "./format.js";
import { UNKNOWN } from "./trace.js";

/** What is known of a task, [name, text] each. */
export function factsOf(trace, row) {
  const time = (value) => (value === UNKNOWN ? "not known" : instant(value, 1));
  const word = (words, code) => (code === 0 ? "not known" : words[code - 1]);
  const { head } = trace;
  const parent = trace.parent(row);
  const join = trace.taskJoin[row] - 1;
  return [
    ["own time", trace.taskOwn[row] === UNKNOWN ? "not known" : duration(trace.taskOwn[row])],
    ["spawned", time(trace.taskSpawned[row])],
    ["began", time(trace.taskBegan[row])],
    ["ended", time(trace.taskEnded[row])],
    ["worker", trace.taskWorker[row] === UNKNOWN ? "not known" : String(trace.taskWorker[row])],
    ["spawned by", trace.taskSpawner[row] === UNKNOWN ? "no worker" : `worker ${trace.taskSpawner[row]}`],
    ["origin", word(head.origins, trace.taskOrigin[row])],
    ["start", word(head.starts, trace.taskStart[row])],
    ["outcome", word(head.outcomes, trace.taskOutcome[row])],
    ["parent", parent < 0 ? "none" : nameOf(trace, parent)],
    ["joined", join < 0 ? "without a wait" : time(trace.joinAt[join])],
  ];
}

export function nameOf(trace, row) {
  return `${trace.className(row)} #${trace.taskNumber[row]}`;
}
