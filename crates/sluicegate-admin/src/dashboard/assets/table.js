// Tables: rows as lines on a desktop, as small cards on a phone. Every cell knows the name of its column.

import { h } from "./dom.js";

/**
 * A table. `columns` are {name, cell(row), kind}: `kind` is "num" for numbers, "act" for buttons. One that looks
 * "small" stays a table on a phone.
 */
export function table(caption, columns, rows, look = "") {
  const head = columns.map((column) =>
    h("th", { scope: "col", class: column.kind ?? "" },
      column.kind === "act" ? h("span", { class: "sr" }, column.name) : column.name));
  const body = rows.map((row) => h("tr", {}, columns.map((column) =>
    h("td", { class: column.kind ?? "", "data-name": column.kind === "act" ? null : column.name }, column.cell(row)))));
  return h("div", { class: `scroll ${look}` }, h("table", {}, h("caption", { class: "sr" }, caption),
    h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

/** A table for screen readers only: what a chart shows. */
export function hiddenTable(caption, names, rows) {
  return h("div", { class: "sr" }, h("table", {}, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, at) =>
      at === 0 ? h("th", { scope: "row" }, cell) : h("td", {}, cell)))))));
}
