/**
 * A part of the graph of tasks: nodes {kind: "task" | "join", row, more} and edges {from, to, kind} between their
 * indices; kinds of edges: "spawn", "data" (a graph's), "join".
 */
export const MOST_NODES = 240;
const MOST_CHILDREN = 24; // drawn of one task

class Part {
  constructor(trace) {
    this.trace = trace;
    this.nodes = [];
    this.edges = [];
    this.tasks = new Map(); // rows to nodes
  }
  get full() {
    return this.nodes.length >= MOST_NODES;
  }
  add(row) {
    if (!this.tasks.has(row)) {
      this.tasks.set(row, this.nodes.length);
      this.nodes.push({ kind: "task", row, more: 0 });
    }
    return this.tasks.get(row);
  }

  /**
   * Edges between the tasks that were added, and a node for each join that some of them wait for. In a graph only the
   * first tasks have an edge from the task that spawned them, and only the last ones one to the join: the others follow
   * from those.
   */
  connect() {
    const { trace, tasks } = this;
    const followers = new Set();
    const leaders = new Set();
    for (let i = 0; i < trace.edgeFrom.length; i++) {
      const [from, to] = [tasks.get(trace.edgeFrom[i] - 1), tasks.get(trace.edgeTo[i] - 1)];
      if (from === undefined || to === undefined || from === to) continue;
      this.edges.push({ from, to, kind: "data" });
      leaders.add(from);
      followers.add(to);
    }
    const joins = new Map();
    for (const [row, node] of tasks) {
      const parent = tasks.get(trace.parent(row));
      if (parent !== undefined && parent !== node && !followers.has(node)) this.edges.push({ from: parent, to: node, kind: "spawn" });
      const join = trace.taskJoin[row] - 1;
      if (join < 0 || leaders.has(node) || !tasks.has(trace.joinTask[join] - 1)) continue;
      if (!joins.has(join)) {
        joins.set(join, this.nodes.length);
        this.nodes.push({ kind: "join", row: trace.joinTask[join] - 1, at: trace.joinAt[join], more: 0 });
      }
      this.edges.push({ from: node, to: joins.get(join), kind: "join" });
    }
    return this;
  }
}

/** Around a task: `depth` steps up and down by spawns, and as many along the edges of graphs. */
export function partAround(trace, row, depth) {
  const part = new Part(trace);
  part.add(row);
  for (let up = trace.parent(row), i = 0; up >= 0 && i < depth; up = trace.parent(up), i++) part.add(up);
  along(part, row, depth, trace.edgeTo, trace.edgeFrom);
  along(part, row, depth, trace.edgeFrom, trace.edgeTo);
  let level = [row];
  for (let i = 0; i < depth; i++) {
    const next = [];
    for (const task of level) {
      const children = trace.childrenOf(task).filter((child) => !part.tasks.has(child));
      const drawn = part.full ? 0 : Math.min(children.length, MOST_CHILDREN);
      for (const child of children.subarray(0, drawn)) {
        part.add(child);
        next.push(child);
      }
      part.nodes[part.tasks.get(task)].more = children.length - drawn;
    }
    level = next;
  }
  return part.connect();
}

/** Adds what is reached from `row` by `depth` edges that lead from the numbers of `here` to those of `there`. */
function along(part, row, depth, here, there) {
  let level = new Set([row]);
  for (let i = 0; i < depth && level.size > 0; i++) {
    const next = new Set();
    for (let e = 0; e < here.length && !part.full; e++) {
      const other = there[e] - 1;
      if (!level.has(here[e] - 1) || part.tasks.has(other)) continue;
      part.add(other);
      next.add(other);
    }
    level = next;
  }
}

/** The given tasks, as many as can be drawn. */
export function partOf(trace, rows) {
  const part = new Part(trace);
  for (const row of rows) {
    if (part.full) break;
    part.add(row);
  }
  return part.connect();
}

/**
 * Of the tasks that ran between two times: how many of each class and how long there, {number, spent} by index of the
 * class, and [row, ns] of the `most` longest, the longest first.
 */
export function tasksWithin(trace, begin, end, most) {
  const spent = new Float64Array(trace.tasks);
  const { lanes } = trace;
  for (let w = 0; w < trace.workers; w++) {
    for (let i = Math.max(lanes.first[w], lanes.lastBefore(w, begin)); i < lanes.first[w + 1] && lanes.begin[i] < end; i++) {
      const task = trace.taskOf(i);
      const inside = Math.min(lanes.end[i], end) - Math.max(lanes.begin[i], begin);
      if (task >= 0 && inside > 0) spent[task] += inside;
    }
  }
  const classes = trace.head.classes.map(() => ({ number: 0, spent: 0 }));
  for (let row = 0; row < trace.tasks; row++) {
    if (spent[row] === 0) continue;
    const of = classes[trace.taskClass[row]];
    of.number++;
    of.spent += spent[row];
  }
  // Only those above a bound that at most `most` reach need sorting.
  const sorted = spent.filter((ns) => ns > 0).sort();
  const bound = sorted.length > most ? sorted[sorted.length - most] : 0;
  const longest = [];
  for (let row = 0; row < trace.tasks; row++) if (spent[row] > 0 && spent[row] >= bound) longest.push([row, spent[row]]);
  longest.sort((a, b) => b[1] - a[1]);
  return { number: sorted.length, classes, longest: longest.slice(0, most) };
}
