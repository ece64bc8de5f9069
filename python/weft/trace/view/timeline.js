import { drawArrows } from "./arrows.js";
import { affordableParts, busyWorkers, drawBusy } from "./busy.js";
import { Calls } from "./calls.js";
import { edgesBetween } from "./cover.js";
import { fitCanvas } from "./element.js";
import { digits, instant, roundStep, share } from "./format.js";
import { LanePainter } from "./lane.js";
import { Marks } from "./marks.js";
import { inkOn, pixel, styleColour } from "./palette.js";
import { FIRST_TASK } from "./trace.js";

export const GUTTER = 128;
const AXIS = 24;
const BUSY = 44;
const GAP = 3;
const LEAST_LANE = 20;
const LOWEST_LANE = 1.5; // where all workers are to be seen at once
const LEAST_SPLIT = 12; // lower lanes have no room for activities
const MOST_LANE = 56;
/** Of a lane, where the trace tells activities. */
const ACTIVITY_SHARE = 0.4;
const FONT = "12px system-ui, sans-serif";

/** The picture: an axis with marks, how many workers are busy, the calls of threads, one lane a worker. */
export class Timeline {
  constructor(canvas, state) {
    this.canvas = canvas;
    this.state = state;
    this.trace = state.trace;
    this.scroll = 0;
    this.fitsAll = false;
    this.calls = new Calls(this.trace);
    this.marks = new Marks(this.trace);
    this.left = GUTTER;
    /** Where the lanes of the workers begin. */
    this.lanesTop = AXIS + BUSY + 8 + this.calls.height;
    canvas.parentElement.style.maxHeight = `${this.lanesTop + MOST_LANE * this.trace.workers + 8}px`;
    this.chosen = { stretches: [], steals: [], children: [] };
    this.hovered = { stretches: [], steals: [], children: [] };
  }

  /** What lanes are painted with: of tasks, and of activities or null. */
  use(cover, palette, activityCover, activityColours) {
    this.palette = palette;
    this.cover = cover;
    this.lanes = new LanePainter(cover, palette);
    this.activityLanes = activityCover && new LanePainter(activityCover, activityColours);
  }

  // ---- where things are, in CSS pixels

  measure() {
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.laneWidth = Math.max(10, this.width - GUTTER - 8);
    const room = this.height - this.lanesTop - 4;
    const fitting = Math.min(MOST_LANE, room / this.trace.workers);
    const least = this.activityLanes ? LEAST_LANE * 1.5 : LEAST_LANE;
    this.lane = this.fitsAll ? Math.max(LOWEST_LANE, fitting) : Math.floor(Math.max(least, fitting));
    this.gap = this.lane < 6 ? 0 : this.lane < LEAST_SPLIT ? 1 : GAP;
    this.split = this.activityLanes !== null && this.lane >= LEAST_SPLIT;
    this.mostScroll = Math.max(0, this.lane * this.trace.workers - room);
    this.scroll = Math.min(Math.max(0, this.scroll), this.mostScroll);
  }
  x(time) {
    const { begin, end } = this.state;
    return GUTTER + ((time - begin) / (end - begin)) * this.laneWidth;
  }
  time(x) {
    const { begin, end } = this.state;
    return begin + ((x - GUTTER) / this.laneWidth) * (end - begin);
  }
  top(worker) {
    return this.lanesTop + worker * this.lane - this.scroll;
  }
  middle(worker) {
    return this.top(worker) + this.taskHeight() / 2;
  }
  taskHeight() {
    const whole = this.lane - this.gap;
    return this.split ? Math.round(whole * (1 - ACTIVITY_SHARE)) : whole;
  }
  get perPixel() {
    return (this.state.end - this.state.begin) / this.laneWidth;
  }
  visibleWorkers() {
    const first = Math.max(0, Math.floor(this.scroll / this.lane));
    const last = Math.min(this.trace.workers, Math.ceil((this.scroll + this.height - this.lanesTop) / this.lane));
    return [first, last];
  }
  showWorker(worker) {
    if (this.top(worker) < this.lanesTop) this.scroll = worker * this.lane;
    else if (this.top(worker) + this.lane > this.height) this.scroll = (worker + 1) * this.lane - (this.height - this.lanesTop);
    this.scroll = Math.min(Math.max(0, this.scroll), this.mostScroll);
  }

  isVisible(worker) {
    return this.top(worker) >= this.lanesTop && this.top(worker) + this.lane <= this.height;
  }

  /** What lies there: {part: "lane" | "activity" | "busy" | "gutter", worker, time, index, others}; null: nothing. */
  at(x, y) {
    const time = this.time(x);
    const worker = y < this.lanesTop ? -1 : Math.floor((y - this.lanesTop + this.scroll) / this.lane);
    if (worker >= this.trace.workers) return null;
    if (x < GUTTER) return worker < 0 ? null : { part: "gutter", worker };
    if (time < 0 || time > this.trace.last) return null;
    if (worker < 0) return this.above(y, time);
    const inLane = y - this.top(worker);
    const part = this.split && inLane >= this.taskHeight() ? "activity" : "lane";
    return { part, worker, time, ...this.longestAt(part === "lane" ? this.trace.lanes : this.trace.activities, worker, time) };
  }

