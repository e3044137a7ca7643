// Elements, and how times and amounts are written. Everything that comes from the board goes
// into the page as text (textContent, text nodes), never as markup.

import { statuses } from "./statuses.js";

const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

// Characters that nobody sees, or that reorder what stands beside them, are named.
export function plain(text) {
  return String(text).replace(/\r\n/g, "\n").replace(hidden, (c) => {
    const code = c.codePointAt(0);
    return code < 32 ? String.fromCodePoint(0x2400 + code) : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

function build(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : plain(child));
  }
  return element;
}

export const h = (tag, props, ...children) => build(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) => build(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);

// text is one that somebody else has written: it keeps its own direction and its line breaks.
export const text = (value, kind = "") => h("p", { class: `text ${kind}`, dir: "auto" }, value);
export const inline = (value, kind) => h("bdi", { class: kind }, value);
export const code = (value) => h("code", { dir: "ltr" }, value);

export function section(title, ...content) {
  const shown = content.flat().filter(Boolean);
  return shown.length === 0 ? null : h("section", {}, h("h2", {}, title), shown);
}

export const list = (items) => (items?.length ? h("ul", { class: "plain" }, items.map((i) => h("li", { dir: "auto" }, i))) : null);

export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m`;
  return `${Math.floor(s / 86400)}d`;
}

// age is an element that goes on counting.
export const age = (since) => h("time", { "data-since": since }, span((Date.now() - since) / 1000));

setInterval(() => {
  for (const e of document.querySelectorAll("[data-since]")) {
    const now = span((Date.now() - Number(e.dataset.since)) / 1000);
    if (e.textContent !== now) e.textContent = now;
  }
}, 1000);

export const money = (cents) => (cents === null || cents === undefined ? "unknown" : `$${(cents / 100).toFixed(2)}`);

export function cost(c) {
  if (!c || c.runs === 0) return "";
  if (c.unknown_runs === c.runs) return "cost unknown";
  return money(c.cents) + (c.unknown_runs ? ` and ${c.unknown_runs} unknown` : "");
}

export function clock(at, minutes) {
  const d = new Date(at);
  if (isNaN(d)) return "";
  const day = d.toDateString() === new Date().toDateString() ? "" : `${d.toLocaleDateString(undefined, { month: "short", day: "numeric" })} `;
  return day + d.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: minutes ? undefined : "2-digit", hour12: false });
}

export const when = (at) => h("time", { datetime: at, title: at }, clock(at));
export const short = (commit) => (commit ? h("code", { title: commit }, commit.slice(0, 9)) : null);
export const words = (s) => (s ?? "").toLowerCase().replaceAll("_", " ");
// over are the statuses that no event leaves.
export const over = statuses.filter((s) => s.terminal).map((s) => s.status);

const tones = Object.fromEntries(statuses.map((s) => [s.status, s.tone]));
export const tone = (s) => `s-${s} t-${tones[s] ?? "calm"}`;
export const status = (s) => h("span", { class: `status ${tone(s)}` }, words(s));
export const taskLink = (id, part) => h("a", { class: "id", href: `#/task/${encodeURIComponent(id)}${part ? `/${part}` : ""}` }, id);
export const agentLink = (id) => h("a", { class: "id", href: `#/agent/${encodeURIComponent(id)}` }, id);

// later calls a function at most once in a while, and once more when it was asked for meanwhile.
export function later(ms, act) {
  let timer = null, again = false;
  return function ask() {
    if (timer !== null) { again = true; return; }
    act();
    timer = setTimeout(() => { timer = null; if (again) { again = false; ask(); } }, ms);
  };
}
