import { affordableParts, busyWorkers, drawBusy } from "./busy.js";
import { fitCanvas } from "./element.js";
import { styleColour } from "./palette.js";

const EDGE = 6; // how near to an edge of the brush the pointer takes that edge, in pixels

/** The whole trace as one strip, with a brush over what the timeline shows. */
export class Overview {
  constructor(canvas, state) {
    this.canvas = canvas;
    this.state = state;
    this.grip = null;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", () => (this.grip = null));
    canvas.addEventListener("pointercancel", () => (this.grip = null));
    canvas.addEventListener("dblclick", () => state.look(0, state.trace.last));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** The lanes are painted with these from now on. */
  use(cover, palette) {
    this.cover = cover;
    this.palette = palette;
    this.busy = null;
  }

  draw() {
    const { canvas, state } = this;
    const { trace } = state;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const { context } = fitCanvas(canvas, width, height);
    if (this.busy?.width !== width) {
      const parts = affordableParts(width, trace.workers);
      this.busy = { width, values: busyWorkers(this.cover, this.palette, trace.workers, 0, trace.last, parts) };
    }
    context.fillStyle = styleColour("lane");
    context.fillRect(0, 0, width, height);
    drawBusy(context, this.busy.values, trace.workers, 0, 2, width, height - 2, styleColour("busy"));
    const left = this.x(state.begin);
    const right = Math.max(left + 2, this.x(state.end));
    context.fillStyle = styleColour("shade");
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    context.strokeStyle = styleColour("accent");
    context.lineWidth = 2;
    context.strokeRect(left + 1, 1, Math.max(1, right - left - 2), height - 2);
    const percent = (time) => ((time / trace.last) * 100).toFixed(1);
    canvas.setAttribute("aria-valuetext", `${percent(state.begin)} to ${percent(state.end)} percent of the time`);
    canvas.setAttribute("aria-valuenow", percent((state.begin + state.end) / 2));
  }

  x(time) {
    return (time / this.state.trace.last) * this.canvas.clientWidth;
  }
  time(event) {
    const box = this.canvas.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * this.state.trace.last;
  }

  /** Near an edge it is moved, inside the brush the whole, outside a new one begins. */
  press(event) {
    const { state } = this;
    const at = this.time(event);
    const x = this.x(at);
    const [left, right] = [this.x(state.begin), this.x(state.end)];
    const whole = state.begin <= 0 && state.end >= state.trace.last;
    if (!whole && Math.abs(x - left) < EDGE) this.grip = { fixed: state.end };
    else if (!whole && Math.abs(x - right) < EDGE) this.grip = { fixed: state.begin };
    else if (!whole && x > left && x < right) this.grip = { offset: at - state.begin, length: state.end - state.begin };
    else this.grip = { fixed: at };
    this.canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
    this.canvas.focus({ preventScroll: true });
  }
  move(event) {
    const { grip, state } = this;
    if (!grip) return;
    const at = this.time(event);
    if ("offset" in grip) state.look(at - grip.offset, at - grip.offset + grip.length);
    else if (this.x(Math.abs(at - grip.fixed)) > 2) state.look(Math.min(at, grip.fixed), Math.max(at, grip.fixed));
  }
  key(event) {
    const { state } = this;
    const step = (state.end - state.begin) / 4;
    if (event.key === "ArrowLeft") state.pan(-step);
    else if (event.key === "ArrowRight") state.pan(step);
    else if (event.key === "ArrowUp") state.zoom(1 / 1.5);
    else if (event.key === "ArrowDown") state.zoom(1.5);
    else return;
    event.preventDefault();
  }
}
