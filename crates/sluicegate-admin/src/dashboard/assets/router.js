// From paths to pages, without loading anew: links, back and forward, and each address by itself.

import { mounted, unmounted } from "./mount.js";

let table = [];
let current = null;
let drawn = 0;

function match(pathname) {
  const path = unmounted(pathname);
  if (path === null) return null;
  for (const route of table) {
    const found = route.pattern.exec(path);
    if (found) return { route, params: found.slice(1).map((param) => param && decodeURIComponent(param)) };
  }
  return null;
}

/** Goes to another page. */
export function go(path, { replace = false } = {}) {
  const url = mounted(path);
  if (replace) history.replaceState(null, "", url);
  else if (url !== location.pathname + location.search) history.pushState(null, "", url);
  draw({ moved: true });
}

/** Draws the page of the address. */
export function draw({ moved = false } = {}) {
  current?.leave?.();
  current = null;
  drawn += 1;
  const mine = drawn;
  const main = document.getElementById("main");
  const found = match(location.pathname);
  main.replaceChildren();
  document.dispatchEvent(new CustomEvent("sluicegate:page", { detail: found?.route.name ?? "" }));
  const page = found ? found.route.page(main, ...found.params) : null;
  if (mine !== drawn) return page?.leave?.();
  current = page;
  const title = main.querySelector("h1")?.textContent ?? "Not found";
  document.title = `${title} · Sluicegate`;
  if (moved) {
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

/** Ends what the page does by itself. */
export function leave() {
  current?.leave?.();
  current = null;
}

/** Follows links of ours from now on. */
export function start(routes) {
  table = routes;
  addEventListener("popstate", () => draw({ moved: true }));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || url.hash || !match(url.pathname)) return;
    event.preventDefault();
    go(unmounted(url.pathname) + url.search);
  });
}
