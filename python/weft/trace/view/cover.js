/**
 * How long a worker was busy with each of a few categories before any point in time.
 *
 * Sums stand before every 32nd stretch, so that one answer takes a search and at most 31 steps, however many stretches
 * there are: a frame costs by its pixels and not by the trace, and the picture is exact at every zoom.
 */
const BLOCK = 32;

export class Cover {
  /** `category`: of each stretch, below `categories`. */
  constructor(lanes, category, categories) {
    this.lanes = lanes;
    this.category = category;
    this.categories = categories;
    const workers = lanes.first.length - 1;
    this.firstBlock = new Uint32Array(workers + 1);
    for (let w = 0; w < workers; w++) {
      this.firstBlock[w + 1] = this.firstBlock[w] + Math.ceil((lanes.first[w + 1] - lanes.first[w]) / BLOCK);
    }
    this.sums = new Float64Array(this.firstBlock[workers] * categories);
    const sum = new Float64Array(categories);
    for (let w = 0; w < workers; w++) {
      sum.fill(0);
      for (let i = lanes.first[w], n = 0; i < lanes.first[w + 1]; i++, n++) {
        if (n % BLOCK === 0) this.sums.set(sum, (this.firstBlock[w] + n / BLOCK) * categories);
        sum[category[i]] += lanes.end[i] - lanes.begin[i];
      }
    }
  }

  /**
   * Fills `out` with the time of each category before each of the `edges`, which ascend: out[edge * categories + category].
   */
  before(worker, edges, out) {
    const { lanes, category, categories, sums } = this;
    const { begin, end } = lanes;
    const first = lanes.first[worker];
    const last = lanes.first[worker + 1];
    let at = first - 1; // the last stretch that begins at the edge or before
    for (let e = 0; e < edges.length; e++) {
      const time = edges[e];
      const base = e * categories;
      // Ever longer steps, then a search between the last two: edges that lie close together cost little.
      let step = 1;
      let low = at;
      while (low + step < last && begin[low + step] <= time) {
        low += step;
        step *= 2;
      }
      let high = Math.min(last, low + step);
      while (high - low > 1) {
        const middle = (low + high) >>> 1;
        if (begin[middle] <= time) low = middle;
        else high = middle;
      }
      at = low;
      if (at < first) {
        out.fill(0, base, base + categories);
        continue;
      }
      const block = Math.floor((at - first) / BLOCK);
      const from = (this.firstBlock[worker] + block) * categories;
      for (let c = 0; c < categories; c++) out[base + c] = sums[from + c];
      for (let i = first + block * BLOCK; i < at; i++) out[base + category[i]] += end[i] - begin[i];
      out[base + category[at]] += Math.min(time, end[at]) - begin[at];
    }
  }
}

/** `count` + 1 points from begin to end. */
export function edgesBetween(begin, end, count) {
  const edges = new Float64Array(count + 1);
  for (let i = 0; i <= count; i++) edges[i] = begin + ((end - begin) * i) / count;
  return edges;
}
