// A stacked area over time, with a legend, a reading under the pointer or the arrow keys, and a table for screen readers.

import { freshId, h, s, show } from "../dom.js";
import { hourMinute, timeOfDay } from "../format.js";
import { hiddenTable } from "../table.js";
import { onWidth, ticks } from "./scale.js";

const EDGE = { top: 10, right: 4, bottom: 22, left: 40 };
const TABLE_ROWS = 12;
const MINUTES = [1, 2, 5, 10, 15, 30, 60];

/** {element, update(data)}: data is {title, unit, times, layers: [{name, kind, values}], format}. */
export function areaChart(height) {
  const plot = h("div", { class: "plot", tabindex: 0, role: "group" });
  const reading = h("div", { class: "reading", hidden: true });
  const legend = h("ul", { class: "legend" });
  const words = h("div", {});
  const element = h("div", { class: "chart" }, plot, legend, words);
  let data = null;
  let picture = null;
  let at = -1;

  const redraw = onWidth(plot, (width) => {
    if (!data) return;
    picture = draw(data, width, height);
    show(plot, picture.svg, reading);
    point(at);
  });

  function point(index) {
    at = index;
    const on = picture && data && index >= 0 && index < data.times.length;
    reading.hidden = !on;
    picture?.cross.setAttribute("visibility", on ? "visible" : "hidden");
    if (!on) return;
    const x = picture.x(index);
    picture.cross.setAttribute("x1", x);
    picture.cross.setAttribute("x2", x);
    show(reading, h("p", { class: "strong" }, timeOfDay(data.times[index])),
      [...data.layers].reverse().map((layer) => h("p", {}, h("i", { class: `swatch ${layer.kind}` }),
        h("span", {}, layer.name), h("b", {}, data.format(layer.values[index])))));
    const left = x < picture.width / 2;
    reading.style.left = left ? `${x + 12}px` : "auto";
    reading.style.right = left ? "auto" : `${picture.width - x + 12}px`;
  }

  plot.addEventListener("pointermove", (event) => {
    if (picture) point(picture.index(event.clientX - plot.getBoundingClientRect().left));
  });
  plot.addEventListener("pointerleave", () => point(-1));
  plot.addEventListener("blur", () => point(-1));
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !data) return;
    event.preventDefault();
    const from = at < 0 ? data.times.length : at;
    point(Math.min(data.times.length - 1, Math.max(0, from + step)));
  });

  function update(next) {
    data = next;
    plot.setAttribute("aria-label", `${data.title}. The arrow keys read it out; a table follows.`);
    show(legend, data.layers.map((layer) => h("li", {}, h("i", { class: `swatch ${layer.kind}` }), layer.name)));
    show(words, hiddenTable(`${data.title}, ${data.unit}`, ["Time", ...data.layers.map((layer) => layer.name)],
      sample(data.times.length).map((index) =>
        [timeOfDay(data.times[index]), ...data.layers.map((layer) => data.format(layer.values[index]))])));
    redraw();
  }

  return { element, update };
}

/** A few indexes, evenly, with the last. */
function sample(length) {
  const step = Math.max(1, Math.floor(length / TABLE_ROWS));
  const list = [];
  for (let index = length - 1; index >= 0; index -= step) list.unshift(index);
  return list;
}

/** The upper edge, only where there is something under it. */
function outline(points, values) {
  let drawing = false;
  return points.map((point, index) => {
    const near = values[index] > 0 || values[index - 1] > 0 || values[index + 1] > 0;
    const part = near ? `${drawing ? "L" : "M"}${point}` : "";
    drawing = near;
    return part;
  }).join("");
}

/** Full minutes to write under the axis, at most so many, each with its share of the way. */
function moments(times, most) {
  const first = new Date(times[0]).getTime();
  const length = new Date(times[times.length - 1]).getTime() - first;
  const step = MINUTES.map((minutes) => minutes * 60_000).find((size) => length / size <= most);
  const list = [];
  if (!(length > 0) || !step) return list;
  for (let at = Math.ceil(first / step) * step; at <= first + length; at += step) {
    const share = (at - first) / length;
    if (share > 0.02 && share < 0.98) list.push([at, share]);
  }
  return list;
}

function draw(data, width, height) {
  const last = Math.max(1, data.times.length - 1);
  const sums = data.times.map((_, index) => data.layers.reduce((sum, layer) => sum + layer.values[index], 0));
  const marks = ticks(Math.max(...sums, 0));
  const top = marks[marks.length - 1];
  const inner = { width: width - EDGE.left - EDGE.right, height: height - EDGE.top - EDGE.bottom };
  const x = (index) => EDGE.left + (inner.width * index) / last;
  const y = (value) => EDGE.top + inner.height * (1 - value / top);

  const lines = marks.map((mark) => [
    s("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(mark), y2: y(mark) }),
    s("text", { class: "tick", x: EDGE.left - 8, y: y(mark) + 4, "text-anchor": "end" }, data.tick(mark)),
  ]);
  const dates = moments(data.times, Math.max(2, Math.floor(inner.width / 80))).map(([at, share]) =>
    s("text", { class: "tick", x: EDGE.left + inner.width * share, y: height - 5, "text-anchor": "middle" }, hourMinute(at)));

  const base = data.times.map(() => 0);
  const areas = data.layers.map((layer) => {
    const lower = [...base];
    layer.values.forEach((value, index) => (base[index] += value));
    const up = base.map((value, index) => `${x(index).toFixed(1)} ${y(value).toFixed(1)}`);
    const down = lower.map((value, index) => `${x(index).toFixed(1)} ${y(value).toFixed(1)}`).reverse();
    return [
      s("path", { class: `area ${layer.kind}`, d: `M${up.join("L")}L${down.join("L")}Z` }),
      s("path", { class: `edge ${layer.kind}`, d: outline(up, layer.values) }),
    ];
  });
  const cross = s("line", { class: "cross", y1: EDGE.top, y2: height - EDGE.bottom, visibility: "hidden" });
  const title = freshId("chart");
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height: height, role: "img", "aria-labelledby": title },
    s("title", { id: title }, data.title), lines, areas, dates, cross);
  const index = (px) => Math.max(0, Math.min(last, Math.round(((px - EDGE.left) / inner.width) * last)));
  return { svg, cross, x, index, width };
}
