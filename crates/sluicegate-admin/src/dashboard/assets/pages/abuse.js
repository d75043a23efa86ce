// Callers that misbehave: who is blocked, whose addresses are squeezed, how reputations are spread, and one client.

import { all, at, del, get, post } from "../api.js";
import { limitMeter } from "../charts/meter.js";
import { confirm, field, form } from "../dialog.js";
import { h, show } from "../dom.js";
import { ago, count, percent } from "../format.js";
import { badge, card, command, empty, facts, failed, head, loading, shortId } from "../parts.js";
import { mounted } from "../mount.js";
import { refresh } from "../refresh.js";
import { go } from "../router.js";
import { listen } from "../stream.js";
import { table } from "../table.js";
import { toast, tried } from "../toast.js";

const BUCKETS = [["low", "good"], ["medium", ""], ["high", "warn"], ["critical", "bad"]];

export function abusePage(main) {
  const asked = new URLSearchParams(location.search).get("client") ?? "";
  const blocks = h("div", {}, loading());
  const squeezed = h("div", {}, loading());
  const reputations = h("div", {}, loading());
  const client = h("div", {});
  const add = h("button", { type: "button", class: "primary", onclick: () => block({}, () => asking.now()) }, "Block a caller");
  const id = h("input", { name: "client", type: "search", value: asked, placeholder: "cl_…", "aria-label": "The id of a client",
    spellcheck: "false", autocomplete: "off" });
  const look = h("form", { class: "row", role: "search", onsubmit: (event) => {
    event.preventDefault();
    go(`/abuse?client=${encodeURIComponent(id.value.trim())}`);
  } }, id, h("button", { type: "submit" }, "Look up"));
  show(main, head("Abuse", "Callers that misbehave, and what is done about them.", add),
    h("div", { class: "columns" }, card("Blocked", blocks), card("A client", client, look)),
    h("div", { class: "columns" }, card("Requests by reputation", reputations), card("Squeezed addresses", squeezed)));

  const asking = refresh(5_000, async (signal) => {
    const [blocked, pressed, metrics] = await Promise.all([all("/admin/v1/blocks", 500, signal),
      get("/admin/v1/pressure?limit=100", signal), fetch(mounted("/metrics"), { signal }).then((answer) => answer.text())]);
    show(blocks, blockTable(blocked, () => asking.now()));
    show(squeezed, pressureTable(pressed.items));
    show(reputations, reputationPart(metrics));
  }, (error) => show(blocks, failed(error, () => asking.now())));

  async function readClient() {
    if (asked === "") {
      return show(client, empty("Nobody is looked at", "The id of a client stands in the live view, in explanations and in the list of blocks. " +
        "It is a keyed hash: no address is kept."));
    }
    show(client, loading());
    try {
      show(client, clientPart(await get(at`/admin/v1/clients/${asked}`), () => (readClient(), asking.now())));
    } catch (error) {
      show(client, error.status === 404 ? empty("There is no such client", error.message) : failed(error, readClient));
    }
  }
  readClient();
  const stop = listen({ change: (change) => change.what === "block" && asking.now() });
  return { leave: () => (asking.stop(), stop()) };
}

function blockTable(items, read) {
  if (items.length === 0) {
    return empty("Nobody is blocked", "Callers are blocked by themselves when they are refused too often, or by you:",
      command("sluicegate block add cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0 --for 24h"));
  }
  return table("Blocks", [
    { name: "Caller", cell: (item) => shortId(item.id, item.kind === "client" ? `/abuse?client=${encodeURIComponent(item.id)}` : null) },
    { name: "By", cell: (item) => badge(item.origin === "manual" ? "you" : "itself", item.origin === "manual" ? "" : "warn") },
    { name: "Reason", cell: (item) => item.reason ?? h("span", { class: "muted" }, "refused too often") },
    { name: "Ends", kind: "num", cell: (item) => ago(item.until) },
    { name: "Actions", kind: "act", cell: (item) =>
      h("button", { type: "button", class: "small", "aria-label": `Lift the block of ${item.id}`, onclick: () => lift(item.id, read) }, "Lift") },
  ], items);
}

async function lift(id, read) {
  const text = "The caller is let in again within a second. What made it be blocked is not forgotten.";
  if (!await confirm("Lift the block?", text, "Lift block")) return;
  await tried(() => del(at`/admin/v1/blocks/${id}`), "The block is lifted.");
  read();
}

