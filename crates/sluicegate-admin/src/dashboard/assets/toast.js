// Short notes at the edge of the window, read out by screen readers, gone after a while.

import { h } from "./dom.js";

const SECONDS = 6;

/** Says something; `kind` is "good" or "bad". */
export function toast(text, kind = "good") {
  const note = h("div", { class: `toast ${kind}` }, text);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), SECONDS * 1_000);
}

/** Does something and says how it went; true if it went well. */
export async function tried(work, done) {
  try {
    await work();
    if (done) toast(done);
    return true;
  } catch (error) {
    toast(error.message, "bad");
    return false;
  }
}
