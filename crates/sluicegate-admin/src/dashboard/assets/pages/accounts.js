// All accounts: found by a word, with their tier, what they used of their quota, and when it runs out.

import { all, at, get, post } from "../api.js";
import { bar } from "../charts/meter.js";
import { field, form } from "../dialog.js";
import { h, show } from "../dom.js";
import { ago, brief, count, percent } from "../format.js";
import { forecast, limitsOfTier, quotaOf } from "../forecast.js";
import { badge, card, command, empty, failed, head, loading } from "../parts.js";
import { go } from "../router.js";
import { table } from "../table.js";
import { tried } from "../toast.js";

const PAGE = 50;
const AT_ONCE = 6;

export function accountsPage(main) {
  let accounts = [];
  let tiers = [];
  let shown = PAGE;
  let left = false;
  const known = new Map();
  const search = h("input", { type: "search", placeholder: "Name, id or tier", "aria-label": "Search accounts",
    oninput: () => ((shown = PAGE), draw()) });
  const list = h("div", {}, loading());
  const total = h("span", { class: "muted", role: "status" });
  const create = h("button", { class: "primary", type: "button", onclick: createAccount }, "Create account");
  show(main, head("Accounts", "Who pays, and what they have left.", create), card("All accounts", list, total, search));

  function draw() {
    const word = search.value.trim().toLowerCase();
    const found = accounts.filter((account) =>
      [account.id, account.name, account.tier].some((text) => text.toLowerCase().includes(word)));
    show(total, `${count(found.length)} of ${count(accounts.length)}`);
    if (accounts.length === 0) return show(list, none());
    if (found.length === 0) return show(list, empty("No account is like that", "Search for a part of its name, its id or its tier."));
    const rows = found.slice(0, shown);
    show(list, table("Accounts", columns(known), rows), found.length > shown &&
      h("div", { class: "row center" }, h("button", { type: "button", onclick: () => ((shown += PAGE), draw()) }, "Show more")));
    learn(rows.filter((account) => !known.has(account.id)));
  }

  async function learn(missing) {
    const queue = [...missing];
    for (const account of queue) known.set(account.id, null);
    if (queue.length === 0) return;
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (let next = queue.shift(); next && !left; next = queue.shift()) known.set(next.id, await standing(next.id, tiers, next.tier));
    }));
    if (!left) draw();
  }

  async function read() {
    try {
      [accounts, tiers] = await Promise.all([all("/admin/v1/accounts"), get("/admin/v1/tiers").then((page) => page.items)]);
      if (!left) draw();
    } catch (error) {
      if (!left) show(list, failed(error, read));
    }
  }
  read();
  return { leave: () => (left = true) };
}

async function standing(id, tiers, tier) {
  try {
    const [limits, usage] = await Promise.all([get(at`/admin/v1/accounts/${id}/limits`),
      get(at`/admin/v1/usage?account=${id}&from=24h`)]);
    const quota = quotaOf(limits.items, limitsOfTier(tiers, tier));
    return { quota, lastDay: usage.total, forecast: forecast(quota, usage.total) };
  } catch {
    return { quota: null, lastDay: 0, forecast: { text: "–", kind: "none" } };
  }
}

function columns(known) {
  const wait = () => h("span", { class: "muted" }, "…");
  return [
    { name: "Account", cell: (account) => h("span", {}, h("a", { class: "strong", href: `/accounts/${encodeURIComponent(account.id)}` },
      account.name || account.id), account.name !== account.id && h("span", { class: "muted mono" }, ` ${account.id}`)) },
    { name: "Tier", cell: (account) => badge(account.tier) },
    { name: "Last 24 h", kind: "num", cell: (account) => (known.get(account.id) ? brief(known.get(account.id).lastDay) : wait()) },
    { name: "Quota", cell: (account) => {
      const quota = known.get(account.id)?.quota;
      if (!known.get(account.id)) return wait();
      if (!quota) return h("span", { class: "muted" }, "none");
      return h("span", { class: "usage" }, bar(quota.used, quota.limit, `Quota of ${account.id}`),
        h("span", { class: "num" }, percent(quota.used, quota.limit)));
    } },
    { name: "Forecast", cell: (account) => {
      const said = known.get(account.id)?.forecast;
      return said ? h("span", { class: `forecast ${said.kind}` }, said.text) : wait();
    } },
    { name: "Created", kind: "num", cell: (account) => ago(account.created_at) },
  ];
}

function none() {
  return empty("No accounts yet", "An account has a tier, and keys that callers send. Make one here, or with:",
    command("sluicegate account create \"Acme Ltd.\" --tier free --id acme"),
    h("button", { class: "primary", type: "button", onclick: createAccount }, "Create account"));
}

async function createAccount() {
  let tiers = [];
  if (!await tried(async () => (tiers = (await get("/admin/v1/tiers")).items))) return;
  const name = h("input", { name: "name", required: true, maxlength: 200, autocomplete: "off" });
  const id = h("input", { name: "id", maxlength: 64, autocomplete: "off", spellcheck: "false" });
  const tier = h("select", { name: "tier" }, tiers.map((one) => h("option", { value: one.name }, one.name)));
  const day = h("input", { name: "billing_day", type: "number", min: 1, max: 31 });
  const zone = h("input", { name: "timezone", autocomplete: "off", spellcheck: "false" });
  form("Create account", [
    field("Name", name, "What people call it."),
    field("Id", id, "Letters, digits, dots and dashes. A random one if it is empty."),
    field("Tier", tier),
    h("div", { class: "pair" }, field("Billing day", day, "1 to 31; the first if it is empty."),
      field("Time zone", zone, "Such as Europe/Berlin; UTC if it is empty.")),
  ], "Create", async (values) => {
    const body = { name: values.name, tier: values.tier };
    if (values.id) body.id = values.id;
    if (values.billing_day) body.billing_day = Number(values.billing_day);
    if (values.timezone) body.timezone = values.timezone;
    const made = await post("/admin/v1/accounts", body);
    go(`/accounts/${encodeURIComponent(made.id)}`);
  });
}
