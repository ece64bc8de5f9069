import { styleColour } from "./palette.js";

const MOST_ARROWS = 60;

/** What the arrows of a task need: its stretches, steals and the children that began elsewhere or later. */
export function connectionsOf(trace, row) {
  if (row < 0) return { stretches: [], steals: [], children: [] };
  const fresh = trace.head.starts.indexOf("fresh") + 1;
  const children = [];
  for (const child of trace.childrenOf(row)) {
    if (trace.taskStart[child] === fresh && children.push(child) === MOST_ARROWS) break;
  }
  return { stretches: trace.stretchesOf(row), steals: trace.stealsOf(row), children };
}

/** Spawn to start, victim to thief, and from one worker to the next, of one task; spawn to start of its children. */
export function drawArrows(context, timeline, row, { stretches, steals, children }) {
  const { trace } = timeline;
  const { lanes } = trace;
  const spawn = (task, width) => {
    const [from, to] = [trace.taskSpawner[task], trace.taskWorker[task]];
    if (from < 0 || to < 0 || trace.taskSpawned[task] < 0) return;
    arrow(context, timeline, from, trace.taskSpawned[task], to, trace.taskBegan[task], styleColour("spawn"), width, []);
  };
  const fresh = trace.head.starts.indexOf("fresh") + 1;
  for (const child of children) spawn(child, 1);
  if (trace.taskStart[row] === fresh) spawn(row, 2);
  for (const i of steals) {
    const thief = trace.stealThief[i];
    const at = trace.stealAt[i];
    const next = stretches.find((s) => s.worker === thief && lanes.end[s.index] >= at);
    const arrives = next ? Math.max(at, lanes.begin[next.index]) : at;
    arrow(context, timeline, trace.stealVictim[i], at, thief, arrives, styleColour("steal"), 2, [5, 3]);
  }
  for (let i = 1; i < stretches.length; i++) {
    const [a, b] = [stretches[i - 1], stretches[i]];
    if (a.worker === b.worker) continue;
    arrow(context, timeline, a.worker, lanes.end[a.index], b.worker, lanes.begin[b.index], styleColour("ink"), 1, [1, 3]);
  }
}

function arrow(context, timeline, fromWorker, fromTime, toWorker, toTime, colour, width, dash) {
  const [x0, y0] = [timeline.x(fromTime), timeline.middle(fromWorker)];
  const [x1, y1] = [timeline.x(toTime), timeline.middle(toWorker)];
  if (Math.max(x0, x1) < -200 || Math.min(x0, x1) > timeline.width + 200) return;
  // Horizontal at both ends; where the arrow is steep it bows out, so that it is seen beside others.
  const bend = Math.min(80, Math.max(14, Math.abs(x1 - x0) / 2));
  const curve = (style, thick) => {
    context.strokeStyle = style;
    context.lineWidth = thick;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
    context.stroke();
  };
  curve(styleColour("paper"), width + 2); // a rim, so that it is seen on every colour
  context.setLineDash(dash);
  curve(colour, width);
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 8, y1 - 4);
  context.lineTo(x1 - 8, y1 + 4);
  context.closePath();
  context.lineWidth = 1;
  context.strokeStyle = styleColour("paper");
  context.stroke();
  context.fillStyle = colour;
  context.fill();
}
