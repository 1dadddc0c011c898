// A form for values of a JSON Schema (draft-07). What the schema leaves open is written as JSON.

import { make, button } from "./shared.js";

/** A label with its control below it. */
export function labelled(text, control, hint) {
  const label = make("label", "field", make("span", "field-name", text), control);
  if (hint) label.append(make("small", "", hint));
  return label;
}

/** A value that cannot be read from a form. */
class Unreadable extends Error {}

/** A control for the parameters of an act. What a message holds has a form of its own, as soon as the message is named. */
export function formOfAct({ schema, forms = [] }) {
  return forms.length ? object(schema, schema.definitions ?? {}, forms) : formOf(schema);
}

/** A control for values of a schema: its element, and functions that read and write the value. Undefined is left out. */
export function formOf(schema, definitions = schema?.definitions ?? {}, name = "") {
  const own = resolve(schema, definitions);
  if (own.enum) return choice(own.enum, name);
  if (own.const !== undefined) return choice([own.const], name);
  switch (own.type) {
    case "object": return own.properties ? object(own, definitions) : json(name);
    case "array": return array(own, definitions, name);
    case "boolean": return choice([true, false], name);
    case "integer":
    case "number": return number(own, name);
    case "string": return text(name);
    default: return json(name);
  }
}

function resolve(schema, definitions) {
  const own = schema ?? {};
  if (own.allOf?.length === 1) return { ...resolve(own.allOf[0], definitions), ...own, allOf: undefined };
  const place = own.$ref?.split("/").at(-1);
  return place && definitions[place] ? definitions[place] : own;
}

function text(name) {
  const input = make("textarea", "text");
  input.rows = 1;
  return written(input, name);
}

/** A text for which some are known. */
function suggested(name, known) {
  const input = make("input", "text");
  input.type = "text";
  input.setAttribute("list", `known-${name}`);
  const list = make("datalist", "", ...known.map((one) => make("option", "", one)));
  list.id = `known-${name}`;
  const control = written(input, name);
  return { ...control, element: make("span", "suggested", input, list) };
}

function written(input, name) {
  input.name = name;
  input.spellcheck = false;
  let given = false;
  input.addEventListener("input", () => { given = true; });
  return {
    element: input,
    read: () => (input.value === "" && !given ? undefined : input.value),
    write(value) {
      given = value !== undefined;
      input.value = value ?? "";
      if (input.rows) input.rows = Math.min(8, input.value.split("\n").length);
    },
  };
}

/** What a message holds: by the form of the message that is named, or as JSON where there is none, or where the form cannot show it. */
function held(name, forms, named) {
  const free = json(name);
  const element = make("div", "held");
  let shown = free;
  const show = (form) => {
    shown = form;
    element.replaceChildren(form.element);
  };
  const write = (value) => {
    const form = forms.find((one) => one.name === named());
    if (form) {
      const own = formOf(form.schema);
      own.write(value);
      if (value === undefined || same(own.read() ?? {}, value)) return show(own);
    }
    free.write(value);
    return show(free);
  };
  show(free);
  return { element, read: () => shown.read(), write, renew: () => write(shown.read()) };
}

function same(one, other) {
  if (one === null || other === null || typeof one !== "object" || typeof other !== "object") return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => name in other && same(one[name], other[name]));
}

function number(schema, name) {
  const input = make("input");
  input.type = "number";
  input.name = name;
  input.step = schema.type === "integer" ? "1" : "any";
  if (schema.minimum !== undefined) input.min = schema.minimum;
  if (schema.maximum !== undefined) input.max = schema.maximum;
  return {
    element: input,
    read: () => (input.value === "" ? undefined : Number(input.value)),
    write(value) { input.value = value ?? ""; },
  };
}

function choice(values, name) {
  const select = make("select");
  select.name = name;
  select.append(make("option", "", "—"), ...values.map((value) => make("option", "", String(value))));
  return {
    element: select,
    read: () => (select.selectedIndex > 0 ? values[select.selectedIndex - 1] : undefined),
    write(value) { select.selectedIndex = values.findIndex((one) => one === value) + 1; },
  };
}

function json(name) {
  const input = make("textarea", "json");
  input.rows = 2;
  input.name = name;
  input.spellcheck = false;
  input.placeholder = "JSON";
  const read = () => {
    if (input.value.trim() === "") return undefined;
    try {
      return JSON.parse(input.value);
    } catch (error) {
      throw new Unreadable(`${name || "the value"} is no JSON: ${error.message}`);
    }
  };
  return {
    element: input,
    read,
    write(value) {
      input.value = value === undefined ? "" : JSON.stringify(value, null, 1);
      input.rows = Math.min(12, Math.max(2, input.value.split("\n").length));
    },
  };
}

function object(schema, definitions, forms = []) {
  const required = new Set(schema.required ?? []);
  const by = forms[0]?.by;
  const control = (name, inner) => {
    if (name === by) return suggested(name, forms.map((form) => form.name));
    const own = forms.filter((form) => form.of === name);
    return own.length ? held(name, own, () => fields.find((field) => field.name === by)?.form.read()) : formOf(inner, definitions, name);
  };
  const fields = Object.entries(schema.properties).map(([name, inner]) => {
    const form = control(name, inner);
    const hint = resolve(inner, definitions).description ?? inner.description ?? "";
    const label = `${name}${required.has(name) ? " (needed)" : ""}`;
    const nested = form.element.matches("fieldset, .items, .held");
    const element = nested ? make("fieldset", "field", make("legend", "field-name", label), form.element) : labelled(label, form.element, hint);
    return { name, form, element, needed: required.has(name) || Boolean(form.renew) };
  });
  const element = make("fieldset", "object");
  const rare = fields.filter((field) => !field.needed);
  const folded = make("details", "rest", make("summary", "", `${rare.length} more, not needed`), ...rare.map((field) => field.element));
  element.append(...fields.filter((field) => field.needed).map((field) => field.element));
  if ((rare.length > 4 || forms.length) && rare.length < fields.length) element.append(folded);
  else element.append(...rare.map((field) => field.element));
  const named = fields.find((field) => field.name === by);
  named?.element.addEventListener("change", () => fields.forEach(({ form }) => form.renew?.()));
  return {
    element,
    read() {
      const value = {};
      for (const { name, form } of fields) {
        const inner = form.read();
        if (inner !== undefined) value[name] = inner;
      }
      return Object.keys(value).length || required.size ? value : undefined;
    },
    write(value) {
      // What a message holds depends on which it is.
      named?.form.write(value?.[by]);
      for (const { name, form } of fields) if (name !== by) form.write(value?.[name]);
      folded.open = rare.some((field) => value?.[field.name] !== undefined);
    },
  };
}

function array(schema, definitions, name) {
  const box = make("div", "items");
  let items = [];
  const add = (value) => {
    const form = formOf(schema.items ?? {}, definitions, name);
    const line = make("div", "item", form.element, button("−", `Remove this item of ${name}`, () => {
      items = items.filter((item) => item.form !== form);
      line.remove();
    }));
    items.push({ form, line });
    form.write(value);
    box.insertBefore(line, more);
  };
  const more = button("add", `Add an item to ${name}`, () => add(undefined));
  box.append(more);
  return {
    element: box,
    read() {
      const values = items.map(({ form }) => form.read()).filter((value) => value !== undefined);
      return items.length ? values : undefined;
    },
    write(value) {
      items.forEach(({ line }) => line.remove());
      items = [];
      if (Array.isArray(value)) value.forEach(add);
    },
  };
}
