import { takeColumn } from "./columns.js";

/** The trace that the page carries; data.py gathered it. Times are nanoseconds after its origin. */

export const UNKNOWN = -1;
export const SEARCH = 0;
export const ASLEEP = 1;
/** Events of the worker are missing: what it did is unknown. */
export const LOST = 2;
/** What a stretch is about from here on is a task: its row + FIRST_TASK. */
export const FIRST_TASK = 3;

const TYPES = {
  taskNumber: Uint32Array, taskClass: Uint32Array, taskConstruct: Uint32Array, taskOrigin: Uint8Array, taskParent: Uint32Array,
  taskSpawner: Int32Array, taskWorker: Int32Array, taskStart: Uint8Array, taskOutcome: Uint8Array,
  taskSpawned: Float64Array, taskBegan: Float64Array, taskEnded: Float64Array, taskOwn: Float64Array,
  taskJoin: Uint32Array, joinTask: Uint32Array, joinAt: Float64Array,
  callTask: Uint32Array, callBegin: Float64Array, callEnd: Float64Array, callLane: Uint32Array,
  stretchCount: Uint32Array, stretchGap: Float64Array, stretchLength: Float64Array, stretchWhat: Uint32Array,
  activityCount: Uint32Array, activityGap: Float64Array, activityLength: Float64Array, activityWhat: Uint8Array,
  stealAt: Float64Array, stealThief: Uint16Array, stealVictim: Uint16Array, stealTask: Uint32Array, stealDistance: Uint16Array,
  edgeFrom: Uint32Array, edgeTo: Uint32Array,
};

/** What workers do, by worker ascending and disjoint. */
export class Lanes {
  constructor(counts, gaps, lengths, whats) {
    this.what = whats;
    this.first = new Uint32Array(counts.length + 1); // of each worker; the last one ends the list
    for (let w = 0; w < counts.length; w++) this.first[w + 1] = this.first[w] + counts[w];
    // The gaps become begins and the lengths ends, in place.
    this.begin = gaps;
    this.end = lengths;
    for (let w = 0; w < counts.length; w++) {
      let now = 0;
      for (let i = this.first[w]; i < this.first[w + 1]; i++) {
        this.begin[i] = now += gaps[i];
        this.end[i] = now += lengths[i];
      }
    }
  }

  get length() {
    return this.what.length;
  }

  /** The last stretch of the worker that begins at `time` or before; one below its first where there is none. */
  lastBefore(worker, time) {
    let low = this.first[worker] - 1;
    let high = this.first[worker + 1];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (this.begin[middle] <= time) low = middle;
      else high = middle;
    }
    return low;
  }
}

export class Trace {
  constructor(head, columns) {
    Object.assign(this, columns);
    this.head = head;
    this.workers = head.workers;
    this.last = Math.max(1, head.last);
    this.tasks = this.taskNumber.length;
    this.steals = this.stealAt.length;
    this.lanes = new Lanes(this.stretchCount, this.stretchGap, this.stretchLength, this.stretchWhat);
    this.activities = new Lanes(this.activityCount, this.activityGap, this.activityLength, this.activityWhat);
  }

  /** Whether each construct is `of` or lies inside of it. A construct stands behind the one around it. */
  constructsInside(of) {
    const { constructs } = this.head;
    const inside = new Uint8Array(constructs.length);
    constructs.forEach((construct, i) => (inside[i] = i === of || (construct.parent >= 0 && inside[construct.parent]) ? 1 : 0));
    return inside;
  }

  get hasActivities() {
    return this.activities.length > 0;
  }

  className(row) {
    return this.head.classes[this.taskClass[row]].name;
  }

  /** The task that a stretch is of; -1: of none. */
  taskOf(index) {
    return index < 0 ? -1 : Math.max(-1, this.lanes.what[index] - FIRST_TASK);
  }

  /** The row of the task's parent, or -1. */
  parent(row) {
    return this.taskParent[row] - 1;
  }

  /** The row of the last task of that number, or -1. */
  rowOf(number) {
    return this.taskNumber.lastIndexOf(number);
  }

  /** The stretches of a task, [{worker, index}] by time. */
  stretchesOf(row) {
    this.byTask ??= new Grouped(this.lanes.what, this.tasks + FIRST_TASK);
    const { first, begin } = this.lanes;
    const found = Array.from(this.byTask.of(row + FIRST_TASK), (index) => ({ worker: lastAtMost(first, index), index }));
    return found.sort((a, b) => begin[a.index] - begin[b.index]);
  }

  /** Rows of the tasks that a task has spawned. */
  childrenOf(row) {
    this.byParent ??= new Grouped(this.taskParent, this.tasks + 1);
    return this.byParent.of(row + 1);
  }

  stealsOf(row) {
    this.byStolen ??= new Grouped(this.stealTask, this.tasks + 1);
    return this.byStolen.of(row + 1);
  }
}

/** Places of equal keys: which indices of `keys`, each below `count`, have a key. */
class Grouped {
  constructor(keys, count) {
    this.first = new Uint32Array(count + 1);
    for (const key of keys) this.first[key + 1]++;
    for (let key = 0; key < count; key++) this.first[key + 1] += this.first[key];
    this.places = new Uint32Array(keys.length);
    const next = this.first.slice();
    for (let i = 0; i < keys.length; i++) this.places[next[keys[i]]++] = i;
  }
  of(key) {
    return this.places.subarray(this.first[key], this.first[key + 1]);
  }
}

/** The last of the ascending `numbers` that is at most `value`, by its index. */
function lastAtMost(numbers, value) {
  let low = 0;
  let high = numbers.length;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (numbers[middle] <= value) low = middle;
    else high = middle;
  }
  return low;
}

/** Decodes the page's data; `progress` is told how far it is, 0 to 1. */
export async function takeTrace(progress) {
  const head = JSON.parse(document.getElementById("head").textContent);
  const columns = {};
  const names = Object.keys(TYPES);
  for (const [i, name] of names.entries()) {
    columns[name] = await takeColumn(name, head.columns[name], TYPES[name]);
    progress((i + 1) / names.length);
  }
  return new Trace(head, columns);
}
