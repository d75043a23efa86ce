// Parts that pages have in common: headings, cards, figures, badges, commands to copy, and what stands where nothing is.

import { h } from "./dom.js";
import { toast } from "./toast.js";

/** The head of a page: its title, what it is about, and what can be done. */
export function head(title, about, ...actions) {
  return h("header", { class: "head" },
    h("div", {}, h("h1", {}, title), about && h("p", { class: "muted" }, about)),
    actions.length > 0 && h("div", { class: "row" }, actions));
}

/** A part of a page with a heading. */
export function card(title, body, ...aside) {
  return h("section", { class: "card", "aria-label": title },
    h("div", { class: "card-head" }, h("h2", {}, title), aside.length > 0 && h("div", { class: "row" }, aside)), body);
}

/** One number that matters. */
export function figure(label, value, note, kind = "") {
  return h("div", { class: `figure ${kind}` }, h("dt", {}, label), h("dd", {}, value),
    h("dd", { class: "note" }, note ?? "\u00a0"));
}

/** Several of them. */
export const figures = (...all) => h("dl", { class: "figures" }, all);

/** A word in a pill. */
export const badge = (text, kind = "") => h("span", { class: `badge ${kind}` }, text);

/** Names and values, one under the other. */
export function facts(rows) {
  return h("dl", { class: "facts" },
    rows.filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** A button that copies a text. */
export function copyButton(text, label = "Copy") {
  return h("button", { type: "button", class: "small", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied.");
    } catch {
      toast("The browser does not let us copy: select the text instead.", "bad");
    }
  } }, label);
}

/** A command to be typed. */
export function command(text) {
  return h("div", { class: "command" }, h("pre", { tabindex: 0 }, text), copyButton(text, "Copy"));
}

/** What stands where nothing is yet: why, and what to do next. */
export function empty(title, text, ...more) {
  return h("div", { class: "empty" }, h("p", { class: "strong" }, title), h("p", { class: "muted" }, text), more);
}

/** That something could not be read, and a way to try again. */
export function failed(error, again) {
  return h("div", { class: "empty", role: "alert" }, h("p", { class: "strong" }, "This could not be read"),
    h("p", { class: "muted" }, error.message),
    again && h("button", { type: "button", onclick: again }, "Try again"));
}

/** While something is read. */
export const loading = () => h("p", { class: "muted loading" }, "Reading…");

/** A long id that can be told apart by its first characters. */
export function shortId(id, href) {
  const text = id.length > 20 ? `${id.slice(0, 14)}…` : id;
  const props = { class: "mono", title: id };
  return href ? h("a", { ...props, href }, text) : h("span", props, text);
}
