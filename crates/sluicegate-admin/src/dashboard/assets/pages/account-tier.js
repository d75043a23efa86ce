// Changing the tier of an account: first what it would have left, then the change.

import { at, put } from "../api.js";
import { field, form } from "../dialog.js";
import { limitMeter } from "../charts/meter.js";
import { h, show } from "../dom.js";
import { loading } from "../parts.js";
import { toast } from "../toast.js";

/** Asks for the tier; `changed()` is called afterwards. */
export function changeTier(account, tiers, changed) {
  const preview = h("div", { class: "preview", "aria-live": "polite" });
  const tier = h("select", { name: "tier", onchange: () => look() },
    tiers.map((one) => h("option", { value: one.name, selected: one.name === account.tier }, one.name)));
  let asked = 0;

  async function look() {
    asked += 1;
    const mine = asked;
    show(preview, loading());
    try {
      const would = await put(at`/admin/v1/accounts/${account.id}/tier` + "?preview=true", { tier: tier.value });
      if (mine === asked) show(preview, previewPart(would));
    } catch (error) {
      if (mine === asked) show(preview, h("p", { class: "wrong" }, error.message));
    }
  }

  form(`Change the tier of ${account.id}`, [
    account.custom && h("p", { class: "wrong" }, "Its negotiated limits end with the change."),
    field("Tier", tier, "It applies to the next request. What was used stays counted."),
    h("h3", {}, "What would be left"), preview,
  ], "Change tier", async (values) => {
    await put(at`/admin/v1/accounts/${account.id}/tier`, { tier: values.tier });
    toast(`${account.id} is ${values.tier} now.`);
    changed();
  });
  look();
}

function previewPart(would) {
  const items = would.limits?.items ?? [];
  if (items.length === 0) return h("p", { class: "muted" }, "This tier has no limits.");
  return h("div", { class: "stack" }, items.slice(0, 8).map((limit) => limitMeter(limit)));
}
