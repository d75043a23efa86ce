// The mount path: "" at the root of a server, "/ops" in an application that nests the dashboard there.
//
// It is taken from the URL of this script, so that it is the path that the browser sees.

const prefix = new URL("..", import.meta.url).pathname.replace(/\/$/, "");
// Of "/ops" and "/ops/" an application may route one only: the server says which.
const home = prefix + (document.documentElement.dataset.home ?? "/") || "/";

// At the root its URL is relative, and browsers resolve it again whenever the address changes.
for (const icon of document.querySelectorAll("link[rel=icon]")) icon.href = mounted("/assets/icon.svg");

/** The URL of one of our paths: "/accounts" becomes "/ops/accounts". */
export function mounted(path) {
  return path === "/" ? home : prefix + path;
}

/** Our path of a URL's path, or null if it is a path of the host application: "/ops/accounts" becomes "/accounts". */
export function unmounted(pathname) {
  if (pathname === prefix) return "/";
  return pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : null;
}
