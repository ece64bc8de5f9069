import { styleColour } from "./palette.js";

/** Marks on the axis: where runs, iterations, named groups and runs of graphs begin. */
const MOST_MARK_LINES = 40; // through the lanes, of one picture
const NEAR_MARK = 5; // pixels from a mark that are the mark

export class Marks {
  constructor(trace) {
    const runs = Array.from(trace.callBegin, (at, i) => ({ at, text: `run ${i + 1} begins` }));
    this.all = [...runs, ...trace.head.marks.map(([at, text]) => ({ at, text }))].sort((a, b) => a.at - b.at);
  }

  /** The marks from `begin` to `end`. */
  between(begin, end) {
    return this.all.slice(this.first(begin), this.first(end + 1e-9));
  }

  /** Index of the first mark at `time` or later. */
  first(time) {
    let [low, high] = [0, this.all.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.all[middle].at < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The time of the next mark, `by` 1, or of the one before, `by` -1; null: there is none. */
  beside(time, by) {
    const at = by > 0 ? this.first(time + 0.5) : this.first(time - 0.5) - 1;
    return this.all[at]?.at ?? null;
  }

  /** What the marks near a point of the axis say. */
  near(timeline, time) {
    const reach = timeline.perPixel * NEAR_MARK;
    return this.between(time - reach, time + reach).map((mark) => mark.text);
  }

  draw(context, timeline, bottom, height) {
    const { begin, end } = timeline.state;
    const shown = this.between(begin, end);
    let drawn = -1;
    context.fillStyle = styleColour("accent");
    for (const { at } of shown) {
      const x = Math.round(timeline.x(at));
      if (x === drawn) continue;
      drawn = x;
      context.beginPath();
      context.moveTo(x - 4, bottom - 7);
      context.lineTo(x + 4, bottom - 7);
      context.lineTo(x, bottom - 1);
      context.closePath();
      context.fill();
      if (shown.length > MOST_MARK_LINES) continue;
      context.globalAlpha = 0.45;
      context.fillRect(x - 0.5, bottom, 1, height - bottom);
      context.globalAlpha = 1;
    }
  }
}
