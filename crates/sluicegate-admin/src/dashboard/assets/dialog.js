// Dialogs: the browser keeps the focus inside and gives it back; Escape closes them.

import { freshId, h, show } from "./dom.js";

function open(title, body, buttons, options = {}) {
  const id = freshId("dialog");
  const box = h("dialog", { class: options.wide ? "wide" : "", "aria-labelledby": id },
    h("h2", { id }, title), body, buttons.length > 0 && h("div", { class: "row end" }, buttons));
  document.body.append(box);
  box.addEventListener("close", () => box.remove());
  box.showModal();
  return box;
}

/** Asks before something is done that cannot be undone. Resolves to whether it is wanted. */
export function confirm(title, text, action) {
  return new Promise((resolve) => {
    let wanted = false;
    const yes = h("button", { class: "danger", type: "button", onclick: () => ((wanted = true), box.close()) }, action);
    const no = h("button", { type: "button", autofocus: true, onclick: () => box.close() }, "Cancel");
    const box = open(title, h("p", {}, text), [no, yes]);
    box.addEventListener("close", () => resolve(wanted));
  });
}

/** A field with its label and what it is about. */
export function field(label, input, hint) {
  const id = freshId("field");
  input.id = id;
  if (hint) input.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", { class: "field" }, h("label", { for: id }, label), input,
    hint && h("p", { class: "hint", id: `${id}-hint` }, hint));
}

/**
 * A dialog with a form. `send(values)` is called with what was typed; if it fails, what it says stands in the dialog.
 */
export function form(title, fields, action, send, options = {}) {
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const submit = h("button", { class: "primary", type: "submit" }, action);
  const cancel = h("button", { type: "button", onclick: () => box.close() }, "Cancel");
  const body = h("form", { novalidate: true }, fields, wrong, h("div", { class: "row end" }, cancel, submit));
  const box = open(title, body, [], options);
  body.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      const values = Object.fromEntries([...new FormData(body)].map(([name, value]) => [name, value.trim()]));
      await send(values);
      box.close();
    } catch (error) {
      wrong.hidden = false;
      show(wrong, error.message);
      if (error.field) body.elements[error.field]?.focus();
    } finally {
      submit.disabled = false;
    }
  });
  return box;
}

/** Shows something to be read, with one button to go on. */
export function tell(title, body, action = "Done") {
  return new Promise((resolve) => {
    const done = h("button", { class: "primary", type: "button", onclick: () => box.close() }, action);
    const box = open(title, body, [done]);
    box.addEventListener("close", () => resolve());
  });
}
