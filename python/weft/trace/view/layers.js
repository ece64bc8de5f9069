/**
 * A layered drawing of a directed graph, after Sugiyama, Tagawa and Toda (1981): layers by longest paths, points on
 * edges that cross layers, few crossings by barycentres, then places near the neighbours' mean.
 *
 * Layers stand beside each other, from left to right. `heights`: of each node. Gives {layer, y} of each node and for
 * each edge the y of its points in the layers between; y is the middle.
 */
const SWEEPS = 10;
const SPACE = 8;
const POINT = 4; // the height of a point on an edge

export function layered(heights, edges) {
  const count = heights.length;
  const forward = withoutCycles(count, edges);
  const layer = layersOf(count, forward);

  // Nodes, then points: every link leads to the next layer.
  const items = heights.map((height, i) => ({ height, layer: layer[i], before: [], behind: [], y: 0 }));
  const paths = forward.map(([from, to]) => {
    const path = [from];
    for (let l = layer[from] + 1; l < layer[to]; l++) {
      path.push(items.length);
      items.push({ height: POINT, layer: l, before: [], behind: [], y: 0 });
    }
    path.push(to);
    for (let i = 1; i < path.length; i++) {
      items[path[i - 1]].behind.push(path[i]);
      items[path[i]].before.push(path[i - 1]);
    }
    return path;
  });
  const layers = [];
  items.forEach((item, i) => (layers[item.layer] ??= []).push(i));
  order(items, layers);
  place(items, layers);
  const top = Math.min(0, ...items.map((item) => item.y - item.height / 2));
  for (const item of items) item.y -= top;
  return {
    nodes: items.slice(0, count).map(({ layer: l, y }) => ({ layer: l, y })),
    points: paths.map((path, e) => {
      const inner = path.slice(1, -1).map((i) => ({ layer: items[i].layer, y: items[i].y }));
      return forward[e].turned ? inner.reverse() : inner;
    }),
    layers: layers.length,
    height: Math.max(0, ...items.map((item) => item.y + item.height / 2)),
  };
}

/** Edges as [from, to], those that would close a cycle turned round. */
function withoutCycles(count, edges) {
  const out = Array.from({ length: count }, () => []);
  edges.forEach(({ from, to }, e) => out[from].push(e));
  const turned = new Set();
  const seen = new Uint8Array(count); // 1: on the way, 2: done
  for (let start = 0; start < count; start++) {
    if (seen[start]) continue;
    const way = [[start, 0]];
    seen[start] = 1;
    while (way.length > 0) {
      const top = way[way.length - 1];
      const e = out[top[0]][top[1]++];
      if (e === undefined) {
        seen[top[0]] = 2;
        way.pop();
      } else if (seen[edges[e].to] === 1) {
        turned.add(e);
      } else if (seen[edges[e].to] === 0) {
        seen[edges[e].to] = 1;
        way.push([edges[e].to, 0]);
      }
    }
  }
  return edges.map(({ from, to }, e) => {
    const pair = turned.has(e) ? [to, from] : [from, to];
    pair.turned = turned.has(e);
    return pair;
  });
}

function layersOf(count, edges) {
  const layer = new Int32Array(count);
  const open = new Int32Array(count);
  const out = Array.from({ length: count }, () => []);
  const loops = edges.filter(([from, to]) => from === to);
  if (loops.length > 0) throw new Error("an edge from a node to itself");
  for (const [from, to] of edges) {
    out[from].push(to);
    open[to]++;
  }
  const ready = [...Array(count).keys()].filter((i) => open[i] === 0);
  const sorted = [];
  while (ready.length > 0) {
    const node = ready.pop();
    sorted.push(node);
    for (const to of out[node]) {
      layer[to] = Math.max(layer[to], layer[node] + 1);
      if (--open[to] === 0) ready.push(to);
    }
  }
  // What nothing leads to stands beside what it leads to.
  const hasBefore = new Uint8Array(count);
  for (const [, to] of edges) hasBefore[to] = 1;
  for (const node of sorted) {
    if (!hasBefore[node] && out[node].length > 0) layer[node] = Math.min(...out[node].map((to) => layer[to])) - 1;
  }
  return layer;
}

function order(items, layers) {
  const place = new Float64Array(items.length);
  const number = (list) => list.forEach((item, i) => (place[item] = i));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const list of down ? layers : [...layers].reverse()) {
      const centre = new Map(list.map((i) => {
        const near = down ? items[i].before : items[i].behind;
        return [i, near.length > 0 ? near.reduce((sum, n) => sum + place[n], 0) / near.length : place[i]];
      }));
      list.sort((a, b) => centre.get(a) - centre.get(b));
      number(list);
    }
  }
}

function place(items, layers) {
  const apart = (a, b) => (items[a].height + items[b].height) / 2 + SPACE;
  for (const list of layers) {
    list.forEach((i, k) => (items[i].y = k === 0 ? items[i].height / 2 : items[list[k - 1]].y + apart(list[k - 1], i)));
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const list of down ? layers : [...layers].reverse()) {
      const wanted = list.map((i) => {
        const near = down ? items[i].before : items[i].behind;
        return near.length > 0 ? near.reduce((sum, n) => sum + items[n].y, 0) / near.length : items[i].y;
      });
      // As near as the order allows: the mean of packing from the top and from the bottom.
      const low = [...wanted];
      for (let k = 1; k < list.length; k++) low[k] = Math.max(low[k], low[k - 1] + apart(list[k - 1], list[k]));
      const high = [...wanted];
      for (let k = list.length - 2; k >= 0; k--) high[k] = Math.min(high[k], high[k + 1] - apart(list[k], list[k + 1]));
      list.forEach((i, k) => (items[i].y = (low[k] + high[k]) / 2));
    }
  }
}
