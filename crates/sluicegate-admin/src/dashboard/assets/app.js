// Where it begins: who is signed in sees the pages, everybody else the sign-in.

import { onSignedOut, session, signOut } from "./api.js";
import { h, show } from "./dom.js";
import { empty, head } from "./parts.js";
import { draw, leave, start } from "./router.js";
import { hideShell, showShell } from "./shell.js";
import { signInPage } from "./pages/sign-in.js";
import { overviewPage } from "./pages/overview.js";
import { accountsPage } from "./pages/accounts.js";
import { accountPage } from "./pages/account.js";
import { tiersPage } from "./pages/tiers.js";
import { abusePage } from "./pages/abuse.js";
import { ledgerPage } from "./pages/ledger.js";
import { livePage } from "./pages/live.js";
import { explainPage } from "./pages/explain.js";

const ROUTES = [
  { name: "overview", pattern: /^\/$/, page: overviewPage },
  { name: "accounts", pattern: /^\/accounts$/, page: accountsPage },
  { name: "accounts", pattern: /^\/accounts\/([^/]+)$/, page: accountPage },
  { name: "tiers", pattern: /^\/tiers$/, page: tiersPage },
  { name: "abuse", pattern: /^\/abuse$/, page: abusePage },
  { name: "ledger", pattern: /^\/ledger$/, page: ledgerPage },
  { name: "live", pattern: /^\/live$/, page: livePage },
  { name: "explain", pattern: /^\/explain(?:\/([^/]+))?$/, page: explainPage },
];

let signedIn = false;

function enter() {
  signedIn = true;
  showShell(async () => {
    await signOut().catch(() => {});
    shut();
  });
  draw();
}

function shut(note) {
  if (signedIn) leave();
  signedIn = false;
  hideShell();
  signInPage(document.getElementById("main"), enter, note);
}

onSignedOut(() => {
  if (signedIn) shut("The session is over. Sign in again to go on.");
});

start(ROUTES);
try {
  if ((await session()).signed_in) enter();
  else shut();
} catch (error) {
  show(document.getElementById("main"), head("Sluicegate"), empty("The server cannot be reached", error.message,
    h("button", { type: "button", onclick: () => location.reload() }, "Try again")));
}
