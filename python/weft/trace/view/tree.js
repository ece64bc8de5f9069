import { make } from "./element.js";
import { count, duration, share } from "./format.js";

const MOST_TREE_LINES = 500;

/**
 * The tree of constructs beside the timeline: which class of tasks was spawned in which. A click, or Enter, makes the
 * slices of a construct and of all inside of it stand out. Keys as the ARIA practices have them for trees.
 */
export class ConstructTree {
  constructor(element, state) {
    this.element = element;
    this.state = state;
    this.closed = new Set();
    this.at = 0;
    const { constructs } = state.trace.head;
    this.children = constructs.map(() => []);
    this.tops = [];
    constructs.forEach((c, i) => (c.parent < 0 ? this.tops : this.children[c.parent]).push(i));
    const byTotal = (a, b) => constructs[b].total - constructs[a].total;
    for (const list of [this.tops, ...this.children]) list.sort(byTotal);
    this.whole = this.tops.reduce((sum, i) => sum + constructs[i].total, 0);
    element.addEventListener("keydown", (event) => this.key(event));
  }

  /** Draws it; `palette` gives the colours of the classes. */
  draw(palette) {
    this.palette = palette ?? this.palette;
    const focused = this.element.contains(document.activeElement);
    this.lines = [];
    const walk = (list, level) => {
      for (const i of list) {
        if (this.lines.length === MOST_TREE_LINES) return;
        this.lines.push({ index: i, level });
        if (!this.closed.has(i)) walk(this.children[i], level + 1);
      }
    };
    walk(this.tops, 1);
    this.element.replaceChildren(...this.lines.map((line, n) => this.line(line, n)));
    if (this.lines.length === MOST_TREE_LINES) {
      this.element.append(make("li", { class: "quiet", role: "none" }, `The first ${MOST_TREE_LINES} lines; ${count(this.children.length)} constructs.`));
    }
    if (this.lines.length === 0) this.element.replaceChildren(make("li", { class: "quiet" }, "no tasks"));
    if (focused) this.focus(Math.min(this.at, this.lines.length - 1));
  }

  line({ index, level }, n) {
    const { trace } = this.state;
    const construct = trace.head.constructs[index];
    const { name } = trace.head.classes[construct.cls];
    const inner = this.children[index].length > 0;
    const title = `${name}: ${count(construct.count)} tasks, own time ${duration(construct.own)}, with all inside ${duration(construct.total)}`;
    return make("li", {
      role: "treeitem", "aria-level": level, "aria-selected": String(this.state.construct === index), tabindex: n === this.at ? 0 : -1,
      "aria-expanded": inner ? String(!this.closed.has(index)) : null, title, style: `padding-left: ${4 + 12 * (level - 1)}px`,
      onclick: (event) => (inner && event.target.matches(".fold") ? this.fold(n) : this.pick(n)),
    },
    make("span", { class: "fold", "aria-hidden": "true" }, inner ? (this.closed.has(index) ? "▸" : "▾") : ""),
    make("span", { class: "swatch", style: `background: ${this.palette.colourOfClass(construct.cls)}` }),
    make("span", { class: "construct" }, name),
    make("span", { class: "share" }, share(construct.total, this.whole)));
  }

  pick(n) {
    this.at = n;
    this.state.markConstruct(this.lines[n].index);
    this.focus(n);
  }

  fold(n, closed = !this.closed.has(this.lines[n].index)) {
    this.at = n;
    if (closed) this.closed.add(this.lines[n].index);
    else this.closed.delete(this.lines[n].index);
    this.draw();
    this.focus(n);
  }

  focus(n) {
    this.at = n;
    [...this.element.querySelectorAll('[role="treeitem"]')].forEach((line, i) => (line.tabIndex = i === n ? 0 : -1));
    this.element.children[n]?.focus({ preventScroll: false });
  }

  key(event) {
    const n = this.at;
    const line = this.lines[n];
    if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
    const around = () => this.lines.findLastIndex((l, i) => i < n && l.level < line.level);
    const inner = this.children[line.index].length > 0;
    const closed = this.closed.has(line.index);
    const actions = {
      ArrowDown: () => n + 1 < this.lines.length && this.focus(n + 1),
      ArrowUp: () => n > 0 && this.focus(n - 1),
      ArrowRight: () => inner && (closed ? this.fold(n, false) : this.focus(n + 1)),
      ArrowLeft: () => (inner && !closed ? this.fold(n, true) : around() >= 0 && this.focus(around())),
      Home: () => this.focus(0), End: () => this.focus(this.lines.length - 1),
      Enter: () => this.pick(n), " ": () => this.pick(n),
    };
    const act = actions[event.key];
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  }
}
