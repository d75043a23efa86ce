// Asking again every so often while a page is shown and seen, one question at a time.

/** Calls `work(signal)` now and then every `ms`. Returns {stop, now}. */
export function refresh(ms, work, failed) {
  let timer = null;
  let abort = null;
  let stopped = false;

  async function run() {
    clearTimeout(timer);
    abort?.abort();
    const mine = new AbortController();
    abort = mine;
    try {
      await work(mine.signal);
    } catch (error) {
      if (error.name !== "AbortError" && !stopped) failed?.(error);
    }
    if (!stopped && abort === mine) timer = setTimeout(tick, ms);
  }

  function tick() {
    if (document.hidden) timer = setTimeout(tick, ms);
    else run();
  }

  function stop() {
    stopped = true;
    clearTimeout(timer);
    abort?.abort();
  }

  const first = run();
  return { stop, now: run, first };
}
