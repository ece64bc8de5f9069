import { fitCanvas, make } from "./element.js";
import { count, share } from "./format.js";
import { channels, styleColour } from "./palette.js";
import { sortedTable } from "./table.js";

const LARGEST_TABLE = 40;
const LARGEST_PICTURE = 1024;

/** Which worker stole from which: by worker, by cache domain, by package, by distance. */
export function stealsPanel(trace) {
  if (trace.steals === 0) return make("p", { class: "quiet" }, "No steals.");
  const { places } = trace.head;
  const { steals } = trace.head.stats;
  const parts = [];
  const distances = Object.entries(steals).map(([distance, number]) => ({ distance: Number(distance), number }));
  if (distances.length > 0) {
    parts.push(sortedTable("By distance", [
      { title: "distance", key: (r) => r.distance, text: (r) => String(r.distance) },
      { title: "steals", key: (r) => r.number, text: (r) => count(r.number) },
      { title: "share", key: (r) => r.number, text: (r) => share(r.number, trace.steals) },
    ], distances));
  }
  if (places) {
    for (const [title, of] of [["package", places.packages], ["cache domain", places.domains]]) {
      if (new Set(of).size > 1) parts.push(matrix(`By ${title}: thief down, victim across`, matrixOf(trace, of)));
    }
  } else {
    parts.push(make("p", { class: "quiet" }, "By cache domain and package: weft trace view --machine MACHINE, with the machine that the trace was written on."));
  }
  if (trace.workers <= LARGEST_PICTURE) {
    parts.push(matrix("By worker: thief down, victim across", matrixOf(trace, [...Array(trace.workers).keys()])));
  } else {
    parts.push(make("p", { class: "quiet" }, `From worker to worker: for at most ${LARGEST_PICTURE} workers.`));
  }
  return make("div", { class: "side" }, ...parts);
}

/** {names, counts[thief][victim]} of the parts that `of` puts the workers into. */
export function matrixOf(trace, of) {
  const names = [...new Set(of)].sort((a, b) => a - b);
  const numbers = new Map(names.map((name, i) => [name, i]));
  const place = of.map((part) => numbers.get(part));
  const counts = names.map(() => new Uint32Array(names.length));
  for (let i = 0; i < trace.steals; i++) counts[place[trace.stealThief[i]]][place[trace.stealVictim[i]]]++;
  return { names, counts };
}

/** Darker cells are more; square roots, since steals differ by orders of magnitude. */
function strength(value, most) {
  return value === 0 ? 0 : 0.12 + 0.78 * Math.sqrt(value / most);
}

function matrix(caption, { names, counts }) {
  const most = Math.max(1, ...counts.map((row) => Math.max(...row)));
  if (names.length > LARGEST_TABLE) return picture(caption, names, counts, most);
  const [r, g, b] = channels(styleColour("heat"));
  const cell = (value) =>
    make("td", { class: "number" + (strength(value, most) > 0.55 ? " full" : ""), style: value > 0 && `background: rgb(${r} ${g} ${b} / ${strength(value, most)})` }, value > 0 ? count(value) : "·");
  return make("table", { class: "matrix" },
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, make("td"), ...names.map((n) => make("th", { scope: "col" }, String(n))))),
    make("tbody", {}, ...counts.map((row, i) => make("tr", {}, make("th", { scope: "row" }, String(names[i])), ...Array.from(row, cell)))));
}

/** The same for many workers: a picture, and what is under the pointer in words. */
function picture(caption, names, counts, most) {
  const size = Math.max(2, Math.floor(480 / names.length));
  const side = size * names.length;
  const said = make("figcaption", {}, caption);
  const canvas = make("canvas", { role: "img", "aria-label": caption, style: `width: ${side}px; height: ${side}px` });
  const { context } = fitCanvas(canvas, side, side);
  const [r, g, b] = channels(styleColour("heat"));
  context.fillStyle = styleColour("lane");
  context.fillRect(0, 0, side, side);
  counts.forEach((row, thief) => row.forEach((value, victim) => {
    if (value === 0) return;
    context.fillStyle = `rgb(${r} ${g} ${b} / ${strength(value, most)})`;
    context.fillRect(victim * size, thief * size, size, size);
  }));
  canvas.addEventListener("pointermove", (event) => {
    const [victim, thief] = [Math.floor(event.offsetX / size), Math.floor(event.offsetY / size)];
    const value = counts[thief]?.[victim];
    said.textContent = value === undefined ? caption : `worker ${names[thief]} stole from ${names[victim]}: ${count(value)}`;
  });
  return make("figure", {}, said, canvas);
}
