// What happens, as it happens: one connection for all who listen, made again when it breaks.

import { mounted } from "./mount.js";

const KINDS = ["decision", "tick", "change"];
const WAIT_FIRST = 1_000;
const WAIT_MAX = 30_000;

const listeners = new Set();
let source = null;
let timer = null;
let wait = WAIT_FIRST;
let state = "closed";

function tell(kind, value) {
  for (const listener of [...listeners]) listener[kind]?.(value);
}

function become(next) {
  if (state === next) return;
  state = next;
  tell("state", state);
}

function open() {
  clearTimeout(timer);
  source = new EventSource(mounted("/admin/v1/events"));
  source.onopen = () => {
    wait = WAIT_FIRST;
    become("open");
  };
  source.onerror = () => {
    // A browser gives up on some answers for good. We do not.
    source?.close();
    source = null;
    if (listeners.size === 0) return become("closed");
    become("waiting");
    timer = setTimeout(open, wait);
    wait = Math.min(wait * 2, WAIT_MAX);
  };
  for (const kind of KINDS) source.addEventListener(kind, (event) => tell(kind, JSON.parse(event.data)));
}

function close() {
  clearTimeout(timer);
  source?.close();
  source = null;
  become("closed");
}

/** Hears of things: {decision, tick, change, state}. Returns what ends it. */
export function listen(listener) {
  listeners.add(listener);
  if (!source && state !== "waiting") open();
  listener.state?.(state);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) close();
  };
}
