// The overview: what passes and what is refused, how long decisions take, what needs attention, and who calls most.

import { get } from "../api.js";
import { areaChart } from "../charts/area.js";
import { thin } from "../charts/scale.js";
import { h, show } from "../dom.js";
import { ago, brief, count, decimal, micros, percent } from "../format.js";
import { badge, card, command, empty, failed, figure, figures, head, loading, shortId } from "../parts.js";
import { presentReasons, reasonClass, reasonText, refusedSum } from "../reasons.js";
import { refresh } from "../refresh.js";
import { listen } from "../stream.js";
import { table } from "../table.js";

const POINTS_MAX = 120;
const FRONTS = { gateway: "Gateway", decision: "Decision API", forward_auth: "Forward auth", middleware: "Middleware" };

export function overviewPage(main) {
  let minutes = 15;
  let by = "requests";
  const numbers = h("div", { class: "stack" }, loading());
  const charts = { all: areaChart(200), refused: areaChart(120) };
  const traffic = h("div", {}, loading());
  const fronts = h("div", {}, loading());
  const alerts = h("div", {}, loading());
  const top = h("div", {}, loading());
  const now = { rate: null };

  const spans = choice("Time shown", [[5, "5 min"], [15, "15 min"], [60, "1 h"]], minutes, (value) => {
    minutes = value;
    asking.now();
  });
  const orders = choice("Ordered by", [["requests", "Requests"], ["refusals", "Refusals"]], by, (value) => {
    by = value;
    asking.now();
  });

  show(main, head("Overview", "What passes, and what does not."), numbers,
    card("Traffic", traffic, spans),
    h("div", { class: "columns" }, card("Decision time", fronts), card("Alerts", alerts)),
    card("Top callers", top, orders));

  const asking = refresh(5_000, async (signal) => {
    const [overview, busiest, heard] = await Promise.all([
      get(`/admin/v1/overview?minutes=${minutes}`, signal),
      get(`/admin/v1/top?by=${by}&limit=10`, signal),
      get("/admin/v1/alerts?limit=8", signal),
    ]);
    show(numbers, keyFigures(overview, now.rate));
    showTraffic(traffic, charts, overview, minutes);
    show(fronts, frontTable(overview));
    show(alerts, alertList(heard.items));
    show(top, topTable(busiest, by));
  }, (error) => show(numbers, failed(error, () => asking.now())));

  const stop = listen({
    tick(tick) {
      now.rate = tick.admitted + refusedSum(tick.refused);
      const shown = numbers.querySelector("[data-rate]");
      if (shown) shown.textContent = brief(now.rate);
    },
  });
  return { leave: () => (asking.stop(), stop()) };
}

