// What is around every page: navigation, the mode and alerts as they change, the theme, and signing out.

import { h, s, show } from "./dom.js";
import { get } from "./api.js";
import { listen } from "./stream.js";
import { refresh } from "./refresh.js";

const PAGES = [
  ["overview", "/", "Overview", "M3 12l4-5 3 3 5-7"],
  ["accounts", "/accounts", "Accounts", "M6 7a3 3 0 1 0 6 0 3 3 0 0 0-6 0M3 15c1-3 3-4 6-4s5 1 6 4"],
  ["tiers", "/tiers", "Tiers", "M3 5h12M3 9h8M3 13h5"],
  ["abuse", "/abuse", "Abuse", "M9 2l6 2v5c0 4-3 6-6 7-3-1-6-3-6-7V4z"],
  ["ledger", "/ledger", "Ledger", "M4 3h8l2 2v10H4zM7 8h4M7 11h4"],
  ["live", "/live", "Live", "M2 9h3l2-5 3 10 2-5h4"],
  ["explain", "/explain", "Explain", "M3 9a5 5 0 1 0 10 0 5 5 0 0 0-10 0M12 13l4 4"],
];

let ends = [];

/** Puts the shell around the pages. `leave()` signs out. */
export function showShell(leave) {
  hideShell();
  const links = new Map(PAGES.map(([name, href, text, icon]) => [name, h("a", { href }, glyph(icon), h("span", {}, text))]));
  const theme = h("button", { type: "button", class: "quiet", onclick: () => label(window.sluicegateTheme.toggle()) });
  const label = (now) => {
    const other = now === "dark" ? "light" : "dark";
    theme.setAttribute("aria-label", `Use the ${other} theme`);
    theme.title = `Use the ${other} theme`;
    show(theme, other === "dark" ? "☾" : "☀");
  };
  label(window.sluicegateTheme.now());
  const state = h("p", { class: "state", role: "status", "aria-live": "polite" });
  show(document.getElementById("shell"),
    h("header", { class: "top" },
      h("a", { class: "brand", href: "/" }, mark(), "Sluicegate"),
      state,
      h("div", { class: "row tools" }, theme,
        h("button", { type: "button", class: "quiet", onclick: leave }, "Sign out"))),
    h("nav", { "aria-label": "Pages" }, h("div", { class: "side" }, h("ul", {}, [...links.values()].map((link) => h("li", {}, link))),
      h("p", { class: "foot" }, h("a", { href: "/admin/v1/openapi.json", target: "_blank" }, "API description"),
        h("a", { href: "/metrics", target: "_blank" }, "Metrics")))));
  document.body.classList.add("signed-in");
  const mind = (event) => {
    for (const [name, link] of links) {
      if (name === event.detail) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const here = links.get(event.detail);
    here?.parentElement.parentElement.scrollTo({ left: here.offsetLeft - 40 });
  };
  document.addEventListener("sluicegate:page", mind);
  ends = [() => document.removeEventListener("sluicegate:page", mind), watch(state)];
}

/** Takes it away again. */
export function hideShell() {
  for (const end of ends) end();
  ends = [];
  document.getElementById("shell").replaceChildren();
  document.body.classList.remove("signed-in");
}

/** Keeps the state at the top right: spoken only when it changes. */
function watch(state) {
  let said = "";
  let known = { status: "ok", mode: "normal", firing: 0, rejected: false, away: false };
  const say = (news) => {
    known = { ...known, ...news };
    const words = [];
    if (known.away) words.push(["bad", "Server unreachable"]);
    if (known.mode === "degraded") words.push(["bad", "Degraded: store away"]);
    if (known.rejected) words.push(["warn", "Reload rejected"]);
    if (known.firing > 0) words.push(["warn", `${known.firing} alert${known.firing === 1 ? "" : "s"} firing`]);
    if (words.length === 0) words.push(known.status === "ok" ? ["good", "All is well"] : ["warn", "Look at /health"]);
    const next = words.join();
    if (next === said) return;
    said = next;
    show(state, words.map(([kind, text]) => h("a", { class: `badge ${kind}`, href: "/" }, h("i", { class: "dot" }), text)));
  };
  const asking = refresh(10_000, async (signal) => {
    const [health, overview] = await Promise.all([get("/health", signal), get("/admin/v1/overview?minutes=1", signal)]);
    say({ away: false, status: health.status, mode: health.store.mode, rejected: health.policy.rejected !== null,
      firing: overview.alerts_firing });
  }, (error) => say({ away: error.status === 0 }));
  const stop = listen({
    tick: (tick) => say({ mode: tick.mode ?? known.mode, away: false }),
    change: (change) => ["alert", "reload", "mode"].includes(change.what) && asking.now(),
  });
  return () => {
    asking.stop();
    stop();
  };
}

const glyph = (d) => s("svg", { viewBox: "0 0 18 18", "aria-hidden": "true" }, s("path", { d }));

const mark = () => h("img", { src: "/assets/icon.svg", width: 22, height: 22, alt: "" });
