// The keys of an account: made, given a new secret, revoked. A secret is shown once.

import { all, at, del, post } from "../api.js";
import { confirm, field, form, tell } from "../dialog.js";
import { h, show } from "../dom.js";
import { ago } from "../format.js";
import { badge, card, command, copyButton, empty, failed, loading } from "../parts.js";
import { table } from "../table.js";
import { tried } from "../toast.js";

/** {element, read}: the part of the page. */
export function keysPart(account) {
  const list = h("div", {}, loading());
  const create = h("button", { type: "button", class: "primary", onclick: () => createKey(account, read) }, "Create key");

  async function read() {
    try {
      const keys = await all(at`/admin/v1/accounts/${account}/keys`);
      const rank = (key) => (key.status === "active" ? 0 : 1);
      keys.sort((a, b) => rank(a) - rank(b));
      show(list, keys.length === 0 ? none(account) : keyTable(keys, read));
    } catch (error) {
      if (error.status !== 404) show(list, failed(error, read));
    }
  }
  read();
  return { element: card("Keys", list, create), read };
}

function none(account) {
  return empty("No keys yet", "Callers send a key with each request. Make one here, or with:",
    command(`sluicegate key create ${account} --name production`));
}

function keyTable(keys, read) {
  const kinds = { active: "good", expired: "warn", revoked: "" };
  return table("Keys", [
    { name: "Name", cell: (key) => h("span", {}, h("span", { class: "strong" }, key.name), h("span", { class: "muted mono" }, ` ${key.id}`)) },
    { name: "Status", cell: (key) => badge(key.status, kinds[key.status]) },
    { name: "Environment", cell: (key) => key.env },
    { name: "Scopes", cell: (key) => (key.scopes.length > 0 ? h("span", { class: "mono" }, key.scopes.join(" ")) : h("span", { class: "muted" }, "none")) },
    { name: "Restricted to", cell: (key) => restrictions(key) },
    { name: "Last used", kind: "num", cell: (key) => (key.last_used_at ? ago(key.last_used_at) : h("span", { class: "muted" }, "never")) },
    { name: "Created", kind: "num", cell: (key) => ago(key.created_at) },
    { name: "Ends", kind: "num", cell: (key) => (key.revoked_at ? h("span", {}, "revoked ", ago(key.revoked_at)) : ago(key.expires_at)) },
    { name: "Actions", kind: "act", cell: (key) => key.status === "active" && h("div", { class: "row end" },
      h("button", { type: "button", class: "small", "aria-label": `Rotate ${key.name}`, onclick: () => rotateKey(key, read) }, "Rotate"),
      h("button", { type: "button", class: "small danger-quiet", "aria-label": `Revoke ${key.name}`, onclick: () => revokeKey(key, read) }, "Revoke")) },
  ], keys);
}

/** What narrows a key below its account. */
function restrictions(key) {
  const limits = Object.entries(key.limits ?? {}).map(([name, value]) => `${name} ${typeof value === "object" ? Object.keys(value ?? {}).join(" ") : value}`);
  const parts = [...key.allowed_ips, ...key.allowed_origins, ...limits];
  return parts.length > 0 ? h("span", { class: "mono" }, parts.join(", ")) : h("span", { class: "muted" }, "nothing");
}

function createKey(account, read) {
  const name = h("input", { name: "name", required: true, maxlength: 200, autocomplete: "off", value: "production" });
  const env = h("select", { name: "env" }, h("option", { value: "live" }, "live"), h("option", { value: "test" }, "test"));
  const scopes = h("input", { name: "scopes", autocomplete: "off", spellcheck: "false" });
  const ends = h("input", { name: "expires_at", type: "date" });
  form("Create key", [
    field("Name", name, "What people call it."),
    h("div", { class: "pair" }, field("Environment", env), field("Expires", ends, "Never if it is empty.")),
    field("Scopes", scopes, "Separated by blanks; * admits everything. Only routes that demand a scope need one."),
  ], "Create", async (values) => {
    const body = { name: values.name, env: values.env };
    if (values.scopes) body.scopes = values.scopes.split(/\s+/);
    if (values.expires_at) body.expires_at = new Date(values.expires_at).toISOString();
    const made = await post(at`/admin/v1/accounts/${account}/keys`, body);
    read();
    showSecret("The key is made", made);
  });
}

function showSecret(title, made) {
  const secret = h("code", { class: "secret", id: "secret", tabindex: 0 }, made.key);
  return tell(title, h("div", { class: "stack" },
    h("p", {}, "Copy it now: it is shown this once. Only a hash of it is kept."),
    h("div", { class: "command" }, secret, copyButton(made.key)),
    h("p", { class: "muted" }, "Callers send it with each request, as ", h("code", {}, "X-API-Key: …"), " or ",
      h("code", {}, "Authorization: Bearer …"), ", as the policy says.")));
}

function rotateKey(key, read) {
  const overlap = h("select", { name: "overlap" }, [["0s", "ends at once"], ["1h", "lives for an hour"], ["24h", "lives for a day"],
    ["7d", "lives for a week"]].map(([value, text]) => h("option", { value, selected: value === "24h" }, text)));
  form(`Rotate ${key.name}`, [h("p", {}, "The key gets a new secret. Its id, its meters and its history stay."),
    field("The old secret", overlap)], "Rotate", async (values) => {
    const made = await post(at`/admin/v1/keys/${key.id}/rotate`, values);
    read();
    showSecret("The new secret", made);
  });
}

async function revokeKey(key, read) {
  const text = "Requests with it are refused from now on, on every node. This cannot be undone.";
  if (!await confirm(`Revoke ${key.name}?`, text, "Revoke key")) return;
  await tried(() => del(at`/admin/v1/keys/${key.id}`), `${key.name} is revoked.`);
  read();
}
