/** Columns of numbers that stand in the page; columns.py packs them. */

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Takes the column out of the page, as an array of the given type. */
export async function takeColumn(name, { length, width, least, delta }, Type) {
  const element = document.getElementById(`column-${name}`);
  const planes = await inflate(bytesOf(element.textContent));
  element.remove();
  if (planes.length !== length * width) throw new Error(`column ${name}: ${planes.length} bytes; ${length * width} expected`);
  // Arrays of whole numbers count modulo their size, and so does what is stored into them: differences below 0 come out right.
  const out = new Type(length).fill(least);
  for (let plane = 0, factor = 1; plane < width; plane++, factor *= 256) {
    const at = plane * length;
    for (let i = 0; i < length; i++) out[i] += planes[at + i] * factor;
  }
  if (delta) for (let i = 1; i < length; i++) out[i] += out[i - 1];
  return out;
}
