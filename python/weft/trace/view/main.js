import { connectionsOf } from "./arrows.js";
import { Choice } from "./choice.js";
import { Cover } from "./cover.js";
import { nameOf } from "./describe.js";
import { make } from "./element.js";
import { classesPanel, workersPanel } from "./figures.js";
import { fillHeader } from "./header.js";
import { Overview } from "./overview.js";
import { activityPalette, isDark, Palette, setDark } from "./palette.js";
import { Pointing } from "./pointing.js";
import { makeSplitter } from "./splitter.js";
import { chromeEvents, save } from "./saving.js";
import { State } from "./state.js";
import { stealsPanel } from "./steals.js";
import { Tabs } from "./tabs.js";
import { Timeline } from "./timeline.js";
import { Tip } from "./tip.js";
import { ASLEEP, LOST, SEARCH, takeTrace } from "./trace.js";
import { ConstructTree } from "./tree.js";
import { WORDS } from "./words.js";

const byId = (id) => document.getElementById(id);

/** What stands in the timeline, by colour. */
function fillLegend(trace, palette, activityColours) {
  const entry = (colour, name, hatched) =>
    make("li", {}, make("span", { class: hatched ? "swatch hatched" : "swatch", style: `background-color: ${colour}` }), name);
  const ofColour = new Map(); // the classes of each colour
  trace.head.classes.forEach((c, i) => ofColour.set(c.colour, [...(ofColour.get(c.colour) ?? []), i].slice(0, 2)));
  const entries = [...ofColour.values()].map(([i, another]) =>
    entry(palette.colourOfClass(another ?? i), another === undefined ? trace.head.classes[i].name : "other classes"));
  entries.push(entry(palette.colours[palette.idle + SEARCH], WORDS.search, true), entry(palette.colours[palette.idle + ASLEEP], WORDS.asleep));
  entries.push(entry(palette.paper, WORDS.overhead));
  if (trace.head.stats.lost > 0) entries.push(entry(palette.colours[palette.idle + LOST], WORDS.lost, true));
  if (trace.callBegin.length > 0) entries.push(entry("var(--run)", WORDS.run), entry("var(--lane)", WORDS.outside));
  if (trace.callBegin.length + trace.head.marks.length > 0) entries.push(make("li", { title: marksTitle(trace) }, make("span", { class: "mark" }), "mark"));
  byId("legend").replaceChildren(...entries);
  byId("activity-legend").hidden = !activityColours;
  if (activityColours) {
    const known = trace.head.activities.map((a, i) => entry(activityColours.colours[i], a.name, activityColours.hatched[i]));
    byId("activity-legend").replaceChildren(make("li", { class: "quiet" }, "lower part of a lane:"), ...known);
  }
}

function marksTitle(trace) {
  const { marks, marksLeftOut } = trace.head;
  const all = "Where a run, an iteration, a run of a graph or a group with a name begins";
  return marksLeftOut > 0 ? `${all}; the first ${marks.length} of ${marks.length + marksLeftOut} beside the runs` : all;
}

