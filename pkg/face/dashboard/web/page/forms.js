// Forms that call verbs. Each says which command it is.
import { h } from "./dom.js";
import { post } from "./live.js";

let number = 0;

// form asks for what a verb needs and calls it. fields: {name, label, rows, value, optional}.
export function form({ path, body, fields = [], submit, done, kind = "", after, cancel }) {
  const inputs = fields.map((f) => {
    const id = `field-${++number}`;
    const props = { id, name: f.name, value: f.value ?? "", required: !f.optional, dir: "auto" };
    const input = f.rows ? h("textarea", { ...props, rows: f.rows }) : h("input", { ...props, type: f.type ?? "text" });
    return { ...f, input, row: h("div", { class: "field" }, h("label", { for: id }, f.label), input) };
  });
  const send = h("button", { class: `act ${kind}` }, submit);
  const e = h("form", { class: "verb", "data-cancel": cancel ? true : null,
    onsubmit: async (event) => {
      event.preventDefault();
      if (document.body.classList.contains("is-past")) return;
      send.disabled = true;
      const values = Object.fromEntries(inputs.map((i) => [i.name, i.input.value.trim()]));
      const said = await post(path, typeof body === "function" ? body(values) : { ...values, ...body }, done);
      send.disabled = false;
      if (said) { for (const i of inputs) i.input.value = ""; after?.(said); e.dispatchEvent(new Event("sent", { bubbles: true })); }
    },
    oncancel: cancel,
    onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) e.requestSubmit(); },
  }, inputs.map((i) => i.row), h("div", { class: "buttons" }, send, cancel ? h("button", { type: "button", class: "quiet", onclick: cancel }, "Cancel") : null));
  return e;
}

// question is a form over the page. Escape and Cancel close it, and nothing is done.
export function question(title, about, what) {
  const id = `question-${++number}`, e = h("dialog", { "aria-labelledby": id });
  e.append(h("h2", { id }, title), h("p", {}, about), form({ ...what, after: () => e.close(), cancel: () => e.close() }));
  e.addEventListener("close", () => e.remove());
  document.body.append(e);
  e.showModal();
}

// fold is a form that is shown on request.
export function fold(title, what) {
  const e = h("details", { class: "fold" }, h("summary", {}, title));
  e.addEventListener("toggle", () => {
    if (e.open && e.children.length === 1) e.append(form({ ...what, after: (said) => { e.open = false; what.after?.(said); } })); // what came of it is drawn then
    if (e.open) e.querySelector("textarea, input")?.focus();
  });
  return e;
}
