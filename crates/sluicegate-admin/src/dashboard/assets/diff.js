// What changed between two texts, line by line, with a few lines around each change.

const AROUND = 2;
const LINES_MAX = 2_000;

/** [{kind: "same" | "new" | "old" | "gap", text}]; null if the texts are too long to compare here. */
export function diff(before, after) {
  const a = before.split("\n");
  const b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const middle = longest(a.slice(start, a.length - end), b.slice(start, b.length - end));
  if (!middle) return null;
  const same = (text) => ({ kind: "same", text });
  return shortened([...a.slice(0, start).map(same), ...middle, ...a.slice(a.length - end).map(same)]);
}

/** By the longest common part. */
function longest(a, b) {
  if (a.length > LINES_MAX || b.length > LINES_MAX) return null;
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1] + 1
        : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i] });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || best[(i + 1) * width + j] >= best[i * width + j + 1])) {
      lines.push({ kind: "old", text: a[i] });
      i += 1;
    } else {
      lines.push({ kind: "new", text: b[j] });
      j += 1;
    }
  }
  return lines;
}

/** Without the lines that are far from any change. */
function shortened(lines) {
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((l) => l.kind !== "same"));
  return lines.flatMap((line, at) => {
    if (near[at]) return [line];
    return at === 0 || near[at - 1] ? [{ kind: "gap", text: "⋯" }] : [];
  });
}
