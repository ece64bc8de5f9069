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
  /** `marked`: the class that stands out, or -1. It comes first and keeps its colour, the others fade. */
  constructor(trace, marked) {
    const { classes } = trace.head;
    const colours = [...new Set(classes.map((c) => c.colour))];
    const categories = colours.map((colour) => ({ colour, hatched: false }));
    this.ofClass = classes.map((c) => colours.indexOf(c.colour));
    if (marked >= 0) {
      this.ofClass[marked] = categories.length;
      categories.push({ colour: classes[marked].colour, hatched: false });
    }
    /** Categories below this one are tasks; then come SEARCH, ASLEEP, LOST. */
    this.idle = categories.length;
    categories.push({ colour: SEARCH_COLOUR, hatched: true });
    categories.push({ colour: ASLEEP_COLOUR[isDark() ? "dark" : "light"], hatched: false });
    categories.push({ colour: LOST_COLOUR, hatched: true });
    this.paper = styleColour("lane");
    this.colours = categories.map(({ colour }, i) => (marked < 0 || i === this.ofClass[marked] ? colour : mix(colour, this.paper, 0.8)));
    this.hatched = categories.map((c) => c.hatched);
    this.order = categories.map((_, i) => i);
    if (marked >= 0) this.order = [this.ofClass[marked], ...this.order.filter((i) => i !== this.ofClass[marked])];
    this.size = categories.length;
  }

  colourOfClass(index) {
    return this.colours[this.ofClass[index]];
  }

  /** Of each stretch of the trace. */
  categories(trace) {
    const { what } = trace.lanes;
    const out = new Uint8Array(what.length);
    const ofClass = Uint8Array.from(this.ofClass);
    for (let i = 0; i < what.length; i++) {
      const of = what[i];
      if (of >= FIRST_TASK) out[i] = ofClass[trace.taskClass[of - FIRST_TASK]];
      else out[i] = this.idle + of;
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
