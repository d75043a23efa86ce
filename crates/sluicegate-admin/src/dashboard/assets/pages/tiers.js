// The tiers in force: every limit with its bound; the file they come from, its last reload, and what that changed.

import { get } from "../api.js";
import { diff } from "../diff.js";
import { h, show } from "../dom.js";
import { ago, count } from "../format.js";
import { badge, card, command, empty, facts, failed, head, loading } from "../parts.js";
import { refresh } from "../refresh.js";
import { listen } from "../stream.js";
import { table } from "../table.js";

export function tiersPage(main) {
  const tiers = h("div", { class: "stack" }, loading());
  const reload = h("div", {}, loading());
  const file = h("div", {}, loading());
  show(main, head("Tiers", "The limits in force, and the file they come from."), card("Last reload", reload), tiers,
    card("The file in force", file));
  let version = null;
  const asking = refresh(10_000, async (signal) => {
    const [list, policy] = await Promise.all([get("/admin/v1/tiers", signal), get("/admin/v1/policy", signal)]);
    show(reload, reloadPart(policy));
    // What is being read stays where it is until it changes.
    if (policy.version === version) return;
    version = policy.version;
    show(tiers, list.items.map(tierPart));
    show(file, filePart(policy));
  }, (error) => show(reload, failed(error, () => asking.now())));
  const stop = listen({ change: (change) => change.what === "reload" && asking.now() });
  return { leave: () => (asking.stop(), stop()) };
}

function windowText(limit) {
  if (limit.axis === "concurrency") return "at once";
  const seconds = limit.window_seconds;
  // The bound names the period: it is no fixed time.
  if (seconds === null) return `a ${/per (calendar \w+|billing \w+)/.exec(limit.bound)?.[1] ?? "period"}`;
  const units = [[86_400, "day"], [3_600, "hour"], [60, "minute"], [1, "second"]];
  const [size, name] = units.find(([one]) => seconds % one === 0);
  return seconds === size ? `a ${name}`.replace("a hour", "an hour") : `in ${seconds / size} ${name}s`;
}

function tierPart(tier) {
  const notes = [tier.bypass && badge("no limits", "warn"), badge(`priority ${tier.priority}`)];
  if (tier.limits.length === 0) {
    return card(tier.name, h("p", { class: "muted" }, "Whoever has this tier passes without any limit."), notes);
  }
  return card(tier.name, table(`Limits of ${tier.name}`, [
    { name: "Limit", cell: (limit) => h("span", { class: "strong" }, limit.name) },
    { name: "Amount", cell: (limit) => `${count(limit.limit)} ${windowText(limit)}` },
    { name: "Burst", cell: (limit) => (limit.burst === null ? "–" : count(limit.burst)) },
    { name: "For each", cell: (limit) => limit.per },
    { name: "Counts", cell: (limit) => (limit.routes.length === 0 ? "every request" : limit.routes.join(", ")) },
    { name: "Beyond it", cell: (limit) => (limit.on_exceeded === "bill_overage"
      ? `billed${limit.overage_cap === null ? "" : `, up to ${count(limit.overage_cap)} more`}` : `refused, ${limit.status}`) },
    { name: "Bound", cell: (limit) => h("span", { title: limit.algorithm.replaceAll("_", " ") }, limit.bound) },
  ], tier.limits, "tier-limits"), notes);
}

function reloadPart(policy) {
  const about = facts([
    ["Version", count(policy.version)],
    ["Loaded", ago(policy.loaded_at)],
    ["File", policy.path ? h("span", { class: "mono wrap" }, policy.path) : "the one built in"],
  ]);
  if (policy.rejected) {
    return h("div", { class: "stack" }, about, h("div", { class: "notice bad", role: "alert" },
      h("p", { class: "strong" }, "The file was changed ", ago(policy.rejected.at), ", and rejected. The limits below stay in force."),
      h("pre", { tabindex: 0 }, policy.rejected.problems)));
  }
  if (!policy.before) {
    return h("div", { class: "stack" }, about, h("p", { class: "muted" },
      policy.path ? "Nothing was reloaded since the start. A change of the file is noticed by itself, or at once with:"
        : "Nobody gave this server a file. Copy the one below, change it, and start with:"),
    command(policy.path ? "kill -HUP $(pidof sluicegate)" : "sluicegate serve --config policy.yaml"));
  }
  const lines = diff(policy.before.text, policy.text);
  return h("div", { class: "stack" }, about, h("p", { class: "muted" }, `What changed from version ${policy.before.version}:`),
    lines === null ? h("p", {}, "Too much to show here.") : diffPart(lines));
}

function diffPart(lines) {
  if (lines.every((line) => line.kind === "same" || line.kind === "gap")) return empty("Nothing", "The text is the same.");
  const marks = { new: "+", old: "−", same: " ", gap: " " };
  const words = { new: "added", old: "removed" };
  return h("pre", { class: "diff", tabindex: 0, "aria-label": "What the reload changed" }, lines.map((line) =>
    h("span", { class: line.kind }, words[line.kind] && h("span", { class: "sr" }, `${words[line.kind]}: `),
      h("span", { "aria-hidden": "true" }, `${marks[line.kind]} `), `${line.text}\n`)));
}

function filePart(policy) {
  return h("details", {}, h("summary", {}, `${count(policy.text.split("\n").length - 1)} lines`),
    h("pre", { class: "file", tabindex: 0, "aria-label": "The text of the file" }, policy.text));
}