  /** What lies above the lanes: marks on the axis, the strip, the calls. */
  above(y, time) {
    if (y < AXIS) {
      const marks = this.marks.near(this, time);
      return marks.length > 0 ? { part: "mark", time, marks } : null;
    }
    if (y < AXIS + BUSY) return { part: "busy", time };
    const call = this.calls.at(y - this.callsTop, time);
    return call && { part: "call", time, ...call };
  }
  get callsTop() {
    return AXIS + BUSY + 5;
  }

  /** The stretch that fills most of the pixel at `time`, index -1: none; and how many others are in that pixel. */
  longestAt(lanes, worker, time) {
    const [from, to] = [time - this.perPixel / 2, time + this.perPixel / 2];
    const first = Math.max(lanes.first[worker], lanes.lastBefore(worker, from));
    const last = lanes.lastBefore(worker, to);
    let index = -1;
    let longest = 0;
    let others = 0;
    for (let i = first; i <= last; i++) {
      const inside = Math.min(lanes.end[i], to) - Math.max(lanes.begin[i], from);
      if (inside <= 0) continue;
      others++;
      if (inside > longest) [index, longest] = [i, inside];
    }
    return { index, others: Math.max(0, others - 1) };
  }

  // ---- drawing

  draw() {
    this.measure();
    const { canvas, width, height } = this;
    const { context, ratio } = fitCanvas(canvas, width, height);
    this.ink = styleColour("ink");
    this.faint = styleColour("faint");
    context.font = FONT;
    context.textBaseline = "middle";
    this.drawPixels(context, ratio);
    context.save();
    context.beginPath();
    context.rect(GUTTER, this.lanesTop - 2, this.laneWidth, height - this.lanesTop + 2);
    context.clip();
    const [first, last] = this.visibleWorkers();
    for (let w = first; w < last; w++) this.drawStretches(context, w);
    this.drawChosen(context);
    context.restore();
    context.fillStyle = styleColour("paper");
    context.fillRect(0, this.lanesTop - 2, GUTTER - 2, height - this.lanesTop + 2);
    for (let w = first; w < last; w++) this.drawGutter(context, w);
    context.fillStyle = styleColour("paper");
    context.fillRect(0, 0, width, this.lanesTop - 2);
    this.drawAxis(context);
    this.drawBusyStrip(context);
    this.calls.draw(context, this, this.callsTop);
    this.marks.draw(context, this, AXIS, height);
    this.drawRange(context);
  }

