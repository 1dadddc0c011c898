// What every module of the page uses.

export const $ = (id) => document.getElementById(id);

/** An element with a class, a text and children. Texts never become markup. */
export function make(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

/** A button; `act` is done when it is pressed. */
export function button(text, label, act) {
  const element = make("button", "", text);
  element.type = "button";
  element.setAttribute("aria-label", label);
  element.addEventListener("click", act);
  return element;
}

/** A label with its control below it. */
export function labelled(text, control, hint) {
  const label = make("label", "field", make("span", "field-name", text), control);
  if (hint) label.append(make("small", "", hint));
  return label;
}

/** What would steer a reader's eye, shown instead. */
const STEERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
export const shown = (text) => text.replace(STEERS, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

export const counted = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;

export const clock = (micros) => (micros / 1e6).toFixed(6);

/** A span of microseconds as people say it. */
export function span(micros) {
  const n = Math.abs(micros);
  if (n < 1e3) return `${Math.round(micros)} µs`;
  if (n < 1e6) return `${(micros / 1e3).toFixed(n < 1e4 ? 2 : 1)} ms`;
  if (n < 6e7) return `${(micros / 1e6).toFixed(2)} s`;
  return `${Math.floor(micros / 6e7)} min ${Math.floor((micros / 1e6) % 60)} s`;
}

export function bytesOf(payload) {
  if (payload.text !== undefined) return new TextEncoder().encode(payload.text);
  const plain = atob(payload.base64 ?? "");
  return Uint8Array.from(plain, (c) => c.charCodeAt(0));
}

/** A button that copies a text. */
export function copyButton(name, text) {
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

/** A word for a shell. */
export const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;
