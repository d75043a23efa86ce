// Why requests are refused: words and a colour for each error code. The order is that of the layers of a chart.

const KNOWN = {
  rate_limited: ["Rate limited", "r1"],
  quota_exceeded: ["Quota spent", "r2"],
  concurrency_limited: ["Too many at once", "r3"],
  blocked: ["Blocked", "r4"],
  overloaded: ["Shed, overloaded", "r5"],
  invalid_key: ["Invalid key", "r6"],
  missing_key: ["No key", "r6"],
  insufficient_scope: ["Scope missing", "r6"],
  ambiguous_key: ["Two keys", "r6"],
  cost_exceeds_limit: ["Cost too large", "r3"],
  unavailable: ["Undecidable", "r5"],
  idempotency_conflict: ["Name used twice", "r6"],
  invalid_idempotency_key: ["Bad request name", "r6"],
  address_not_allowed: ["Address not allowed", "r6"],
  origin_not_allowed: ["Origin not allowed", "r6"],
};

/** What people call it. */
export const reasonText = (code) => KNOWN[code]?.[0] ?? String(code ?? "refused").replaceAll("_", " ");

/** The class of its colour. */
export const reasonClass = (code) => KNOWN[code]?.[1] ?? "r6";

/** The codes of some counts that are not all zero, in the order of layers. */
export function presentReasons(counts) {
  const order = Object.keys(KNOWN);
  const place = (code) => (order.indexOf(code) + order.length + 1) % (order.length + 1);
  const seen = new Set(counts.flatMap((refused) => Object.keys(refused).filter((code) => refused[code] > 0)));
  return [...seen].sort((a, b) => place(a) - place(b));
}

/** All refusals of a point. */
export const refusedSum = (refused) => Object.values(refused ?? {}).reduce((sum, value) => sum + value, 0);