/** Buttons of which one is pressed. */
function choice(label, options, chosen, pick) {
  const buttons = options.map(([value, text]) =>
    h("button", { type: "button", "aria-pressed": String(value === chosen), onclick: (event) => {
      for (const button of buttons) button.setAttribute("aria-pressed", String(button === event.currentTarget));
      pick(value);
    } }, text));
  return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

function keyFigures(overview, rate) {
  const { admitted } = overview.totals;
  const refused = refusedSum(overview.totals.refused);
  const last = overview.series[overview.series.length - 2] ?? { admitted: 0, refused: {} };
  const perSecond = rate ?? (last.admitted + refusedSum(last.refused)) / overview.step_s;
  const slowest = Math.max(0, ...overview.fronts.filter((front) => front.count > 0).map((front) => front.p99_us));
  const firing = overview.alerts_firing;
  return figures(
    figure("Requests a second", h("span", { "data-rate": true }, brief(perSecond)), `${count(overview.in_flight)} in flight`),
    figure("Admitted", percent(admitted, admitted + refused), `${brief(admitted)} of ${brief(admitted + refused)}`),
    figure("Refused", brief(refused), percent(refused, admitted + refused), refused > 0.05 * (admitted + refused) ? "warn" : ""),
    figure("Decision time, p99", micros(slowest || null), "slowest front end"),
    figure("Callers in memory", brief(overview.homes), `${count(overview.blocks)} blocked`),
    figure("Alerts firing", count(firing), overview.mode === "degraded" ? "degraded mode" : `policy ${overview.policy_version}`,
      firing > 0 || overview.mode === "degraded" ? "bad" : ""),
  );
}

function showTraffic(place, charts, overview, minutes) {
  const all = overview.series;
  if (all.every((point) => point.admitted === 0 && refusedSum(point.refused) === 0)) {
    show(place, empty("No requests yet", `Nobody has asked in the last ${minutes} minutes. Send one through the gateway:`,
      command("curl -i -H \"X-API-Key: $KEY\" http://127.0.0.1:8080/"),
      h("p", { class: "muted" }, "A key is made on the page of an ", h("a", { href: "/accounts" }, "account"), ".")));
    return;
  }
  // The last bucket is not full yet.
  const points = thin(all.slice(0, -1), POINTS_MAX, join);
  const reasons = presentReasons(all.map((point) => point.refused));
  const layer = (name, kind, value) => ({ name, kind,
    values: points.map((point) => value(point) / ((point.buckets ?? 1) * overview.step_s)) });
  const same = { unit: "requests a second", times: points.map((point) => point.at), format: (value) => `${decimal(value)}/s`,
    tick: (value) => (value < 10 ? decimal(value) : brief(value)) };
  const below = h("div", { class: "under" }, h("h3", {}, "Refused, by reason"), charts.refused.element);
  if (!place.contains(charts.all.element) || place.contains(charts.refused.element) !== reasons.length > 0) {
    show(place, charts.all.element, reasons.length > 0 && below);
  }
  charts.all.update({ ...same, title: `Requests a second over the last ${minutes} minutes, admitted and refused`, layers: [
    layer("Admitted", "a0", (point) => point.admitted),
    ...(reasons.length > 0 ? [layer("Refused", "r2", (point) => refusedSum(point.refused))] : []),
  ] });
  charts.refused.update({ ...same, title: `Refusals a second over the last ${minutes} minutes, by reason`,
    layers: reasons.map((code) => layer(reasonText(code), reasonClass(code), (point) => point.refused[code] ?? 0)) });
}

function join(points) {
  const refused = {};
  for (const point of points) {
    for (const [code, value] of Object.entries(point.refused)) refused[code] = (refused[code] ?? 0) + value;
  }
  const admitted = points.reduce((sum, point) => sum + point.admitted, 0);
  return { at: points[0].at, admitted, refused, buckets: points.length };
}

function frontTable(overview) {
  const used = overview.fronts.filter((front) => front.count > 0);
  if (used.length === 0) return empty("No decisions yet", "Times are shown for each front end that has decided something.");
  return table("Decision time for each front end", [
    { name: "Front end", cell: (front) => FRONTS[front.front] ?? front.front },
    { name: "Decisions", kind: "num", cell: (front) => count(front.count) },
    { name: "p50", kind: "num", cell: (front) => micros(front.p50_us) },
    { name: "p99", kind: "num", cell: (front) => micros(front.p99_us) },
  ], used, "small");
}

/** What an alert says in one line. */
export function alertText(alert) {
  if (alert.title) return alert.title;
  if (alert.type === "quota.overage") return `${alert.account} is beyond its ${alert.limit}: overage is billed`;
  if (alert.type === "quota.threshold") return `${alert.account} has used ${alert.percent} % of its ${alert.limit}`;
  return alert.type;
}

function alertList(items) {
  if (items.length === 0) {
    return empty("Nothing to report", "Alerts appear here: spent quotas, too many refusals, rejected reloads, drift.");
  }
  const rank = (alert) => (alert.state === "firing" ? 0 : 1);
  const sorted = [...items].sort((a, b) => rank(a) - rank(b));
  return h("ul", { class: "list" }, sorted.map((alert) => {
    const state = alert.state ?? "noted";
    const kind = { firing: "bad", resolved: "good" }[state] ?? "";
    const text = alertText(alert);
    return h("li", {}, badge(state, kind), h("span", { class: "grow" },
      alert.account ? h("a", { href: `/accounts/${encodeURIComponent(alert.account)}` }, text) : text),
      h("span", { class: "muted when" }, ago(alert.at)));
  }));
}

function topTable(top, by) {
  if (top.items.length === 0) {
    return empty(by === "requests" ? "Nobody called lately" : "Nobody was refused lately",
      "The busiest callers of the last minutes are listed here.");
  }
  const link = (item) => item.kind === "account"
    ? h("a", { href: `/accounts/${encodeURIComponent(item.id)}` }, item.id)
    : shortId(item.id, `/abuse?client=${encodeURIComponent(item.id)}`);
  return table("Top callers", [
    { name: "Caller", cell: link },
    { name: "Tier", cell: (item) => badge(item.tier ?? "–") },
    { name: by === "requests" ? "Requests" : "Refusals", kind: "num", cell: (item) =>
      h("span", { title: item.error_at_most > 0 ? `at most ${count(item.error_at_most)} too many` : "exact" },
        count(item.count)) },
  ], top.items, "small");
}
