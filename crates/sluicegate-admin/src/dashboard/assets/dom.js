// Making elements. Whatever is data becomes text, never markup.

import { mounted } from "./mount.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.setAttribute("class", value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    // Pages write our paths as they are at the root: no link can forget where the dashboard is mounted.
    else if ((name === "href" || name === "src") && value.startsWith("/")) node.setAttribute(name, mounted(value));
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** An element of HTML: h("p", {class: "muted"}, "text", …). */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An element of SVG. */
export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/** Puts these in the place of what a node holds. */
export function show(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}

let made = 0;

/** An id that no other element has. */
export function freshId(word) {
  made += 1;
  return `${word}-${made}`;
}
