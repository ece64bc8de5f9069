import { FIRST_TASK } from "./trace.js";

/** Categories of stretches and their colours. A category is a colour; classes beyond those with one of their own share one. */

const SEARCH_COLOUR = "#cc79a7";
const LOST_COLOUR = "#7f7f7f";
const ASLEEP_COLOUR = { light: "#d9d9d9", dark: "#4a4d52" };

/** The page is dark if its reader's system is, until a button says otherwise. */
export function isDark() {
  return document.documentElement.dataset.theme === "dark";
}
export function setDark(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

/** A colour of the page's style. */
export function styleColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export class Palette {
  /**
   * What stands out comes first and keeps its colours, the rest fades: the tasks of the class `marked`, or those in
   * `construct`; -1: nothing.
   */
  constructor(trace, marked, construct = -1) {
    const { classes, constructs } = trace.head;
    const some = marked >= 0 || construct >= 0;
    const colours = [...new Set(classes.map((c) => c.colour))];
    const categories = colours.map((colour) => ({ colour, hatched: false, fades: some }));
    /** Category of each class. */
    this.ofClass = classes.map((c) => colours.indexOf(c.colour));
    /** Whether each construct stands out, or null. */
    this.inside = construct >= 0 ? trace.constructsInside(construct) : null;
    /** Whether some task of each class stands out. */
    this.outstanding = classes.map((_, i) => i === marked);
    if (this.inside) constructs.forEach((c, i) => this.inside[i] && (this.outstanding[c.cls] = true));
    /** Category of what stands out of each class. */
    this.ofOutstanding = [...this.ofClass];
    const first = categories.length;
    const places = new Map();
    this.outstanding.forEach((stands, i) => {
      if (!stands) return;
      const { colour } = classes[i];
      if (!places.has(colour)) places.set(colour, categories.push({ colour, hatched: false, fades: false }) - 1);
      this.ofOutstanding[i] = places.get(colour);
    });
    /** Categories below this one are tasks; then come SEARCH, ASLEEP, LOST. */
    this.idle = categories.length;
    categories.push({ colour: SEARCH_COLOUR, hatched: true, fades: some });
    categories.push({ colour: ASLEEP_COLOUR[isDark() ? "dark" : "light"], hatched: false, fades: some });
    categories.push({ colour: LOST_COLOUR, hatched: true, fades: some });
    this.paper = styleColour("lane");
    this.colours = categories.map(({ colour, fades }) => (fades ? mix(colour, this.paper, 0.8) : colour));
    this.hatched = categories.map((c) => c.hatched);
    const all = categories.map((_, i) => i);
    this.order = [...all.slice(first, this.idle), ...all.slice(0, first), ...all.slice(this.idle)];
    this.size = categories.length;
  }

  colourOfClass(index) {
    return this.colours[this.ofOutstanding[index]];
  }

  /** The category of a task, by its row. */
  categoryOf(trace, row) {
    const index = trace.taskClass[row];
    const stands = this.inside ? this.inside[trace.taskConstruct[row]] : this.outstanding[index];
    return stands ? this.ofOutstanding[index] : this.ofClass[index];
  }
  colourOfTask(trace, row) {
    return this.colours[this.categoryOf(trace, row)];
  }

  /** Of each stretch of the trace. */
  categories(trace) {
    const { what } = trace.lanes;
    const out = new Uint8Array(what.length);
    for (let i = 0; i < what.length; i++) {
      const of = what[i];
      out[i] = of >= FIRST_TASK ? this.categoryOf(trace, of - FIRST_TASK) : this.idle + of;
    }
    return out;
  }
}

/** The colours of the model's activities. */
export function activityPalette(trace) {
  const colours = trace.head.activities.map((a) => (a.name === "asleep" ? ASLEEP_COLOUR[isDark() ? "dark" : "light"] : a.colour));
  return {
    colours,
    hatched: trace.head.activities.map((a) => a.name === "search"),
    order: colours.map((_, i) => i),
    size: colours.length,
    paper: styleColour("lane"),
  };
}

export function channels(colour) {
  const number = parseInt(colour.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

function mix(colour, other, share) {
  const [a, b] = [channels(colour), channels(other)];
  return "#" + a.map((v, i) => Math.round(v * (1 - share) + b[i] * share).toString(16).padStart(2, "0")).join("");
}

/** As the bytes of a picture have it, read as one little-endian number. */
export function pixel(colour) {
  const [r, g, b] = channels(colour);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Black or white, whichever can be read on it. */
export function inkOn(colour) {
  const [r, g, b] = channels(colour);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000000" : "#ffffff";
}
