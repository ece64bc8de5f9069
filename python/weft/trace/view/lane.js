import { pixel } from "./palette.js";

/** Paints what a worker did into pixels: in every column each category has its share of the height. */
export class LanePainter {
  constructor(cover, palette) {
    this.cover = cover;
    this.palette = palette;
    this.pixels = palette.colours.map(pixel);
    this.paper = pixel(palette.paper);
    this.sums = new Float64Array(0);
  }

  /** Into rows [top, top + height) of `target`, a Uint32Array of lines of `width`, one column between two `edges`. */
  paint(worker, edges, target, width, left, top, height) {
    const { cover, palette, pixels, paper } = this;
    const { size, order, hatched } = palette;
    if (this.sums.length < edges.length * size) this.sums = new Float64Array(edges.length * size);
    const { sums } = this;
    cover.before(worker, edges, sums);
    const bottom = top + height;
    for (let x = 0; x + 1 < edges.length; x++) {
      const whole = edges[x + 1] - edges[x];
      let filled = 0; // of the whole, exact
      let y = bottom;
      for (let o = 0; o < size; o++) {
        const c = order[o];
        const spent = sums[(x + 1) * size + c] - sums[x * size + c];
        if (spent <= 0) continue;
        filled += spent;
        // What is there at all is seen: at least one pixel.
        const to = Math.max(top, Math.min(y - 1, bottom - Math.round((filled / whole) * height)));
        const colour = pixels[c];
        for (; y > to; y--) target[(y - 1) * width + left + x] = hatched[c] && ((x + y) & 3) > 1 ? paper : colour;
      }
    }
  }
}
