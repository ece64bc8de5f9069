import { make } from "./element.js";
import { count, digits, duration } from "./format.js";

/** Program, machine and figures; what the trace cannot tell stands above all else. */
export function fillHeader(trace) {
  const { head } = trace;
  const s = head.stats;
  const atLeast = s.lost > 0 || !s.complete ? "at least " : "";
  document.getElementById("program").textContent = head.program;
  const facts = document.getElementById("facts");
  facts.textContent = `${s.policy} on ${s.machine} · ${count(trace.workers)} workers · engine ${s.engine} · seed ${head.seed}`;
  facts.title = `${head.command.join(" ")}\n${head.machineText}\nWeft ${head.weft}, ${head.file}`;
  const figures = [
    ["time", duration(s.elapsed) + (s.time_kind === "virtual" ? " (virtual)" : ""), "from the first spawn to the last end of a task"],
    ["work T1", atLeast + duration(s.work), "the sum of the tasks' own times"],
    ["span T∞", atLeast + duration(s.span), "the longest path through spawns, joins and edges"],
    ["parallelism", s.parallelism === null ? "-" : digits(s.parallelism), "T1 / T∞"],
    ["bound", atLeast + duration(s.bound), "max(T1 / p, T∞): no schedule of these tasks takes less"],
    ["balance", s.balance === null ? "-" : digits(s.balance), "the average worker's busy time over the busiest one's"],
    ["tasks", count(s.tasks), "tasks that the trace tells of"],
    ["events", count(s.events), "records in the file"],
    ["steals", count(trace.steals), "tasks that one worker got of another"],
  ];
  document.getElementById("figures").replaceChildren(
    ...figures.map(([name, value, title]) => make("div", { title, "data-figure": name }, make("dt", {}, name), make("dd", {}, value))));
  const notes = document.getElementById("notes");
  notes.hidden = s.notes.length === 0;
  notes.replaceChildren(...s.notes.map((note) => make("li", {}, note)));
}
