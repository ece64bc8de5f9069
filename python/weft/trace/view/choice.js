import { factsOf, nameOf } from "./describe.js";
import { drawGraph } from "./drawing.js";
import { make } from "./element.js";
import { count, duration, instant, share } from "./format.js";
import { MOST_NODES, partAround, partOf, tasksWithin } from "./graph.js";
import { sortedTable } from "./table.js";

const MOST_LISTED = 500; // as many as a table shows
const DEPTHS = [1, 2, 3, 5, 8];

/** What is chosen, in words and as a part of the graph of tasks. */
export class Choice {
  constructor(element, state) {
    this.element = element;
    this.state = state;
    this.depth = 2;
    this.drawsRange = false;
  }

  use(palette) {
    this.palette = palette;
  }

  draw() {
    const { state, element } = this;
    if (state.task >= 0) element.replaceChildren(...this.ofTask(state.task));
    else if (state.range) element.replaceChildren(...this.ofRange(state.range));
    else {
      element.replaceChildren(make("p", { class: "quiet" },
        "Click a task to see what it did and its part of the graph of tasks. Drag with Shift to choose a stretch of time."));
    }
    centre(element.querySelector(".graph"), element.querySelector(".task.chosen"));
  }

  ofTask(row) {
    const { trace } = this.state;
    const depth = make("select", { id: "depth", onchange: (event) => {
      this.depth = Number(event.target.value);
      this.draw();
      document.getElementById("depth").focus();
    } }, ...DEPTHS.map((d) => make("option", { value: d, selected: d === this.depth }, String(d))));
    const parent = trace.parent(row);
    return [
      make("div", { class: "about" },
        make("h2", {}, nameOf(trace, row)),
        make("dl", { class: "task-facts" }, ...factsOf(trace, row).map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text)))),
        make("div", { class: "buttons" },
          make("button", { type: "button", onclick: () => this.state.lookAtTask(row) }, "Show all of it"),
          parent >= 0 ? make("button", { type: "button", onclick: () => this.state.choose(parent) }, "Go to its parent") : null),
        make("label", {}, "steps drawn ", depth), legend()),
      this.graph(partAround(trace, row, this.depth), row),
    ];
  }

  ofRange([begin, end]) {
    const { trace } = this.state;
    const within = tasksWithin(trace, begin, end, MOST_LISTED);
    const classes = within.classes.map((of, i) => ({ ...of, name: trace.head.classes[i].name })).filter((of) => of.number > 0);
    const busy = classes.reduce((sum, of) => sum + of.spent, 0);
    const draw = () => {
      this.drawsRange = !this.drawsRange;
      this.draw();
    };
    const about = make("div", { class: "about" },
      make("h2", {}, duration(end - begin)),
      make("p", {}, `${instant(begin, (end - begin) / 100)} to ${instant(end, (end - begin) / 100)}; ${count(within.number)} tasks ran, workers were busy ${share(busy, (end - begin) * trace.workers)} of the time.`),
      make("div", { class: "buttons" },
        make("button", { type: "button", onclick: () => this.state.look(begin, end) }, "Zoom in"),
        make("button", { type: "button", id: "draw-range", onclick: draw },
          this.drawsRange ? "List them" : within.number > MOST_NODES ? `Draw the ${MOST_NODES} longest` : "Draw their graph")),
      sortedTable("Classes there", [
        { title: "class", key: (r) => r.name, text: (r) => r.name },
        { title: "tasks", key: (r) => r.number, text: (r) => count(r.number) },
        { title: "time there", key: (r) => r.spent, text: (r) => duration(r.spent) },
      ], classes, { sortBy: 2 }),
      this.drawsRange ? legend() : null);
    if (this.drawsRange) return [about, this.graph(partOf(trace, within.longest.map(([row]) => row)), -1)];
    const caption = within.longest.length < within.number ? `The ${MOST_LISTED} longest of ${count(within.number)} tasks` : "Tasks that ran there";
    return [about, make("div", { class: "listed" }, sortedTable(caption, [
      { title: "task", key: ([row]) => trace.taskNumber[row], text: ([row]) => `#${trace.taskNumber[row]}` },
      { title: "class", key: ([row]) => trace.className(row), text: ([row]) => trace.className(row) },
      { title: "time there", key: ([, spent]) => spent, text: ([, spent]) => duration(spent) },
      { title: "own time", key: ([row]) => trace.taskOwn[row], text: ([row]) => (trace.taskOwn[row] < 0 ? "not known" : duration(trace.taskOwn[row])) },
      { title: "began", key: ([row]) => trace.taskBegan[row], text: ([row]) => (trace.taskBegan[row] < 0 ? "not known" : instant(trace.taskBegan[row], 1)) },
    ], within.longest, { sortBy: 2, pick: ([row]) => this.state.choose(row) }))];
  }

  graph(part, row) {
    const { trace } = this.state;
    return drawGraph(trace, part, this.palette, row, (task) => this.state.choose(task));
  }
}

/** Scrolls `graph` so that `node`, if there is one, is in its middle. */
function centre(graph, node) {
  if (!graph || !node) return;
  const [outer, inner] = [graph.getBoundingClientRect(), node.getBoundingClientRect()];
  graph.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2);
  graph.scrollTop += inner.top + inner.height / 2 - (outer.top + outer.height / 2);
}

function legend() {
  const entry = (kind, text) => make("li", {}, make("span", { class: `key ${kind}` }), text);
  return make("ul", { class: "legend" }, entry("spawn", "spawns"), entry("data", "comes before, by its data or by order"), entry("join", "is waited for"));
}
