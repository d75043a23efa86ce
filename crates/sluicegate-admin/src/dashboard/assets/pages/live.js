// Decisions as they are made: paused, and filtered by a word or to refusals.

import { h, show } from "../dom.js";
import { brief, timeOfDay } from "../format.js";
import { badge, card, command, empty, head, shortId } from "../parts.js";
import { reasonClass, reasonText, refusedSum } from "../reasons.js";
import { listen } from "../stream.js";

const KEPT_MAX = 500;
const SHOWN_MAX = 100;
const STATES = { open: ["good", "Connected"], waiting: ["warn", "Connecting again…"], closed: ["", "Connecting…"] };

export function livePage(main) {
  const decisions = [];
  let paused = false;
  let missed = 0;
  let dirty = true;
  let opened = false;
  const state = h("span", { role: "status" });
  const rate = h("span", { class: "muted num" });
  const list = h("ol", { class: "stream", "aria-label": "Decisions, the newest first" });
  const note = h("div", {});
  const changes = h("ul", { class: "list", "aria-live": "polite" });
  const pause = h("button", { type: "button", "aria-pressed": "false", onclick: () => {
    paused = !paused;
    missed = 0;
    pause.setAttribute("aria-pressed", String(paused));
    dirty = true;
  } }, "Pause");
  const word = h("input", { type: "search", placeholder: "Account, path, reason…", "aria-label": "Filter", oninput: () => (dirty = true) });
  const only = h("input", { type: "checkbox", onchange: () => (dirty = true) });
  show(main, head("Live", "A sample of what is decided: at most 50 a second, refusals first.", pause),
    card("Decisions", h("div", {}, note, list), state, rate, h("label", { class: "check" }, only, "Refused only"), word),
    card("Changes", changes));
  show(changes, h("li", { class: "muted" }, "Reloads, accounts, keys, blocks and alerts are told here."));

  const fits = (one) => {
    if (only.checked && one.allowed) return false;
    const asked = word.value.trim().toLowerCase();
    return asked === "" || [one.account, one.client, one.tier, one.route, one.path, one.error, one.front, String(one.status)]
      .some((text) => text?.toLowerCase().includes(asked));
  };

  function draw() {
    if (!dirty) return;
    dirty = false;
    show(pause, paused ? `Go on${missed > 0 ? ` (${brief(missed)} new)` : ""}` : "Pause");
    const found = decisions.filter(fits).slice(0, SHOWN_MAX);
    show(list, found.map(line));
    if (found.length > 0) show(note);
    else if (decisions.length > 0) show(note, empty("Nothing fits the filter", "Decisions that do appear here."));
    else show(note, empty("Waiting for a decision", "Send a request, and it appears here:",
      command("curl -i -H \"X-API-Key: $KEY\" http://127.0.0.1:8080/")));
  }

  const timer = setInterval(draw, 250);
  const stop = listen({
    decision(one) {
      if (paused) {
        missed += 1;
      } else {
        decisions.unshift(one);
        decisions.length = Math.min(decisions.length, KEPT_MAX);
      }
      dirty = true;
    },
    tick: (tick) => show(rate, `${brief(tick.admitted + refusedSum(tick.refused))}/s`),
    change(change) {
      if (!opened) changes.replaceChildren();
      opened = true;
      changes.prepend(h("li", {}, badge(change.what), h("span", { class: "grow" }, change.text), h("span", { class: "muted num" }, timeOfDay(change.at))));
      while (changes.children.length > 20) changes.lastChild.remove();
    },
    state: (now) => show(state, badge(STATES[now][1], STATES[now][0])),
  });
  draw();
  return { leave: () => (clearInterval(timer), stop()) };
}

function line(one) {
  const who = one.account ? h("a", { href: `/accounts/${encodeURIComponent(one.account)}` }, one.account)
    : one.client ? shortId(one.client, `/abuse?client=${encodeURIComponent(one.client)}`) : h("span", { class: "muted" }, "unknown");
  const outcome = one.allowed ? h("span", { class: "outcome" }, h("i", { class: "swatch a0" }), "admitted")
    : h("a", { class: "outcome", href: `/explain/${encodeURIComponent(one.decision_id)}` }, h("i", { class: `swatch ${reasonClass(one.error)}` }),
      reasonText(one.error));
  return h("li", {}, h("span", { class: "muted num" }, timeOfDay(one.at)), outcome, h("span", { class: "num status" }, one.status), h("span", { class: "who" }, who),
    h("span", { class: "mono path" }, `${one.method} ${one.path}`), h("span", { class: "muted tier" }, one.tier ?? ""));
}