  drawPixels(context, ratio) {
    const px = (value) => Math.round(value * ratio);
    const [left, top] = [px(GUTTER), px(this.lanesTop)];
    const width = px(GUTTER + this.laneWidth) - left;
    const height = Math.max(1, px(this.height) - top);
    if (this.image?.width !== width || this.image?.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(pixel(styleColour("paper")));
    const edges = edgesBetween(this.state.begin, this.state.end, width);
    const paper = pixel(this.palette.paper);
    const [first, last] = this.visibleWorkers();
    for (let w = first; w < last; w++) {
      const from = Math.max(0, px(this.top(w)) - top);
      const to = Math.min(height, px(this.top(w) + this.lane - this.gap) - top);
      const middle = this.split ? Math.min(to, Math.max(0, px(this.top(w) + this.taskHeight()) - top)) : to;
      this.pixels.fill(paper, from * width, to * width);
      if (middle > from) this.lanes.paint(w, edges, this.pixels, width, 0, from, middle - from);
      if (this.split && to > middle + 1) {
        this.activityLanes.paint(w, edges, this.pixels, width, 0, middle + 1, to - middle - 1);
      }
    }
    context.clearRect(0, 0, this.width, this.height);
    context.putImageData(this.image, left, top);
  }

  /** Borders and names, where there is room for them. */
  drawStretches(context, worker) {
    const { lanes } = this.trace;
    const first = Math.max(lanes.first[worker], lanes.lastBefore(worker, this.state.begin));
    const last = lanes.lastBefore(worker, this.state.end);
    if ((last - first) * 5 > this.laneWidth || this.lane < LEAST_LANE / 2) return;
    const top = this.top(worker);
    const height = this.taskHeight();
    for (let i = first; i <= last; i++) {
      const left = Math.max(GUTTER, this.x(lanes.begin[i]));
      const right = Math.min(GUTTER + this.laneWidth, this.x(lanes.end[i]));
      if (right - left < 4) continue;
      const task = lanes.what[i] - FIRST_TASK;
      context.fillStyle = this.palette.paper;
      context.fillRect(right - 0.5, top, 1, height);
      if (task < 0 || right - left < 34) continue;
      const name = this.trace.className(task);
      const text = right - left > 90 ? `${name} #${this.trace.taskNumber[task]}` : name;
      context.fillStyle = inkOn(this.palette.colourOfTask(this.trace, task));
      context.save();
      context.beginPath();
      context.rect(left, top, right - left - 3, height);
      context.clip();
      context.fillText(text, left + 4, top + height / 2 + 0.5);
      context.restore();
    }
  }

  drawChosen(context) {
    for (const [chosen, row, width] of [[this.hovered, this.state.hovered, 1.5], [this.chosen, this.state.task, 2.5]]) {
      if (row < 0) continue;
      context.strokeStyle = this.ink;
      context.lineWidth = width;
      let before = -1;
      for (const { worker, index } of chosen.stretches) {
        const left = this.x(this.trace.lanes.begin[index]);
        const right = Math.max(left + 2, this.x(this.trace.lanes.end[index]));
        if (right < GUTTER || left > this.width || (right < before + 1 && right > before)) continue;
        before = right;
        context.strokeRect(left, this.top(worker) + 1, right - left, this.taskHeight() - 2);
      }
      drawArrows(context, this, row, chosen);
    }
  }

  drawGutter(context, worker) {
    const top = this.top(worker);
    const y = top + (this.lane - this.gap) / 2;
    if (this.lane >= 13 || worker % Math.ceil(13 / this.lane) === 0) this.drawNames(context, worker, y);
    const { places } = this.trace.head;
    if (worker > 0 && places && places.domains[worker] !== places.domains[worker - 1]) {
      const thick = places.packages[worker] !== places.packages[worker - 1];
      context.fillStyle = thick ? this.ink : this.faint;
      context.fillRect(0, top - 2, this.width, thick ? 1.5 : 1);
    }
  }

  drawNames(context, worker, y) {
    const { head } = this.trace;
    const { stats } = head;
    context.fillStyle = this.ink;
    context.textAlign = "left";
    context.fillText(`${worker}`, 10, y);
    context.fillStyle = this.faint;
    context.fillText(`core ${head.cores[worker]}`, 38, y);
    context.textAlign = "right";
    const busy = stats.workers[worker].busy / Math.max(1, stats.elapsed);
    context.fillText(`${Math.round(busy * 100)}%`, GUTTER - 6, y);
    context.textAlign = "left";
  }

  drawAxis(context) {
    const { begin, end } = this.state;
    const step = roundStep(((end - begin) / this.laneWidth) * 110);
    context.textAlign = "center";
    for (let time = Math.ceil(begin / step) * step; time <= end; time += step) {
      const x = this.x(time);
      context.fillStyle = styleColour("line");
      context.fillRect(x, AXIS - 6, 1, 6);
      context.fillStyle = this.faint;
      if (x < this.width - 30) context.fillText(instant(time, step), x, AXIS - 14);
    }
    context.textAlign = "left";
  }

  drawBusyStrip(context) {
    const { trace, state } = this;
    const { begin, end } = state;
    const parts = affordableParts(this.laneWidth, trace.workers);
    this.busy = busyWorkers(this.cover, this.palette, trace.workers, begin, end, parts);
    context.fillStyle = styleColour("lane");
    context.fillRect(GUTTER, AXIS, this.laneWidth, BUSY);
    drawBusy(context, this.busy, trace.workers, GUTTER, AXIS, this.laneWidth, BUSY, styleColour("busy"));
    context.fillStyle = this.ink;
    context.fillText("busy workers", 10, AXIS + BUSY / 2 - 7);
    context.fillStyle = this.faint;
    const mean = this.busy.reduce((sum, value) => sum + value, 0) / this.busy.length;
    context.fillText(`${digits(mean)} of ${trace.workers}, ${share(mean, trace.workers)}`, 10, AXIS + BUSY / 2 + 9);
  }

  /** How many workers are busy around `time`, as the strip shows it. */
  busyAt(time) {
    const { begin, end } = this.state;
    const part = Math.floor(((time - begin) / (end - begin)) * this.busy.length);
    return this.busy[Math.min(this.busy.length - 1, Math.max(0, part))];
  }

  drawRange(context) {
    const { range } = this.state;
    if (!range) return;
    const left = Math.max(GUTTER, this.x(range[0]));
    const right = Math.min(GUTTER + this.laneWidth, this.x(range[1]));
    if (right < left) return;
    context.fillStyle = styleColour("range");
    context.fillRect(left, AXIS, right - left, this.height - AXIS);
    context.fillStyle = styleColour("accent");
    context.fillRect(left, AXIS, 1.5, this.height - AXIS);
    context.fillRect(right - 1.5, AXIS, 1.5, this.height - AXIS);
  }
}
