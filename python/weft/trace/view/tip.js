import { factsOf, nameOf } from "./describe.js";
import { make } from "./element.js";
import { count, digits, duration, instant } from "./format.js";
import { ASLEEP, LOST, SEARCH } from "./trace.js";
import { WORDS } from "./words.js";

const IDLE = { [SEARCH]: WORDS.search, [ASLEEP]: WORDS.asleep, [LOST]: `${WORDS.lost}: what it did is unknown` };

/** The small window beside the pointer. */
export class Tip {
  constructor(element, timeline) {
    this.element = element;
    this.timeline = timeline;
  }

  hide() {
    this.element.hidden = true;
  }

  /** `at`: what Timeline.at gives. */
  show(at, x, y) {
    const said = at && this.tell(at);
    if (!said) return this.hide();
    const { element } = this;
    element.replaceChildren(make("strong", {}, said.title), table(said.rows));
    element.hidden = false;
    const box = element.getBoundingClientRect();
    element.style.left = `${Math.max(4, x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16)}px`;
    element.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - box.height - 6))}px`;
  }

  tell(at) {
    const { timeline } = this;
    const { trace } = timeline;
    if (at.part === "busy") {
      return { title: `${digits(timeline.busyAt(at.time))} of ${trace.workers} workers busy`, rows: [["at", instant(at.time, timeline.perPixel)]] };
    }
    if (at.part === "mark") return { title: at.marks[0], rows: at.marks.slice(1, 8).map((text) => [text, ""]) };
    if (at.part === "call") return this.tellCall(at);
    if (at.part === "gutter") {
      const w = trace.head.stats.workers[at.worker];
      const rows = [[WORDS.busy, w.busy], [WORDS.search, w.searching], [WORDS.asleep, w.asleep], [WORDS.overhead, w.overhead]];
      return {
        title: `worker ${at.worker} on core ${w.core}`,
        rows: [...rows.map(([name, ns]) => [name, duration(ns)]), ["tasks", count(w.tasks)], ["steals", count(w.steals)]],
      };
    }
    if (at.index < 0) return null;
    const lanes = at.part === "activity" ? trace.activities : trace.lanes;
    const [begin, end] = [lanes.begin[at.index], lanes.end[at.index]];
    const rows = [["this stretch", `${duration(end - begin)} from ${instant(begin, 1)}`]];
    if (at.others > 0) rows.push(["in this pixel", `${count(at.others)} more`]);
    if (at.part === "activity") return { title: trace.head.activities[lanes.what[at.index]].name, rows };
    const task = trace.taskOf(at.index);
    if (task < 0) return { title: IDLE[lanes.what[at.index]], rows };
    return { title: nameOf(trace, task), rows: [...rows, ...factsOf(trace, task)] };
  }

  /** Of a calling thread: a run, or the time outside of runs. */
  tellCall({ call, row, time }) {
    const { trace } = this.timeline;
    const stretch = (from, to) => ["this stretch", `${duration(to - from)} from ${instant(from, 1)}`];
    const thread = ["thread", `caller ${row}: one that called, or several one after another`];
    if (call >= 0) {
      const task = trace.callTask[call] - 1;
      return { title: `run ${call + 1}`, rows: [stretch(trace.callBegin[call], trace.callEnd[call]), ["root", nameOf(trace, task)], thread] };
    }
    const calls = this.timeline.calls.lanes[row];
    const before = calls.findLast((i) => trace.callEnd[i] <= time);
    const after = calls.find((i) => trace.callBegin[i] > time);
    const from = before === undefined ? 0 : trace.callEnd[before];
    return { title: WORDS.outside, rows: [stretch(from, after === undefined ? trace.last : trace.callBegin[after]), thread] };
  }
}

function table(rows) {
  return make("table", {}, ...rows.map(([name, text]) => make("tr", {}, make("th", {}, name), make("td", {}, text))));
}
