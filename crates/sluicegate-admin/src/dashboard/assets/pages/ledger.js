// The books: what is counted, closed and sealed, whether meters agree with it, and the chain that proves it.

import { get, post } from "../api.js";
import { columnChart } from "../charts/columns.js";
import { h, show } from "../dom.js";
import { absolute, ago, brief, count, dayMonth, hourMinute } from "../format.js";
import { badge, card, command, copyButton, empty, facts, failed, figure, figures, head, loading } from "../parts.js";
import { refresh } from "../refresh.js";
import { table } from "../table.js";
import { tried } from "../toast.js";

const HOUR = 3_600_000;

export function ledgerPage(main) {
  const numbers = h("div", {}, loading());
  const hours = h("div", {}, loading());
  const sealing = h("div", {}, loading());
  const chain = h("div", {}, loading());
  const drift = h("div", {}, loading());
  const result = h("div", {});
  const compare = h("button", { type: "button", onclick: () => run(compare, result) }, "Compare now");
  show(main, head("Ledger", "Every admitted request leaves a record. This is what became of them."), numbers,
    card("All usage, the last 48 hours", hours),
    h("div", { class: "columns" }, card("Hours", sealing), card("Proof", chain)),
    card("Do the meters agree?", h("div", { class: "stack" }, drift, result), compare));
  const asking = refresh(10_000, async (signal) => {
    const [ledger, usage] = await Promise.all([get("/admin/v1/ledger", signal), get("/admin/v1/usage?from=47h", signal)]);
    show(numbers, keyFigures(ledger));
    show(hours, usagePart(usage));
    show(sealing, sealingPart(ledger));
    show(chain, chainPart(ledger.chain));
    show(drift, driftPart(ledger.check));
  }, (error) => show(numbers, failed(error, () => asking.now())));
  return { leave: () => asking.stop() };
}

function keyFigures(ledger) {
  const drifting = ledger.check?.drifting ?? 0;
  return figures(
    figure("Records", brief(ledger.records), `${count(ledger.behind)} not counted yet`),
    figure("Disk", ledger.health.state, ledger.health.detail ?? "every record is kept", ledger.health.state === "good" ? "" : "bad"),
    figure("Damaged records", count(ledger.torn), "they are in no sum", ledger.torn > 0 ? "bad" : ""),
    figure("Drift", count(ledger.check?.units ?? 0), `${count(drifting)} of ${count(ledger.check?.quotas ?? 0)} quotas`, drifting > 0 ? "bad" : ""),
    figure("Sealed hours", count(ledger.sealed_hours), ledger.export ? "in object storage" : "no export"),
  );
}

function usagePart(usage) {
  if (usage.series.length === 0) return empty("Nothing was recorded yet", "The first admitted request appears here.");
  const known = new Map(usage.series.map((point) => [new Date(point.start).getTime(), point]));
  const last = Math.floor(Date.now() / HOUR) * HOUR;
  return columnChart("Usage by the hour, the last 48", Array.from({ length: 48 }, (_, index) => {
    const start = last - (47 - index) * HOUR;
    const point = known.get(start);
    return { label: `${dayMonth(start)}, ${hourMinute(start)}`, short: hourMinute(start),
      value: Math.max(0, point?.total ?? 0), over: Math.max(0, point?.overage ?? 0) };
  }));
}

function sealingPart(ledger) {
  const closed = ledger.open_from;
  return h("div", { class: "stack" }, facts([
    ["Closed up to", closed ? h("span", { title: closed }, absolute(closed)) : "nothing yet"],
    ["Sealed to", ledger.export ? h("span", { class: "mono wrap" }, ledger.export) : "nowhere"],
    ledger.export && ["Waiting", ledger.unsealed_from ? h("span", {}, badge("waiting", "warn"), " since ", ago(ledger.unsealed_from)) : badge("all sealed", "good")],
    ["Node", h("span", { class: "mono" }, ledger.node)],
  ]), !ledger.export && h("p", { class: "hint" }, "Closed hours go to object storage if the policy says where:"),
  !ledger.export && command("ledger: {export: s3://my-bucket/sluicegate}"));
}

function chainPart(chain) {
  if (chain.problem) {
    return h("div", { class: "notice bad", role: "alert" }, h("p", { class: "strong" }, "The chain is damaged"), h("p", {}, chain.problem));
  }
  return h("div", { class: "stack" }, facts([
    ["Chain", badge("signed", "good")],
    ["Audit entries seen", count(chain.audit_entries)],
    ["Public key", h("span", { class: "row" }, h("span", { class: "mono" }, `${chain.public_key.slice(0, 16)}…`), copyButton(chain.public_key))],
  ]), h("p", { class: "hint" }, "Check every record and every signature, on the machine of the data:"), command("sluicegate audit verify"));
}

function driftPart(check) {
  if (!check) return h("p", { class: "muted" }, "Meters and records are compared now and then; not yet since the start.");
  return h("p", {}, check.drifting === 0 ? badge("they agree", "good") : badge("drift", "bad"), " ",
    `${count(check.quotas)} quotas were compared `, ago(check.at),
    check.drifting > 0 && `; ${count(check.drifting)} differ, by ${count(check.units)} units`, ".");
}

async function run(button, result) {
  button.disabled = true;
  show(result, loading());
  await tried(async () => {
    const found = await post("/admin/v1/usage/reconcile?against=meters");
    show(result, found.differences.length === 0
      ? empty("Meters and ledger agree", `${count(found.compared)} quotas were compared.`)
      : table("Differences", [
        { name: "Account", cell: (row) => row.account ?? "callers without a key" },
        { name: "Limit", cell: (row) => row.limit ?? "–" },
        { name: "Ledger", kind: "num", cell: (row) => count(row.ledger) },
        { name: "Meter", kind: "num", cell: (row) => count(row.other) },
      ], found.differences));
  }) || show(result);
  button.disabled = false;
}
