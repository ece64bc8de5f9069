/** Numbers for people. */

const UNITS = [["s", 1e9], ["ms", 1e6], ["us", 1e3]];

/** Nanoseconds with three digits and a unit that fits, as `weft trace stats` has them. */
export function duration(ns) {
  for (const [unit, size] of UNITS) {
    if (Math.abs(ns) >= size) return `${ns / size < 999.5 ? digits(ns / size) : (ns / size).toFixed(0)} ${unit}`;
  }
  return `${digits(ns)} ns`;
}

/** Three digits, without zeros behind. */
export function digits(value) {
  return String(Number(value.toPrecision(3)));
}

/** A point in time, fine enough to tell it from its neighbours `resolution` ns away. */
export function instant(ns, resolution) {
  const scale = Math.max(Math.abs(ns), resolution);
  const [unit, size] = UNITS.find(([, s]) => scale >= s) ?? ["ns", 1];
  const decimals = Math.max(0, Math.ceil(Math.log10(size / Math.max(resolution, 1)) - 1e-9));
  return `${(ns / size).toFixed(Math.min(9, decimals))} ${unit}`;
}

export function count(value) {
  return value.toLocaleString("en");
}

export function share(part, whole) {
  return whole > 0 ? `${((part / whole) * 100).toFixed(1)}%` : "-";
}

/** A round step near `rough`: 1, 2 or 5 times a power of ten. */
export function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((f) => f * power).find((step) => step >= rough);
}
