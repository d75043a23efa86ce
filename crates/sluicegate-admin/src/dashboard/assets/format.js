// Numbers, times and durations as people read them.

import { h } from "./dom.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const tenth = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** 1,234,567 */
export const count = (value) => whole.format(value ?? 0);

/** 1.2M, from ten thousand on. */
export const brief = (value) => (Math.abs(value) < 10_000 ? whole.format(value) : short.format(value));

/** 12.3 */
export const decimal = (value) => tenth.format(value);

/** 12.3 % */
export function percent(part, all) {
  if (!all) return "0 %";
  const share = (100 * part) / all;
  if (share > 0 && share < 0.1) return "< 0.1 %";
  if (share > 99.9 && share < 100) return "> 99.9 %";
  return `${tenth.format(share)} %`;
}

/** Microseconds: 84 µs, 1.2 ms. */
export function micros(us) {
  if (us === undefined || us === null) return "–";
  if (us < 1_000) return `${whole.format(us)} µs`;
  if (us < 1_000_000) return `${tenth.format(us / 1_000)} ms`;
  return `${tenth.format(us / 1_000_000)} s`;
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
];

/** A length of time: 84 ms, 5 s, 2 h 5 min, 3 d 4 h. */
export function span(ms) {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const at = UNITS.findIndex(([, size]) => ms >= size);
  const [name, size] = UNITS[at];
  const first = Math.floor(ms / size);
  const next = UNITS[at + 1];
  const rest = next ? Math.floor((ms % size) / next[1]) : 0;
  return rest > 0 && first < 10 ? `${first} ${name} ${rest} ${next[0]}` : `${first} ${name}`;
}

/** The same in one unit: 2 h. */
function about(ms) {
  const [name, size] = UNITS.find(([, one]) => ms >= one) ?? UNITS[UNITS.length - 1];
  return `${Math.round(ms / size)} ${name}`;
}

/** 5 min ago, in 3 h, now. */
export function relative(at, now = Date.now()) {
  const ms = new Date(at).getTime() - now;
  if (Math.abs(ms) < 1_500) return "now";
  return ms < 0 ? `${about(-ms)} ago` : `in ${about(ms)}`;
}

const moment = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const precise = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** 16 Nov 2026, 12:00:00, as it is here. */
export const absolute = (at) => moment.format(new Date(at));
/** 12:00 */
export const hourMinute = (at) => clock.format(new Date(at));
/** 12:00:05 */
export const timeOfDay = (at) => precise.format(new Date(at));
/** 16 Nov */
export const dayMonth = (at) => day.format(new Date(at));

/** A time as people say it, with the exact one behind it; it keeps itself up to date. */
export function ago(at) {
  if (!at) return h("span", { class: "muted" }, "never");
  return h("time", { datetime: at, title: absolute(at) }, relative(at));
}

setInterval(() => {
  for (const time of document.querySelectorAll("time[datetime]")) {
    if (!time.dataset.fixed) time.textContent = relative(time.dateTime);
  }
}, 5_000);
