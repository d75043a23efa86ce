// Asking the admin API: the cookie goes along by itself, the word against forged requests is sent with every change.

import { mounted } from "./mount.js";

let csrf = null;
let whenSignedOut = () => {};

/** A refusal of the API, as its problem document tells it. */
export class ApiError extends Error {
  constructor(status, problem, retryAfter) {
    super(problem?.detail ?? `The server answered ${status}.`);
    this.status = status;
    this.code = problem?.error ?? "";
    this.field = problem?.field ?? "";
    this.problems = problem?.problems ?? [];
    this.retryAfter = retryAfter;
  }
}

/** Called whenever the session turns out to be over. */
export function onSignedOut(callback) {
  whenSignedOut = callback;
}

async function call(method, path, body, signal) {
  const headers = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (method !== "GET" && csrf) headers["x-sluicegate-csrf"] = csrf;
  let response;
  try {
    response = await fetch(mounted(path), {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { detail: "The server cannot be reached." });
  }
  const text = await response.text();
  let value = null;
  try {
    value = text === "" ? null : JSON.parse(text);
  } catch {
    value = null;
  }
  if (response.ok) return value;
  const problem = new ApiError(response.status, value, Number(response.headers.get("retry-after")) || 0);
  if (response.status === 401 && path !== "/admin/session") {
    csrf = null;
    whenSignedOut();
  }
  throw problem;
}

export const get = (path, signal) => call("GET", path, undefined, signal);
export const post = (path, body) => call("POST", path, body);
export const put = (path, body) => call("PUT", path, body);
export const del = (path) => call("DELETE", path);

/** A path with its parts made safe: at`/admin/v1/accounts/${id}`. */
export function at(texts, ...values) {
  return texts.reduce((path, text, i) => path + encodeURIComponent(values[i - 1]) + text);
}

/** Every page of a list, up to so many entries. */
export async function all(path, max = 2_000, signal) {
  const items = [];
  let cursor = null;
  do {
    const joint = path.includes("?") ? "&" : "?";
    const from = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await get(`${path}${joint}limit=500${from}`, signal);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== null && items.length < max);
  return items;
}

/** Whether somebody is signed in. */
export async function session() {
  const found = await get("/admin/session");
  csrf = found.csrf;
  return found;
}

export async function signIn(token) {
  const opened = await post("/admin/session", { token });
  csrf = opened.csrf;
  return opened;
}

export async function signOut() {
  await del("/admin/session");
  csrf = null;
}
