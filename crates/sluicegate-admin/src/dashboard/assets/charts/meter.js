// A bar that says how much of a limit is used, in numbers as well.

import { h } from "../dom.js";
import { brief, count, percent, span } from "../format.js";

/** How full: calm below 80 %, a warning from there, full at the end. */
export function fullness(used, limit) {
  if (limit > 0 && used >= limit) return "full";
  return limit > 0 && used >= 0.8 * limit ? "near" : "calm";
}

/** Only the bar. */
export function bar(used, limit, label) {
  const share = limit > 0 ? Math.min(100, (100 * used) / limit) : 0;
  const inside = h("span", { class: `level ${fullness(used, limit)}` });
  inside.style.width = `${share}%`;
  return h("span", {
    class: "meter", role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": limit,
    "aria-valuenow": Math.min(used, limit), "aria-valuetext": `${count(used)} of ${count(limit)}`,
  }, inside);
}

/** A limit as it stands, with what it says. */
export function limitMeter(limit, note) {
  const name = limit.key ? `${limit.name} of key ${limit.key}` : limit.name;
  return h("div", { class: "limit" },
    h("div", { class: "row between" }, h("span", { class: "strong" }, limit.name,
      limit.key && h("span", { class: "mono muted" }, ` ${limit.key}`)),
    h("span", { class: "num" }, `${brief(limit.used)} of ${brief(limit.limit)}`,
      h("span", { class: "muted" }, ` · ${percent(limit.used, limit.limit)}`))),
    bar(limit.used, limit.limit, name),
    h("p", { class: "hint" }, `${count(limit.remaining)} left`,
      note ? [" · ", note] : limit.reset_ms > 0 && ` · more in ${span(limit.reset_ms)}`));
}
