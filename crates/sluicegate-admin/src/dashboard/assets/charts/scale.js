// Scales of charts: round numbers beside the axis, and fewer points where there are more than can be seen.

/** Round numbers from 0 to at least `max`, about `wanted` of them. */
export function ticks(max, wanted = 4) {
  if (!(max > 0)) return [0, 1];
  const rough = max / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const list = [];
  for (let at = 0; at < max + step; at += step) list.push(at);
  return list;
}

/** Joins neighbours until there are at most `most`: `join(points)` makes one of several. */
export function thin(points, most, join) {
  const size = Math.ceil(points.length / most);
  if (size <= 1) return points;
  const list = [];
  // Counted from the end: the newest point is always whole.
  for (let end = points.length; end > 0; end -= size) list.unshift(join(points.slice(Math.max(0, end - size), end)));
  return list;
}

/** Calls `draw(width)` now, and whenever the width of the node changes. */
export function onWidth(node, draw) {
  let last = 0;
  const look = () => {
    const width = Math.floor(node.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      draw(width);
    }
  };
  new ResizeObserver(look).observe(node);
  return () => {
    last = 0;
    look();
  };
}
