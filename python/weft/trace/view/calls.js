import { styleColour } from "./palette.js";

/** The rows above the workers: when threads that called the runtime were in a run, and when outside of runs. */
const CALL_ROW = 17;
const MOST_CALL_ROWS = 4; // further lanes share the last row

export class Calls {
  constructor(trace) {
    this.trace = trace;
    const lanes = trace.callLane.reduce((most, lane) => Math.max(most, lane + 1), 0);
    this.lanes = Array.from({ length: Math.min(lanes, MOST_CALL_ROWS) }, () => []);
    trace.callLane.forEach((lane, i) => this.lanes[Math.min(lane, MOST_CALL_ROWS - 1)].push(i));
    /** Share of the time in which the thread of each row was in a run. */
    this.shares = this.lanes.map((calls) => {
      let reached = 0;
      let inside = 0;
      for (const i of calls) {
        inside += Math.max(0, trace.callEnd[i] - Math.max(reached, trace.callBegin[i]));
        reached = Math.max(reached, trace.callEnd[i]);
      }
      return inside / trace.last;
    });
  }

  get height() {
    return this.lanes.length * CALL_ROW + (this.lanes.length > 0 ? 5 : 0);
  }

  /** The call at a point of the rows, {row, call}; call -1: outside of runs. Null: no row is there. */
  at(inRows, time) {
    const row = Math.floor(inRows / CALL_ROW);
    if (row < 0 || row >= this.lanes.length) return null;
    const { callBegin, callEnd } = this.trace;
    const call = this.lanes[row].findLast((i) => callBegin[i] <= time && time < callEnd[i]) ?? -1;
    return { row, call };
  }

  draw(context, timeline, top) {
    const { trace } = this;
    const [left, right] = [timeline.left, timeline.left + timeline.laneWidth];
    const [lane, run, ink, faint, paper, onRun] = ["lane", "run", "ink", "faint", "paper", "on-run"].map(styleColour);
    this.lanes.forEach((calls, row) => {
      const y = top + row * CALL_ROW;
      context.fillStyle = ink;
      context.fillText(`caller ${row}`, 10, y + CALL_ROW / 2 - 1);
      context.fillStyle = faint;
      context.textAlign = "right";
      context.fillText(`${Math.round(this.shares[row] * 100)}%`, left - 6, y + CALL_ROW / 2 - 1);
      context.textAlign = "left";
      context.fillStyle = lane;
      context.fillRect(left, y, timeline.laneWidth, CALL_ROW - 3);
      let drawn = left; // what lies to the left has its bar
      for (const i of calls) {
        const from = Math.max(left, timeline.x(trace.callBegin[i]));
        const to = Math.min(right, Math.max(from + 1, timeline.x(trace.callEnd[i])));
        if (from > right) break; // the others begin later
        if (to <= drawn) continue;
        drawn = to;
        context.fillStyle = run;
        context.fillRect(from, y, to - from, CALL_ROW - 3);
        if (to - from < 4) continue;
        context.fillStyle = paper;
        context.fillRect(to - 0.5, y, 1, CALL_ROW - 3);
        const text = `run ${i + 1}`;
        if (to - from < context.measureText(text).width + 10) continue;
        context.fillStyle = onRun;
        context.fillText(text, from + 5, y + CALL_ROW / 2 - 1);
      }
    });
  }
}
