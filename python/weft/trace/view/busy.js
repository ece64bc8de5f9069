import { edgesBetween } from "./cover.js";

/** How many workers run tasks: means over equal parts of a stretch of time. */
export function busyWorkers(cover, palette, workers, begin, end, parts) {
  const edges = edgesBetween(begin, end, parts);
  const sums = new Float64Array(edges.length * palette.size);
  const busy = new Float64Array(parts);
  for (let w = 0; w < workers; w++) {
    cover.before(w, edges, sums);
    for (let i = 0; i < parts; i++) {
      for (let c = 0; c < palette.idle; c++) busy[i] += sums[(i + 1) * palette.size + c] - sums[i * palette.size + c];
    }
  }
  for (let i = 0; i < parts; i++) busy[i] /= Math.max(edges[i + 1] - edges[i], Number.MIN_VALUE);
  return busy;
}

/** So many parts that one frame has time for them with that many workers. */
export function affordableParts(width, workers) {
  return Math.max(32, Math.min(Math.round(width), Math.floor(150000 / workers)));
}

export function drawBusy(context, busy, most, left, top, width, height, colour) {
  context.beginPath();
  context.moveTo(left, top + height);
  busy.forEach((value, i) => {
    const y = top + height - (Math.min(value, most) / most) * height;
    context.lineTo(left + (width * i) / busy.length, y);
    context.lineTo(left + (width * (i + 1)) / busy.length, y);
  });
  context.lineTo(left + width, top + height);
  context.closePath();
  context.fillStyle = colour;
  context.fill();
}
