// Agents, and what their programs say while they say it.
import { h, text, inline, status, taskLink, span, money, words, later, age } from "./dom.js";
import { board, path } from "./live.js";
import { fold } from "./forms.js";

const kept = 3000; // events that stay on the page

function doing(a) {
  const d = a.doing;
  if (!d) return a.waits_for ? inline(a.waits_for, "quiet") : "";
  return h("span", { class: "doing" }, d.tool ? h("b", {}, d.tool) : null, " ", inline(d.text || d.kind || "starts"));
}

const elapsed = (d) => (d?.started ? h("time", { "data-since": Date.parse(d.started) }, span((Date.now() - Date.parse(d.started)) / 1000)) : "");
const tokens = (d) => (d?.tokens_in || d?.tokens_out ? `${thousands(d.tokens_in)} in, ${thousands(d.tokens_out)} out` : "");
const thousands = (n = 0) => (n < 1000 ? String(n) : `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)}k`);
const alive = (a) => (a.liveness === "alive" ? status(a.status) : h("span", { class: "status s-gone", title: a.liveness_reason }, words(a.liveness)));

const offset = (x) => (x.clock_offset ? `${x.clock_offset > 0 ? "+" : "−"}${Math.abs(x.clock_offset)} s` : "exact");

function hostRow(x) {
  return h("tr", {}, h("th", { scope: "row" }, x.name, x.here ? h("span", { class: "quiet" }, " (this one)") : null), h("td", {}, x.silent ? h("span", { class: "status s-gone", title: "longer than a lease and its grace: its claims are free" }, "silent") : h("span", { class: "status" }, "in contact")),
    h("td", {}, age(x.seen), " ago"), h("td", {}, x.agents), h("td", {}, x.clock_off ? h("span", { class: "removed", title: "off by more than lease_grace" }, offset(x)) : offset(x)), h("td", {}, x.load ?? ""), h("td", {}, x.version ?? ""));
}

const table = (label, heads, body) => h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "rows" }, h("thead", {}, h("tr", {}, heads)), body));
const head = (t) => h("th", { scope: "col" }, t);

