import { make } from "./element.js";
import { count, duration, share } from "./format.js";
import { sortedTable } from "./table.js";
import { WORDS } from "./words.js";

/** The tables of classes and of workers: the figures of `weft trace stats`. */

export function classesPanel(state, palette) {
  const { trace } = state;
  const rows = trace.head.stats.classes;
  const index = new Map(trace.head.classes.map((c, i) => [c.name, i]));
  const indexOf = (name) => index.get(name);
  const time = (title, key) => ({ title, key: (r) => r[key], text: (r) => duration(r[key]) });
  return sortedTable("Own times of tasks. A click on a class makes it stand out.", [
    {
      title: "class", key: (r) => r.name, text: (r) => r.name,
      node: (r) => make("span", { class: "swatch", style: `background: ${palette.colourOfClass(indexOf(r.name))}` }),
    },
    { title: "count", key: (r) => r.count, text: (r) => count(r.count) },
    time("total", "total"), time("min", "min"), time("median", "median"), time("Q3", "q3"), time("max", "max"),
  ], rows, { sortBy: 2, pick: (r) => state.mark(indexOf(r.name)), isPicked: (r) => indexOf(r.name) === state.marked });
}

export function workersPanel(trace) {
  const { stats } = trace.head;
  const { places } = trace.head;
  const part = (title, key) => ({ title, key: (r) => r[key], text: (r) => `${duration(r[key])}, ${share(r[key], stats.elapsed)}` });
  const place = (title, key) => ({ title, key: (r) => places[key][r.worker], text: (r) => String(places[key][r.worker]) });
  return sortedTable("What each worker did with the time", [
    { title: "worker", key: (r) => r.worker, text: (r) => String(r.worker) },
    { title: "core", key: (r) => r.core, text: (r) => String(r.core) },
    ...(places ? [place("domain", "domains"), place("package", "packages")] : []),
    part(WORDS.busy, "busy"), part(WORDS.search, "searching"), part(WORDS.asleep, "asleep"), part(WORDS.overhead, "overhead"),
    { title: "tasks", key: (r) => r.tasks, text: (r) => count(r.tasks) },
    { title: "steals", key: (r) => r.steals, text: (r) => count(r.steals) },
  ], stats.workers);
}
