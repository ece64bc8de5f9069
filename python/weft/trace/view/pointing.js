import { GUTTER } from "./timeline.js";

const ANYWHERE = new Set(["w", "a", "s", "d", "+", "=", "-", "0", "f", "m", "[", "]", "Escape"]);

/** Wheel, drag, click and keys of the timeline. */
export class Pointing {
  constructor(timeline, state, tip, redraw) {
    Object.assign(this, { timeline, state, tip, redraw, press: null, under: null });
    const { canvas } = timeline;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", () => (this.press = null));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("dblclick", () => state.task >= 0 && state.lookAtTask(state.task));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  point(event) {
    const box = this.timeline.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  wheel(event) {
    event.preventDefault();
    const { timeline, state } = this;
    const [x] = this.point(event);
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const across = (event.shiftKey ? event.deltaY : event.deltaX) * lines;
    if (x < GUTTER) {
      timeline.scroll += event.deltaY * lines;
      this.redraw();
    } else if (Math.abs(across) > (event.shiftKey ? 0 : Math.abs(event.deltaY * lines))) {
      state.pan(across * timeline.perPixel);
    } else {
      state.zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY * lines)) * 0.002), timeline.time(x));
    }
  }

  down(event) {
    if (event.button !== 0) return;
    const [x, y] = this.point(event);
    const { begin, end } = this.state;
    this.press = { x, y, begin, end, scroll: this.timeline.scroll, moved: false, range: event.shiftKey && this.timeline.time(x) };
    this.timeline.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    const { timeline, state, press } = this;
    const [x, y] = this.point(event);
    this.under = x < GUTTER ? null : timeline.time(x);
    if (!press) {
      const at = timeline.at(x, y);
      state.hover(at?.part === "lane" ? state.trace.taskOf(at.index) : -1);
      this.tip.show(at, event.clientX, event.clientY);
      timeline.canvas.style.cursor = at?.index >= 0 || at?.call >= 0 ? "pointer" : "default";
      return;
    }
    if (!press.moved && Math.hypot(x - press.x, y - press.y) < 4) return;
    press.moved = true;
    this.tip.hide();
    if (press.range !== false) {
      const clamp = (time) => Math.min(state.trace.last, Math.max(0, time));
      const ends = [clamp(press.range), clamp(timeline.time(x))].sort((a, b) => a - b);
      if (ends[0] < ends[1]) state.choose(-1, ends);
    } else {
      const by = ((press.x - x) / timeline.laneWidth) * (press.end - press.begin);
      timeline.scroll = press.scroll + press.y - y;
      state.look(press.begin + by, press.end + by);
    }
  }

  up(event) {
    const { press } = this;
    this.press = null;
    if (!press || press.moved) return;
    const at = this.timeline.at(...this.point(event));
    if (at?.part === "lane") this.state.choose(this.state.trace.taskOf(at.index));
    else if (at?.part === "call" && at.call >= 0) this.state.choose(this.state.trace.callTask[at.call] - 1);
    else if (!at) this.state.choose(-1);
  }

  leave() {
    this.under = null;
    this.tip.hide();
    this.state.hover(-1);
  }

  /** The keys that act wherever the focus is. */
  anywhere(event) {
    if (!event.defaultPrevented && ANYWHERE.has(event.key)) this.key(event);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { state } = this;
    const step = (state.end - state.begin) / 8;
    const actions = {
      ArrowLeft: () => state.pan(-step), a: () => state.pan(-step),
      ArrowRight: () => state.pan(step), d: () => state.pan(step),
      "+": () => state.zoom(1 / 1.5), "=": () => state.zoom(1 / 1.5), w: () => state.zoom(1 / 1.5, this.under ?? undefined),
      "-": () => state.zoom(1.5), s: () => state.zoom(1.5, this.under ?? undefined),
      0: () => state.look(0, state.trace.last), Home: () => state.look(0, state.trace.last),
      f: () => this.fit(), m: () => this.markTask(), Escape: () => this.nothing(),
      "[": () => this.toMark(-1), "]": () => this.toMark(1),
      ".": () => this.step(1), ",": () => this.step(-1),
      ArrowDown: () => this.beside(1), ArrowUp: () => this.beside(-1),
    };
    const act = actions[event.key];
    if (!act) return;
    act();
    event.preventDefault();
  }

  nothing() {
    const { state } = this;
    state.choose(-1);
    if (state.construct >= 0) state.markConstruct(state.construct);
    if (state.marked >= 0) state.mark(state.marked);
  }

  /** Chooses the time of the chosen task as a stretch of time. */
  markTask() {
    const { trace, task } = this.state;
    if (task < 0 || trace.taskBegan[task] < 0) return;
    this.state.choose(-1, [trace.taskBegan[task], trace.taskEnded[task] < 0 ? trace.last : trace.taskEnded[task]]);
  }

  /** Shows the next mark, or the one before, near the left edge: seen from the last one that was shown, or from that edge. */
  toMark(by) {
    const { timeline, state } = this;
    const length = state.end - state.begin;
    const from = this.shown?.begin === state.begin ? this.shown.at : state.begin - (by > 0 ? 1 : 0);
    const at = timeline.marks.beside(from, by);
    if (at === null) return;
    state.look(at - length / 20, at + (length * 19) / 20);
    this.shown = { at, begin: state.begin };
  }

  fit() {
    const { state } = this;
    if (state.task >= 0) state.lookAtTask(state.task);
    else if (state.range) state.look(...state.range);
  }

  /** The stretch that the keys stand on: the last one chosen by them, or the first of the chosen task. */
  place() {
    const { timeline, state } = this;
    const known = timeline.chosen.stretches;
    return known.find((s) => s.index === this.at) ?? known[0] ?? null;
  }

  /** Chooses the next task of the worker, or the one before. */
  step(by) {
    const { timeline, state } = this;
    const { lanes } = state.trace;
    const place = this.place();
    const worker = place ? place.worker : timeline.visibleWorkers()[0];
    let index = place ? place.index + by : Math.max(lanes.first[worker], lanes.lastBefore(worker, state.begin));
    while (index >= lanes.first[worker] && index < lanes.first[worker + 1] && state.trace.taskOf(index) < 0) index += by;
    if (index >= lanes.first[worker] && index < lanes.first[worker + 1]) this.take(worker, index);
  }

  /** Chooses what another worker does at that time. */
  beside(by) {
    const { timeline, state } = this;
    const { lanes } = state.trace;
    const place = this.place();
    if (!place) return this.step(1);
    const worker = place.worker + by;
    if (worker < 0 || worker >= state.trace.workers) return;
    let index = Math.max(lanes.first[worker], lanes.lastBefore(worker, lanes.begin[place.index]));
    while (index < lanes.first[worker + 1] && state.trace.taskOf(index) < 0) index++;
    if (index < lanes.first[worker + 1]) this.take(worker, index);
  }

  take(worker, index) {
    const { timeline, state } = this;
    const { begin, end } = state.trace.lanes;
    this.at = index;
    timeline.showWorker(worker);
    state.choose(state.trace.taskOf(index));
    if (end[index] < state.begin || begin[index] > state.end) {
      const half = (state.end - state.begin) / 2;
      state.look(begin[index] - half, begin[index] + half);
    }
  }
}
