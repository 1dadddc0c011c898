// What every page uses: elements, numbers and texts as people read them.

const $ = (id) => document.getElementById(id);

/** An element with a class, a text and children. Texts never become markup. */
function make(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

/** A button; `act` is done when it is pressed. */
function button(text, label, act) {
  const element = make("button", "", text);
  element.type = "button";
  element.setAttribute("aria-label", label);
  element.addEventListener("click", act);
  return element;
}

/** A button that copies a text. */
function copyButton(name, text) {
  return button(name, name === "copy" ? "Copy" : `Copy as ${name}`, async (event) => {
    const element = event.currentTarget;
    const before = element.textContent;
    try {
      await navigator.clipboard.writeText(text());
      element.textContent = "copied";
    } catch {
      element.textContent = "not allowed here";
    }
    setTimeout(() => { element.textContent = before; }, 1500);
  });
}

/** What would steer a reader's eye, shown instead. */
const STEERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const shown = (text) => text.replace(STEERS, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

const counted = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;

const clock = (micros) => (micros / 1e6).toFixed(6);

/** A span of microseconds as people say it. */
function span(micros) {
  const n = Math.abs(micros);
  if (n < 1e3) return `${Math.round(micros)} µs`;
  if (n < 1e6) return `${(micros / 1e3).toFixed(n < 1e4 ? 2 : 1)} ms`;
  if (n < 6e7) return `${(micros / 1e6).toFixed(2)} s`;
  return `${Math.floor(micros / 6e7)} min ${Math.floor((micros / 1e6) % 60)} s`;
}

/** The bytes of a text in base64. */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const plain = atob(text);
  const bytes = new Uint8Array(plain.length);
  for (let n = 0; n < plain.length; n++) bytes[n] = plain.charCodeAt(n);
  return bytes;
}

/** The levels of requirements, the gravest first. */
const LEVELS = ["must", "should", "may"];

/** Light where it was dark, dark where it was light. */
function switchTheme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  colours.forget();
}

/** The theme that the user's system has. */
function systemTheme() {
  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Lists keys in the help: each entry has the names of its keys, its meaning, and what it does. */
function describeKeys(keys) {
  $("help-keys").replaceChildren(...keys.flatMap(([names, what]) => {
    const marks = names.map((name) => make("kbd", "", name === " " ? "Space" : name));
    return [make("dt", "", ...marks.flatMap((key, n) => (n ? [" ", key] : [key]))), make("dd", "", what)];
  }));
}

/** Lets the user drag the line between the list and `pane`, and move it by arrow keys. */
function splits(pane, least, rest) {
  const split = $("split");
  const width = (pixels) => {
    const within = Math.max(least, Math.min(innerWidth - rest, pixels));
    document.documentElement.style.setProperty("--detail", `${within}px`);
  };
  split.addEventListener("pointerdown", (event) => split.setPointerCapture(event.pointerId));
  split.addEventListener("pointermove", (event) => split.hasPointerCapture(event.pointerId) && width(innerWidth - event.clientX));
  split.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: 40, ArrowRight: -40 }[event.key];
    if (by) width(pane.clientWidth + by);
  });
}