function block(known, read) {
  const who = h("input", { name: "who", required: true, value: known.client ?? "", spellcheck: "false", autocomplete: "off" });
  const length = h("select", { name: "for" }, [["10m", "10 minutes"], ["1h", "an hour"], ["24h", "a day"], ["7d", "a week"], ["30d", "30 days"],
    ["365d", "a year"]].map(([value, text]) => h("option", { value, selected: value === "1h" }, text)));
  const reason = h("input", { name: "reason", maxlength: 200, autocomplete: "off" });
  form("Block a caller", [
    field("Client or key", who, "A client (cl_…), or the id of a key. Every node refuses it within a second."),
    field("For", length), field("Reason", reason, "For whoever reads the list."),
  ], "Block", async (values) => {
    const body = { [values.who.startsWith("cl_") ? "client" : "key"]: values.who, for: values.for };
    if (values.reason) body.reason = values.reason;
    await post("/admin/v1/blocks", body);
    toast("It is blocked.");
    read();
  });
}

function pressureTable(items) {
  if (items.length === 0) {
    return empty("No address is squeezed", "Clients without a session share one meter per limit behind an address with too many fingerprints, " +
      "unless the policy says “pressure: off”.");
  }
  return table("Addresses under pressure", [
    { name: "Address, as a hash", cell: (item) => h("span", { class: "mono" }, item.address) },
    { name: "Fingerprints", kind: "num", cell: (item) => count(item.fingerprints) },
    { name: "Ends", kind: "num", cell: (item) => ago(item.until) },
  ], items);
}

function reputationPart(metrics) {
  const found = [...metrics.matchAll(/^sluicegate_reputation_total\{bucket="(\w+)"\} (\d+)$/gm)];
  const counts = new Map(found.map(([, bucket, value]) => [bucket, Number(value)]));
  const sum = [...counts.values()].reduce((a, b) => a + b, 0);
  if (sum === 0) return empty("No reputation is kept", "Say “reputation” in the policy, and requests are counted here by how bad their callers are.");
  return h("ul", { class: "spread" }, BUCKETS.map(([bucket, kind]) => {
    const value = counts.get(bucket) ?? 0;
    const level = h("span", { class: `level ${kind}` });
    level.style.width = `${(100 * value) / sum}%`;
    return h("li", {}, h("span", {}, `${bucket} risk`), h("span", { class: "meter", "aria-hidden": "true" }, level),
      h("span", { class: "num" }, count(value)), h("span", { class: "num muted" }, percent(value, sum)));
  }));
}

function clientPart(client, read) {
  const { reputation, strikes, block: blocked, pressure } = client;
  const kind = reputation && BUCKETS.find(([bucket]) => bucket === reputation.bucket)?.[1];
  return h("div", { class: "stack" }, facts([
    ["Client", h("span", { class: "mono wrap" }, client.id)],
    ["Tier", badge(client.tier)],
    reputation && ["Reputation", h("span", {}, `${reputation.score} of 100 `, badge(`${reputation.bucket} risk`, kind),
      reputation.limits_percent < 100 && ` ${reputation.limits_percent} % of its limits`)],
    strikes && ["Refusals towards a block", `${count(strikes.count)} of ${count(strikes.limit)}`],
    ["Blocked", blocked ? h("span", {}, "ends ", ago(blocked.until)) : "no"],
    pressure && ["Address", h("span", {}, h("span", { class: "mono" }, pressure.address), pressure.squeezed && badge("squeezed", "warn"))],
  ]), client.limits.map((limit) => limitMeter(limit)), h("div", { class: "row" },
    blocked ? h("button", { type: "button", onclick: () => lift(client.id, read) }, "Lift block")
      : h("button", { type: "button", onclick: () => block({ client: client.id }, read) }, "Block"),
    h("button", { type: "button", class: "danger-quiet", onclick: () => forget(client.id, read) }, "Forget what is held against it")));
}

async function forget(id, read) {
  if (!await confirm("Forget it all?", "Its reputation is as everybody's at first, and its block is lifted.", "Forget")) return;
  await tried(() => del(at`/admin/v1/clients/${id}/reputation`), "Nothing is held against it any more.");
  read();
}
