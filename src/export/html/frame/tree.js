// JSON that folds.

/** Lists and objects with more entries show so many at a time. */
const ENTRIES = 200;

/** A value as a tree; `open`: how many levels are unfolded; `hit`: the JSON pointer that is marked. */
function tree(value, open, hit, key, pointer = "") {
  const name = key === undefined ? [] : [make("span", "k", shown(JSON.stringify(key))), ": "];
  const marked = hit !== undefined && hit === pointer ? " hit" : "";
  if (value === null || typeof value !== "object") {
    return make("div", `leaf${marked}`, ...name, leaf(value));
  }
  const entries = Array.isArray(value) ? value.map((item, n) => [n, item]) : Object.entries(value);
  const [left, right] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (!entries.length) return make("div", `leaf${marked}`, ...name, `${left}${right}`);
  const element = make("details", marked.trim());
  const size = Array.isArray(value) ? counted(entries.length, "item") : counted(entries.length, "key");
  element.append(make("summary", "", ...name, left, make("span", "dim", ` ${size} `), right));
  let filled = 0;
  const more = () => {
    const part = entries.slice(filled, filled + ENTRIES);
    filled += part.length;
    for (const [k, item] of part) {
      const step = `${pointer}/${String(k).replaceAll("~", "~0").replaceAll("/", "~1")}`;
      element.append(tree(item, open - 1, hit, Array.isArray(value) ? undefined : k, step));
    }
    if (filled < entries.length) {
      const button = make("button", "", `${(entries.length - filled).toLocaleString("en")} more`);
      button.type = "button";
      button.addEventListener("click", () => { button.remove(); more(); });
      element.append(button);
    }
  };
  const fill = () => { if (!filled) more(); };
  element.addEventListener("toggle", () => element.open && fill());
  if (open > 0 || (hit !== undefined && hit.startsWith(`${pointer}/`))) {
    fill();
    element.open = true;
  }
  return element;
}

function leaf(value) {
  if (typeof value === "string") return make("span", "s", shown(JSON.stringify(value)));
  if (typeof value === "number") return make("span", "n", String(value));
  return make("span", "w", String(value));
}

/** Folds or unfolds everything in an element. */
function foldAll(element, open) {
  // What is unfolded brings more of it into the document: bounded, so that no page hangs.
  for (let round = 0, done = 0; round < 100 && done < 5000; round++) {
    const some = [...element.querySelectorAll("details")].filter((one) => one.open !== open).slice(0, 500);
    if (!some.length) return;
    done += some.length;
    for (const one of some) {
      one.open = open;
      if (open) one.dispatchEvent(new Event("toggle"));
    }
  }
}

/** Bytes as digits and characters, sixteen a line; at most so many at a time. */
function hexDump(bytes) {
  const box = make("div", "hex");
  const MOST = 4096;
  const add = (from) => {
    const lines = [];
    for (let n = from; n < Math.min(bytes.length, from + MOST); n += 16) {
      const part = bytes.subarray(n, n + 16);
      const digits = [...part].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
      const text = [...part].map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
      lines.push(`${n.toString(16).padStart(6, "0")}  ${digits.padEnd(47)}  ${text}`);
    }
    box.append(make("div", "", lines.join("\n")));
    if (from + MOST < bytes.length) {
      const button = make("button", "", counted(bytes.length - from - MOST, "more byte"));
      button.type = "button";
      button.addEventListener("click", () => { button.remove(); add(from + MOST); });
      box.append(button);
    }
  };
  add(0);
  return box;
}
