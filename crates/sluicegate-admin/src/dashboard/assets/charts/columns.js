// Columns over time: usage by the hour or the day, with a table for screen readers.

import { freshId, h, s, show } from "../dom.js";
import { brief, count } from "../format.js";
import { hiddenTable } from "../table.js";
import { onWidth, ticks } from "./scale.js";

const HEIGHT = 160;
const EDGE = { top: 8, right: 4, bottom: 22, left: 44 };

/** An element. `points` are {label, value, over}: `over` is the part beyond the quota. */
export function columnChart(title, points) {
  const plot = h("div", { class: "plot" });
  const words = hiddenTable(title, ["Time", "Used", "Beyond the quota"],
    points.map((point) => [point.label, count(point.value), count(point.over)]));
  const redraw = onWidth(plot, (width) => show(plot, draw(title, points, width)));
  requestAnimationFrame(redraw);
  return h("div", { class: "chart" }, plot, words);
}

function draw(title, points, width) {
  const marks = ticks(Math.max(...points.map((point) => point.value), 0), 3);
  const top = marks[marks.length - 1];
  const inner = { width: width - EDGE.left - EDGE.right, height: HEIGHT - EDGE.top - EDGE.bottom };
  const y = (value) => EDGE.top + inner.height * (1 - value / top);
  const slot = inner.width / points.length;
  const bar = Math.max(1, Math.min(28, slot - (slot > 6 ? 3 : 1)));
  const lines = marks.map((mark) => [
    s("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(mark), y2: y(mark) }),
    s("text", { class: "tick", x: EDGE.left - 8, y: y(mark) + 4, "text-anchor": "end" }, brief(mark)),
  ]);
  const every = Math.max(1, Math.ceil(64 / slot));
  const bars = points.map((point, index) => {
    const x = EDGE.left + index * slot + (slot - bar) / 2;
    const rect = (kind, from, to) => to > from && s("rect",
      { class: `col ${kind}`, x, width: bar, y: y(to), height: Math.max(1, y(from) - y(to)), rx: Math.min(2, bar / 3) });
    return s("g", {}, s("title", {}, `${point.label}: ${count(point.value)}`),
      s("rect", { class: "hit", x: EDGE.left + index * slot, width: slot, y: EDGE.top, height: inner.height }),
      rect("a0", 0, point.value - point.over), rect("r2", point.value - point.over, point.value),
      (points.length - 1 - index) % every === 0 && s("text",
        { class: "tick", x: x + bar / 2, y: HEIGHT - 5, "text-anchor": index === points.length - 1 && slot < 40 ? "end" : "middle" },
        point.short ?? point.label));
  });
  const id = freshId("chart");
  return s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-labelledby": id },
    s("title", { id }, title), lines, bars);
}
