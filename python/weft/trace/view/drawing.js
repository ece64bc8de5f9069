import { nameOf } from "./describe.js";
import { make, makeSvg } from "./element.js";
import { count, duration, instant } from "./format.js";
import { layered } from "./layers.js";
import { UNKNOWN } from "./trace.js";

const WIDTH = 150;
const HEIGHT = 34;
const JOIN = 16;
const ACROSS = 56; // between layers
const MARGIN = 12;

/** Draws a part of the graph of tasks; `pick(row)`: what a click on a task does. */
export function drawGraph(trace, part, palette, chosen, pick) {
  const { nodes, edges } = part;
  const heights = nodes.map((node) => (node.kind === "task" ? HEIGHT : JOIN));
  const laid = layered(heights, edges);
  const step = WIDTH + ACROSS;
  const centre = ({ layer, y }) => ({ x: MARGIN + layer * step + WIDTH / 2, y: y + MARGIN });
  const half = (i) => (nodes[i].kind === "task" ? WIDTH / 2 : JOIN / 2);

  const lines = edges.map(({ from, to, kind }, e) => {
    const [a, b] = [centre(laid.nodes[from]), centre(laid.nodes[to])];
    const back = a.x > b.x ? -1 : 1;
    const points = [{ x: a.x + back * half(from), y: a.y }];
    for (const point of laid.points[e]) {
      const { x, y } = centre(point);
      points.push({ x: x - (back * WIDTH) / 2, y }, { x: x + (back * WIDTH) / 2, y });
    }
    points.push({ x: b.x - back * (half(to) + 4), y: b.y });
    return makeSvg("path", { d: smooth(points), class: `edge ${kind}`, "marker-end": `url(#head-${kind})` });
  });
  const boxes = nodes.map((node, i) => {
    const { x, y } = centre(laid.nodes[i]);
    return node.kind === "task" ? taskBox(trace, node, x, y, palette, chosen, pick) : joinBox(trace, node, x, y);
  });
  const width = 2 * MARGIN + laid.layers * step - ACROSS;
  const height = 2 * MARGIN + laid.height;
  const svg = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${nodes.length} nodes and ${edges.length} edges of the graph of tasks` },
    makeSvg("defs", {}, ...["spawn", "data", "join"].map(arrowHead)), ...lines, ...boxes);
  return make("div", { class: "graph", tabindex: 0, role: "region", "aria-label": "graph of tasks" }, svg);
}

function arrowHead(kind) {
  return makeSvg("marker", { id: `head-${kind}`, class: kind, viewBox: "0 0 8 8", refX: 4, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto", markerUnits: "userSpaceOnUse" },
    makeSvg("path", { d: "M0 0 L8 4 L0 8 z" }));
}

function smooth(points) {
  let d = `M${points[0].x} ${points[0].y}`;
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1], points[i]];
    const middle = (a.x + b.x) / 2;
    d += ` C${middle} ${a.y} ${middle} ${b.y} ${b.x} ${b.y}`;
  }
  return d;
}

function taskBox(trace, node, x, y, palette, chosen, pick) {
  const { row } = node;
  const name = nameOf(trace, row);
  const own = trace.taskOwn[row] === UNKNOWN ? "own time not known" : duration(trace.taskOwn[row]);
  const more = node.more > 0 ? `, ${count(node.more)} children more` : "";
  const act = () => pick(row);
  const key = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  };
  const where = trace.taskWorker[row] === UNKNOWN ? "" : ` on ${trace.taskWorker[row]}`;
  const [left, top] = [x - WIDTH / 2, y - HEIGHT / 2];
  return makeSvg("g", { class: row === chosen ? "task chosen" : "task", "data-task": trace.taskNumber[row], tabindex: 0, role: "button", "aria-label": `${name}, ${own}${where}${more}`, onclick: act, onkeydown: key },
    makeSvg("title", {}, `${name}, ${own}${where}${more}`),
    makeSvg("rect", { x: left, y: top, width: WIDTH, height: HEIGHT, rx: 4 }),
    makeSvg("rect", { x: left, y: top, width: 6, height: HEIGHT, rx: 2, class: "class", style: `fill: ${palette.colourOfTask(trace, row)}` }),
    makeSvg("text", { x: left + 12, y: y - 4 }, shortened(name, 20)),
    makeSvg("text", { x: left + 12, y: y + 11, class: "own" }, own + where),
    node.more > 0 ? makeSvg("text", { x: left + WIDTH - 6, y: y + 11, class: "own more" }, `+${count(node.more)}`) : null);
}

function joinBox(trace, node, x, y) {
  const label = `${nameOf(trace, node.row)} has waited, ${instant(node.at, 1)}`;
  const r = JOIN / 2;
  return makeSvg("g", { class: "wait" },
    makeSvg("title", {}, label),
    makeSvg("path", { d: `M${x - r} ${y} L${x} ${y - r} L${x + r} ${y} L${x} ${y + r} z` }),
    makeSvg("text", { x: x + r + 4, y: y + 4, class: "own" }, `join in #${trace.taskNumber[node.row]}`));
}

/** At most `most` characters; the end, which has the task's number, stays. */
function shortened(name, most) {
  if (name.length <= most) return name;
  const behind = name.slice(name.lastIndexOf(" #"));
  return `${name.slice(0, Math.max(1, most - behind.length - 1))}…${behind}`;
}
