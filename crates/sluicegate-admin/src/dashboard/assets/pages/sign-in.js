// Signing in with the admin token. Too many wrong ones have to wait, and see for how long.

import { signIn } from "../api.js";
import { field } from "../dialog.js";
import { h, show } from "../dom.js";
import { command } from "../parts.js";

/** Shows the form; `enter()` is called when somebody is signed in. */
export function signInPage(main, enter, note) {
  document.title = "Sign in · Sluicegate";
  const token = h("input", { name: "token", type: "password", autocomplete: "current-password", required: true,
    spellcheck: "false", autofocus: true });
  const button = h("button", { class: "primary", type: "submit" }, "Sign in");
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const form = h("form", { novalidate: true }, field("Admin token", token), wrong, button);
  let timer = null;

  function say(text) {
    wrong.hidden = false;
    show(wrong, text);
  }

  function wait(seconds) {
    clearInterval(timer);
    let left = seconds;
    const tell = () => {
      button.disabled = left > 0;
      show(button, left > 0 ? `Try again in ${left} s` : "Sign in");
      if (left <= 0) clearInterval(timer);
      left -= 1;
    };
    tell();
    timer = setInterval(tell, 1_000);
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (token.value.trim() === "") {
      say("Type the admin token.");
      return token.focus();
    }
    button.disabled = true;
    try {
      await signIn(token.value.trim());
      clearInterval(timer);
      enter();
    } catch (error) {
      button.disabled = false;
      if (error.status === 429) {
        say("Too many wrong tokens were sent, by you or by somebody else. The right one works at any time.");
        wait(error.retryAfter || 60);
      } else {
        say(error.status === 401 ? "That is not the admin token." : error.message);
      }
      token.select();
    }
  });
  // Who has the right one after all need not wait.
  token.addEventListener("input", () => {
    if (timer === null) return;
    clearInterval(timer);
    timer = null;
    button.disabled = false;
    show(button, "Sign in");
  });

  show(main, h("section", { class: "card narrow sign-in", "aria-label": "Sign in" },
    h("div", { class: "brand" }, h("img", { src: "/assets/icon.svg", width: 32, height: 32, alt: "" })),
    h("h1", {}, "Sign in to Sluicegate"), note && h("p", { class: "muted" }, note), form,
    h("details", {}, h("summary", {}, "Where is the token?"),
      h("p", { class: "muted" }, "It is the value of SLUICEGATE_ADMIN_TOKEN. If there was none when the server started, ",
        "the server made one and keeps it in its data directory:"),
      command("cat sluicegate-data/admin-token"))));
  token.focus();
}
