import { make } from "./element.js";
import { count } from "./format.js";

const MOST_ROWS = 500;

/**
 * A table that its heads sort. `columns`: {title, key(row), text(row), node(row)}: what it sorts by, and what it shows;
 * numbers stand to the right. `pick(row)`: what a click on a row, or Enter, does. Of very many rows the first ones are
 * there, by whatever they are sorted.
 */
export function sortedTable(caption, columns, rows, { pick = null, sortBy = -1, isPicked = () => false } = {}) {
  const body = make("tbody");
  const rest = make("p", { class: "quiet" });
  let by = sortBy;
  let down = true;
  const numeric = columns.map((c) => rows.length > 0 && typeof c.key(rows[0]) === "number");

  const heads = columns.map((column, i) =>
    make("th", { scope: "col", class: numeric[i] && "number" },
      make("button", { type: "button", onclick: () => sort(i) }, column.title)));

  function sort(i) {
    down = i === by ? !down : numeric[i];
    by = i;
    fill();
  }

  function fill() {
    const ordered = [...rows];
    if (by >= 0) {
      const { key } = columns[by];
      const sign = down ? -1 : 1;
      ordered.sort((a, b) => sign * (numeric[by] ? key(a) - key(b) : String(key(a)).localeCompare(String(key(b)))));
    }
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== by ? "none" : down ? "descending" : "ascending"));
    body.replaceChildren(...ordered.slice(0, MOST_ROWS).map(line));
    rest.hidden = ordered.length <= MOST_ROWS;
    rest.textContent = `The first ${MOST_ROWS} of ${count(ordered.length)}.`;
  }

  function line(row) {
    const cells = columns.map((column, i) => make("td", { class: numeric[i] && "number" }, column.node?.(row), column.text(row)));
    if (!pick) return make("tr", {}, ...cells);
    const act = () => {
      pick(row);
      fill();
    };
    const key = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      const place = [...body.children].indexOf(event.currentTarget);
      act();
      body.children[place].focus();
    };
    return make("tr", { tabindex: 0, class: "pick", "aria-selected": String(isPicked(row)), onclick: act, onkeydown: key }, ...cells);
  }

  fill();
  const table = make("table", { class: "sorted" }, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads)), body);
  return make("div", {}, table, rest);
}
