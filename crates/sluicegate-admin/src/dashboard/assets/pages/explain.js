// Why a request was refused: one sentence, what every limit said before and after, and what would have been admitted.

import { at, get } from "../api.js";
import { bar } from "../charts/meter.js";
import { h, show } from "../dom.js";
import { absolute, ago, count, span } from "../format.js";
import { badge, card, command, empty, facts, failed, head, loading, shortId } from "../parts.js";
import { reasonText } from "../reasons.js";
import { go } from "../router.js";
import { table } from "../table.js";

export function explainPage(main, id) {
  const input = h("input", { name: "id", type: "search", value: id ?? "", "aria-label": "The id of a decision", placeholder: "Decision id", spellcheck: "false",
    autocomplete: "off" });
  const look = h("form", { class: "row", role: "search", onsubmit: (event) => {
    event.preventDefault();
    if (input.value.trim() !== "") go(`/explain/${encodeURIComponent(input.value.trim())}`);
  } }, input, h("button", { type: "submit", class: "primary" }, "Explain"));
  const body = h("div", { class: "stack" }, loading());
  show(main, head("Explain", "Why a request was refused.", look), body);
  let left = false;
  read();
  return { leave: () => (left = true) };

  async function read() {
    try {
      const parts = id ? await one(id) : await recent();
      if (!left) show(body, parts);
    } catch (error) {
      if (!left) show(body, failed(error, read));
    }
  }
}

async function recent() {
  const { items } = await get("/admin/v1/decisions?limit=20");
  if (items.length === 0) {
    return card("Recent refusals", empty("Nothing was refused lately", "Every refusal has its “decision_id” in its body. The same from a shell:",
      command("sluicegate explain $ID")));
  }
  return card("Recent refusals", h("ul", { class: "list" }, items.map((item) => h("li", {}, badge(String(item.status), "warn"),
    h("span", { class: "grow" }, h("a", { href: `/explain/${encodeURIComponent(item.decision_id)}` }, item.sentence || reasonText(item.error)),
      h("span", { class: "muted mono block" }, `${item.method} ${item.path}`)), h("span", { class: "muted when" }, ago(item.at))))));
}

async function one(id) {
  let told;
  try {
    told = await get(at`/admin/v1/decisions/${id}`);
  } catch (error) {
    if (error.status !== 404) throw error;
    return card("Not known", empty("This decision is not known any more", "The last refusals of this node are kept, not all of them.",
      h("a", { href: "/explain" }, "Recent refusals")));
  }
  return [
    h("section", { class: "card sentence", "aria-label": "In a sentence" }, h("p", {}, told.sentence),
      h("p", { class: "muted" }, badge(String(told.status), told.allowed ? "good" : "warn"), ` ${reasonText(told.error)} · `, ago(told.at),
        ` · ${absolute(told.at)}`)),
    h("div", { class: "columns" }, card("What would have passed", wouldPass(told)), card("The request", request(told))),
    card("What every limit said", limits(told)),
  ];
}

function wouldPass(told) {
  return facts([
    ["This request", told.retry_at ? h("span", {}, "from ", h("time", { datetime: told.retry_at, "data-fixed": "1", title: told.retry_at }, absolute(told.retry_at)), " on")
      : "not by waiting"],
    ["At that moment", told.cost_admitted > 0 ? `a request of cost ${count(told.cost_admitted)} or less` : "no request, however small"],
    ["Its cost", count(told.cost)],
    told.squeezed && ["Address", badge("squeezed", "warn")],
    told.reputation && ["Reputation", `${told.reputation} risk`],
    told.mode === "degraded" && ["Mode", badge("degraded", "bad")],
  ]);
}

function request(told) {
  return facts([
    ["Request", h("span", { class: "mono wrap" }, `${told.method} ${told.path}`)],
    told.account && ["Account", h("a", { href: `/accounts/${encodeURIComponent(told.account)}` }, told.account)],
    told.key && ["Key", h("span", { class: "mono" }, told.key)],
    told.client && ["Client", shortId(told.client, `/abuse?client=${encodeURIComponent(told.client)}`)],
    ["Tier", badge(told.tier ?? "–")],
    told.route && ["Route", told.route],
    ["Front end", String(told.front).replaceAll("_", " ")],
    ["Policy", `version ${told.policy_version}`],
    ["Decision", h("span", { class: "mono wrap" }, told.decision_id)],
  ]);
}

function limits(told) {
  if (told.limits.length === 0) return empty("No limit was asked", "The request was refused before that.");
  return table("Limits", [
    { name: "Limit", cell: (limit) => h("span", { class: "strong" }, limit.name) },
    { name: "Axis", cell: (limit) => limit.axis },
    { name: "Said", cell: (limit) => (limit.refused ? badge("refused", "bad") : badge("fits", "good")) },
    { name: "Used before", cell: (limit) => h("span", { class: "usage" }, bar(limit.before.used, limit.limit, `${limit.name}, before`),
      h("span", { class: "num" }, `${count(limit.before.used)} of ${count(limit.limit)}`)) },
    { name: "After", kind: "num", cell: (limit) => `${count(limit.after.remaining)} left` },
    { name: "Wait", kind: "num", cell: (limit) => (limit.refused && limit.retry_after_ms > 0 ? span(limit.retry_after_ms) : "–") },
  ], told.limits);
}