function search(state, text) {
  const { trace } = state;
  const said = text.trim();
  if (said === "") return "";
  const number = Number(said.replace(/^#/, ""));
  const row = Number.isInteger(number) ? trace.rowOf(number) : -1;
  if (row >= 0) {
    state.choose(row);
    state.lookAtTask(row);
    return "";
  }
  const found = trace.head.classes.findIndex((c) => c.name.toLowerCase().includes(said.toLowerCase()));
  if (found < 0) return `No task and no class: ${said}`;
  if (found !== state.marked) state.mark(found);
  return `${trace.head.classes[found].name} stands out`;
}

async function start() {
  const darkSystem = matchMedia("(prefers-color-scheme: dark)");
  setDark(darkSystem.matches);
  const bar = byId("progress");
  const trace = await takeTrace((done) => (bar.value = done));
  document.body.classList.remove("loading");
  byId("loading").remove();

  const state = new State(trace);
  const timeline = new Timeline(byId("timeline"), state);
  const overview = new Overview(byId("overview"), state);
  const choice = new Choice(byId("panel-task"), state);
  const tip = new Tip(byId("tip"), timeline);
  const tabs = new Tabs(byId("tabs"));
  const tree = new ConstructTree(byId("constructs"), state);
  const frames = [];

  let asked = false;
  const redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      const begin = performance.now();
      overview.draw();
      timeline.draw();
      frames.push(performance.now() - begin);
      if (frames.length > 200) frames.shift();
    });
  };

  let activityCover = null;
  const colour = () => {
    const palette = new Palette(trace, state.marked, state.construct);
    const cover = new Cover(trace.lanes, palette.categories(trace), palette.size);
    const activityColours = trace.hasActivities ? activityPalette(trace) : null;
    if (trace.hasActivities) activityCover ??= new Cover(trace.activities, trace.activities.what, activityColours.size);
    timeline.use(cover, palette, activityCover, activityColours);
    overview.use(cover, palette);
    choice.use(palette);
    tree.draw(palette);
    fillLegend(trace, palette, activityColours);
    return palette;
  };
  const fillPanels = () => {
    const palette = colour();
    byId("panel-classes").replaceChildren(classesPanel(state, palette));
    byId("panel-workers").replaceChildren(workersPanel(trace));
    byId("panel-steals").replaceChildren(stealsPanel(trace));
    choice.draw();
    redraw();
  };

  const pointing = new Pointing(timeline, state, tip, redraw);
  state.on("look", redraw);
  state.on("hover", () => {
    timeline.hovered = connectionsOf(trace, state.hovered);
    redraw();
  });
  let later = 0;
  state.on("choose", () => {
    timeline.chosen = connectionsOf(trace, state.task);
    const { stretches } = timeline.chosen;
    if (stretches.length > 0 && !stretches.some((s) => timeline.isVisible(s.worker))) timeline.showWorker(stretches[0].worker);
    byId("say").textContent = state.task >= 0 ? nameOf(trace, state.task) : "";
    redraw();
    // While a range is dragged only its last state is worth a table.
    clearTimeout(later);
    later = setTimeout(() => {
      choice.draw();
      if (state.task >= 0 || state.range) tabs.show("tab-task");
    }, state.range ? 120 : 0);
  });
  // The table of classes made its own change, if it was there: its focus stays where it is.
  state.on("mark", () => {
    colour();
    for (const line of byId("panel-classes").querySelectorAll("tbody tr")) {
      line.setAttribute("aria-selected", String(state.marked >= 0 && line.cells[0].textContent === trace.head.classes[state.marked].name));
    }
    redraw();
  });

  byId("zoom-in").onclick = () => state.zoom(1 / 1.5);
  byId("zoom-out").onclick = () => state.zoom(1.5);
  byId("show-all").onclick = () => state.look(0, trace.last);
  const fitLanes = () => {
    timeline.fitsAll = !timeline.fitsAll;
    byId("fit-lanes").setAttribute("aria-pressed", String(timeline.fitsAll));
    redraw();
  };
  byId("fit-lanes").onclick = fitLanes;
  const showConstructs = (shown) => {
    byId("constructs").hidden = !shown;
    byId("show-constructs").setAttribute("aria-pressed", String(shown));
    redraw();
  };
  const switchConstructs = () => showConstructs(byId("constructs").hidden);
  byId("show-constructs").onclick = switchConstructs;
  showConstructs(trace.head.constructs.length > 1 && innerWidth >= 1000);
  const saveShown = () => save(trace, state.begin, state.end);
  byId("save").onclick = saveShown;
  byId("theme").onclick = () => {
    setDark(!isDark());
    fillPanels();
  };
  byId("help-open").onclick = () => byId("help").showModal();
  byId("help-close").onclick = () => byId("help").close();
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    byId("say-search").textContent = search(state, byId("search-text").value);
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const actions = { "?": () => byId("help").showModal(), h: fitLanes, c: switchConstructs, e: saveShown, "/": () => byId("search-text").focus() };
    const act = actions[event.key];
    if (!act) return pointing.anywhere(event);
    act();
    event.preventDefault();
  });
  darkSystem.addEventListener("change", () => {
    setDark(darkSystem.matches);
    fillPanels();
  });
  makeSplitter(byId("splitter"), byId("panel"));
  new ResizeObserver(redraw).observe(byId("timeline"));

  fillHeader(trace);
  fillPanels();
  tabs.show("tab-classes");
  /** For scripts and tests. */
  window.weft = { trace, state, timeline, overview, tree, chromeEvents, frames, ready: performance.now() };
}

start().catch((failure) => {
  document.body.classList.remove("loading");
  const said = byId("loading");
  said?.replaceChildren(make("strong", {}, "This trace cannot be shown: "), String(failure?.message ?? failure));
  throw failure;
});
