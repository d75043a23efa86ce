// When a quota runs out, if its account goes on as it did in the last day: plain arithmetic, said as such.

import { relative } from "./format.js";

const DAY = 86_400_000;

/** The limits of a tier by their names; null if it is not known, as negotiated ones are not. */
export function limitsOfTier(tiers, name) {
  const tier = tiers.find((one) => one.name === name);
  return tier ? new Map(tier.limits.map((limit) => [limit.name, limit])) : null;
}

/** The quota among some limits: the one that is used most. `of` are those of the tier. */
export function quotaOf(limits, of) {
  const quotas = limits.filter((limit) => (of ? of.get(limit.name)?.axis === "quota" : limit.name === "quota"));
  const share = (limit) => (limit.limit > 0 ? limit.used / limit.limit : 0);
  const most = quotas.sort((a, b) => share(b) - share(a))[0];
  return most ? { ...most, billed: of?.get(most.name)?.on_exceeded === "bill_overage" } : null;
}

/** {text, kind}: what is to be expected, from what was used in the last 24 hours. */
export function forecast(quota, usedLastDay, now = Date.now()) {
  if (!quota) return { text: "no quota", kind: "none" };
  const reset = now + quota.reset_ms;
  if (quota.billed && quota.used >= quota.limit) return { text: "beyond it; more is billed", kind: "near" };
  if (quota.remaining === 0) return { text: `spent; more ${relative(reset, now)}`, kind: "full" };
  if (!(usedLastDay > 0)) return { text: "not used lately", kind: "none" };
  const ends = now + (quota.remaining / usedLastDay) * DAY;
  if (ends >= reset) return { text: `lasts until it resets ${relative(reset, now)}`, kind: "calm" };
  return { text: `runs out ${relative(ends, now)}`, kind: "near" };
}