export function show(root) {
  const hosts = h("tbody", {}), team = h("div", { class: "hosts", hidden: true }, h("h2", { class: "title" }, "Hosts"), table("Hosts", ["Host", "Contact", "Last", "Agents", "Clock", "Load", "Version"].map(head), hosts));
  const where = head("Host");
  const body = h("tbody", {}), none = h("p", { class: "empty" }, "No agent is registered. Start a team with liza run.");
  root.append(h("h2", { class: "title" }, "Agents"), none, table("Agents", [head("Agent"), where, ...["Status", "Task", "Does now", "For", "Tokens", "Cost", "Program"].map(head)], body), team);
  function draw() {
    const held = document.activeElement?.dataset?.id;
    none.hidden = board.agents.size > 0;
    const list = board.view.hosts ?? [], several = list.length > 1;
    team.hidden = !several;
    where.hidden = !several;
    hosts.replaceChildren(...list.map(hostRow));
    body.replaceChildren(...[...board.agents.values()].map((a) => h("tr", {},
      h("th", { scope: "row" }, h("a", { class: "id", href: `#/agent/${path(a.id)}`, "data-row": true, "data-id": a.id }, a.id)), h("td", { hidden: !several }, a.host ?? ""), h("td", {}, alive(a)), h("td", {}, a.task ? taskLink(a.task) : ""),
      h("td", { class: "grow" }, doing(a)), h("td", {}, elapsed(a.doing)), h("td", {}, tokens(a.doing)), h("td", {}, a.doing?.cents != null ? money(a.doing.cents) : ""), h("td", {}, a.cli ?? ""))));
    if (held) body.querySelector(`[data-id="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  }
  draw();
  return { update: later(300, draw) };
}

const marks = { tool: "▸", result: "◂", wait: "…", error: "!", note: "✎", run: "●", end: "■" };

function event(e) {
  const words = e.kind === "run" ? [e.program, e.model, e.task].filter(Boolean).join(" · ") : e.kind === "usage" ? "" : e.text ?? "";
  return h("li", { class: `e-${e.kind}` }, h("time", { datetime: e.at }, new Date(e.at).toLocaleTimeString(undefined, { hour12: false })), h("span", { class: "mark", "aria-hidden": "true" }, marks[e.kind] ?? ""),
    h("span", { class: "what", dir: "auto" }, e.tool ? [h("b", {}, e.tool), " "] : null, e.kind === "end" ? "ended: " : e.kind === "note" ? "note: " : null, words));
}

// output follows what a task or an agent says. The end stays in sight unless somebody has scrolled up.
export function output(place, id) {
  const events = h("ol", { class: "output", tabindex: "0", role: "log", "aria-label": `Output of ${id}`, "aria-live": "off" });
  const note = h("p", { class: "quiet" }, "Waiting for what it says …");
  place.replaceChildren(note, events);
  let pending = [], end = true;
  events.addEventListener("scroll", () => { end = events.scrollHeight - events.scrollTop - events.clientHeight < 40; });
  const flush = later(100, () => {
    const list = pending.splice(0);
    if (!list.length) return;
    events.append(...list.slice(-kept).map(event));
    while (events.children.length > kept) events.firstElementChild.remove();
    note.textContent = "";
    if (end) events.scrollTop = events.scrollHeight;
  });
  const source = new EventSource(`/api/agents/${path(id)}/output`);
  source.addEventListener("activity", (m) => {
    const e = JSON.parse(m.data);
    if (e.kind === "usage") { note.textContent = [tokens({ tokens_in: e.in, tokens_out: e.out }), e.cents != null && money(e.cents)].filter(Boolean).join(" · "); return; }
    pending.push(e);
    flush();
  });
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) note.textContent = "Nothing is known of its output."; };
  return { close() { source.close(); }, again() {} };
}

// orders are what a person can do with an agent.
function orders(a, path, why) {
  const begin = a.role === "coder" ? [{ name: "task", label: "Task that it begins with; empty: the best", optional: true }] : [];
  const again = { path: path("restart"), fields: [...begin, why], submit: "Begin again", done: `${a.id} begins again.` };
  if (a.stopped) return [fold("Let it work again …", again)];
  return [fold("Stop …", { path: path("stop"), fields: [why], submit: "Stop it", kind: "danger", done: `${a.id} is stopped; what it has written is kept.` }), a.task ? fold("Begin again …", again) : null].filter(Boolean);
}

export function one(root, { rest }) {
  const id = rest[0] ?? "", head = h("div", { class: "head" }), body = h("div", { class: "body" });
  let state = null;
  const acts = h("div", { class: "actions" });
  root.append(head, acts, body);
  function draw() {
    const a = board.agents.get(id);
    head.replaceChildren(h("p", { class: "crumb" }, h("a", { href: "#/agents" }, "Agents"), " / ", h("span", { class: "id" }, id)), h("h2", { class: "title" }, id),
      a ? h("p", { class: "facts" }, alive(a), h("span", {}, words(a.role)), a.task ? h("span", {}, "on ", taskLink(a.task)) : null, a.host ? h("span", {}, `host ${a.host}`) : null, a.cli ? h("span", {}, a.cli) : null, a.sandbox ? h("span", {}, `sandbox ${a.sandbox}`) : null,
        h("span", {}, elapsed(a.doing)), h("span", {}, tokens(a.doing)), a.doing?.cents != null ? h("span", {}, money(a.doing.cents)) : null, a.context_percent ? h("span", {}, `context ${a.context_percent} % full`) : null)
        : h("p", { class: "empty" }, "It is not registered now."),
      a?.waits_for ? text(`waits for ${a.waits_for}`, "note") : "", a?.liveness !== "alive" && a?.liveness_reason ? text(a.liveness_reason, "note") : "");
    const now = a && `${a.task ?? ""} ${a.stopped ?? ""}`;
    // A form that is written in stays: without it the rest of the words would be taken for keys of the page.
    const writing = acts.contains(document.activeElement) && document.activeElement.matches("input, textarea") || [...acts.querySelectorAll("input, textarea")].some((e) => e.value);
    if (a && state !== now && !writing) {
      state = now;
      const order = (verb) => `/api/agents/${path(id)}/${verb}`, why = { name: "reason", label: "Why", optional: true };
      acts.replaceChildren(...orders(a, order, why), ...(a.task ? ["Tell it …", "Interrupt it with a text …"].map((title, now) => fold(title, { path: "/api/tell", fields: [{ name: "text", label: now ? "Text; a program that takes none while it works is interrupted, and goes on with it" : "Text; it has it with its next step", rows: 2 }],
        body: (v) => ({ ...v, to: a.task, now: Boolean(now) }), submit: "Tell", done: "The text is on its way." })) : []));
    }
  }
  acts.addEventListener("sent", draw);
  acts.addEventListener("focusout", () => setTimeout(draw));
  draw();
  const live = output(body, id);
  return { update(change) { if (change.all || change.ids.has(id)) draw(); }, close() { live.close(); } };
}
