// One account: its limits as they stand, what it used, its keys, its tier, and what was refused lately and why.

import { at, del, get } from "../api.js";
import { columnChart } from "../charts/columns.js";
import { limitMeter } from "../charts/meter.js";
import { confirm } from "../dialog.js";
import { h, show } from "../dom.js";
import { ago, count, dayMonth, hourMinute } from "../format.js";
import { forecast, limitsOfTier, quotaOf } from "../forecast.js";
import { badge, card, command, empty, facts, failed, head, loading } from "../parts.js";
import { reasonClass, reasonText } from "../reasons.js";
import { refresh } from "../refresh.js";
import { go } from "../router.js";
import { listen } from "../stream.js";
import { tried } from "../toast.js";
import { keysPart } from "./account-keys.js";
import { changeTier } from "./account-tier.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export function accountPage(main, id) {
  let account = null;
  let tiers = [];
  let step = "hour";
  const about = h("div", {}, loading());
  const limits = h("div", {}, loading());
  const usage = h("div", {}, loading());
  const refusals = h("div", {}, loading());
  const title = h("div", {});
  const keys = keysPart(id);
  const steps = h("select", { "aria-label": "Usage by", onchange: () => ((step = steps.value), readUsage()) },
    h("option", { value: "hour" }, "Last 48 hours"), h("option", { value: "day" }, "Last 30 days"));
  show(title, head(id));
  show(main, title, h("div", { class: "columns" }, card("Limits now", limits), card("About", about)),
    card("Usage", usage, steps), keys.element, card("Recent refusals", refusals));

  function drawHead() {
    const change = h("button", { type: "button", onclick: () => changeTier(account, tiers, () => slow.now()) }, "Change tier");
    const remove = h("button", { type: "button", class: "danger-quiet", onclick: deleteAccount }, "Delete");
    show(title, head(account.name || account.id, h("span", {}, h("span", { class: "mono" }, account.id), " ", badge(account.tier)),
      change, remove));
    document.title = `${account.name || account.id} · Sluicegate`;
  }

  async function deleteAccount() {
    const text = `All keys of ${account.id} are revoked at once. What it used stays in the ledger.`;
    if (!await confirm(`Delete ${account.id}?`, text, "Delete account")) return;
    if (await tried(() => del(at`/admin/v1/accounts/${id}`), `${account.id} is deleted.`)) go("/accounts");
  }

  async function readUsage() {
    const from = step === "hour" ? "47h" : "29d";
    try {
      const used = await get(at`/admin/v1/usage?account=${id}&from=${from}&step=${step}`);
      show(usage, usagePart(used, step));
    } catch (error) {
      show(usage, failed(error, readUsage));
    }
  }

  // What changes seldom, and what changes with every request.
  const slow = refresh(20_000, async (signal) => {
    [account, tiers] = await Promise.all([get(at`/admin/v1/accounts/${id}`, signal),
      get("/admin/v1/tiers", signal).then((page) => page.items)]);
    drawHead();
    show(about, aboutPart(account));
    await readUsage();
  }, (error) => {
    if (error.status !== 404) return show(about, failed(error, () => slow.now()));
    quick.stop();
    slow.stop();
    show(main, head(id), empty("There is no such account", "It may have been deleted.", h("a", { href: "/accounts" }, "All accounts")));
  });
  const quick = refresh(2_000, async (signal) => {
    const [now, lastDay, refused] = await Promise.all([get(at`/admin/v1/accounts/${id}/limits`, signal),
      get(at`/admin/v1/usage?account=${id}&from=24h`, signal), get(at`/admin/v1/decisions?account=${id}&limit=10`, signal)]);
    show(limits, limitsPart(now.items, lastDay.total, account && limitsOfTier(tiers, account.tier)));
    show(refusals, refusalsPart(refused.items));
  }, (error) => error.status !== 404 && show(limits, failed(error, () => quick.now())));
  const stop = listen({ change: (change) => ["account", "key", "reload"].includes(change.what) && slow.now().then(keys.read) });
  return { leave: () => (slow.stop(), quick.stop(), stop()) };
}

function limitsPart(items, lastDay, of) {
  if (items.length === 0) return empty("No limits", "The tier of this account lets everything pass.");
  const quota = quotaOf(items, of);
  const said = forecast(quota, lastDay);
  return h("div", { class: "stack" }, items.map((limit) =>
    limitMeter(limit, quota && limit.name === quota.name && limit.key === quota.key && h("span", { class: `forecast ${said.kind}` }, said.text))));
}

function aboutPart(account) {
  return facts([
    ["Tier", badge(account.tier)],
    ["Billing day", account.billing_day ?? "1"],
    ["Time zone", account.timezone ?? "UTC"],
    ["Created", ago(account.created_at)],
    account.custom && ["Negotiated", h("pre", { class: "small" }, JSON.stringify(account.custom, null, 1))],
  ]);
}

function usagePart(used, step) {
  const size = step === "hour" ? HOUR : DAY;
  const slots = step === "hour" ? 48 : 30;
  const last = Math.floor(Date.now() / size) * size;
  const known = new Map(used.series.map((point) => [new Date(point.start).getTime(), point]));
  const points = Array.from({ length: slots }, (_, index) => {
    const start = last - (slots - 1 - index) * size;
    const point = known.get(start);
    const short = step === "hour" ? hourMinute(start) : dayMonth(start);
    const label = step === "hour" ? `${dayMonth(start)}, ${hourMinute(start)}` : short;
    return { label, short, value: Math.max(0, point?.total ?? 0), over: Math.max(0, point?.overage ?? 0) };
  });
  const unit = step === "hour" ? "hour, the last 48" : "day, the last 30";
  if (used.series.length === 0) {
    return empty("Nothing was used yet", "Usage appears here with the first admitted request:",
      command("curl -i -H \"X-API-Key: $KEY\" http://127.0.0.1:8080/"));
  }
  return h("div", {}, h("p", { class: "muted" }, h("b", { class: "strong" }, count(used.total)), " used in ",
    count(used.requests), " requests", used.overage > 0 && `, ${count(used.overage)} of it beyond the quota`),
    columnChart(`Usage by the ${unit}`, points));
}

function refusalsPart(items) {
  if (items.length === 0) return empty("Nothing was refused lately", "Refusals are listed here, each with its reason.");
  return h("ul", { class: "list" }, items.map((item) => h("li", {},
    h("i", { class: `swatch ${reasonClass(item.error)}` }),
    h("span", { class: "grow" }, h("a", { href: `/explain/${encodeURIComponent(item.decision_id)}` }, item.sentence || reasonText(item.error)),
      h("span", { class: "muted mono block" }, `${item.method} ${item.path}`)),
    badge(String(item.status)), h("span", { class: "muted when" }, ago(item.at)))));
}
