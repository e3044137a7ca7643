// The board in lanes, now or at a revision. Of a long lane the first cards are drawn, the others
// on request, so that 2,000 tasks cost what is seen.
import { lanes, statuses } from "./statuses.js";
import { h, inline, status, age, cost, later, clock } from "./dom.js";
import { board, get, taken } from "./live.js";
import { waitCards } from "./waits.js";
import { question } from "./forms.js";

const laneOf = Object.fromEntries(statuses.map((s) => [s.status, lanes.indexOf(s.lane)]));
const first = 40;
let sought = "";

const order = [
  (a, b) => Boolean(a.waits_for?.length) - Boolean(b.waits_for?.length) || a.priority - b.priority,
  undefined, undefined, undefined, undefined,
  (a, b) => b.since - a.since,
];

function worker(from, t) {
  const a = t.who && from.agents.get(t.who);
  return a?.task === t.id ? a : null;
}

function card(from, t, past) {
  const a = worker(from, t), d = a?.doing;
  return h("a", { class: `card s-${t.status}`, href: `#/task/${encodeURIComponent(t.id)}`, "data-row": true, "data-id": t.id },
    h("span", { class: "top" }, h("span", { class: "id" }, t.id), past ? null : age(t.since)),
    h("span", { class: "title", dir: "auto" }, t.title),
    t.note ? h("span", { class: "note", dir: "auto" }, t.note) : null,
    d ? h("span", { class: "doing" }, d.tool ? h("b", {}, d.tool) : null, " ", inline(d.text || d.kind || "starts")) : null,
    h("span", { class: "foot" }, status(t.status), t.who ? inline(t.who, "who") : null,
      t.iteration > 1 ? h("span", { title: `iteration ${t.iteration}` }, `×${t.iteration}`) : null, h("span", {}, cost(t.cost))));
}

// fits reports whether a task has all words of the filter.
function fits(t, query) {
  if (!query.length) return true;
  const all = `${t.id} ${t.title} ${t.who ?? ""} ${t.status} ${t.note ?? ""}`.toLowerCase();
  return query.every((w) => all.includes(w));
}

// arrange puts elements in their order and moves none that is in its place: the focus stays.
function arrange(parent, wanted) {
  const keep = new Set(wanted);
  for (const e of [...parent.children]) if (!keep.has(e)) e.remove();
  wanted.forEach((e, i) => { if (parent.children[i] !== e) parent.insertBefore(e, parent.children[i] ?? null); });
}

function newTask() {
  question("A new task", "Its spec is that of the goal. Agents take it as soon as it is on the board.", { path: "/api/add-task", submit: "Add", done: "The task is on the board.", fields: [
    { name: "description", label: "What is to be done", rows: 3 }, { name: "done_when", label: "How one sees that it is done", rows: 2 },
    { name: "scope", label: "What is in, and what is out" }, { name: "priority", label: "Priority, 1 is the highest", type: "number", value: 1 }],
  body: (v) => ({ ...v, priority: Number(v.priority) }) });
}

export function show(root, { query }) {
  let from = board, past = null, dirty = new Set(), cards = new Map(), limit = lanes.map(() => first);
  const filter = h("input", { type: "search", placeholder: "Filter tasks  ( / )", "aria-label": "Filter tasks", value: sought, oninput: () => { sought = filter.value; draw(true); } });
  const progress = h("div", { class: "progress", role: "img", "aria-label": "no task yet" });
  const travel = h("a", { class: "button", href: "#/board", title: "the board as it was (t)" }, "Time travel");
  const time = h("div", { class: "past", hidden: true }), before = h("div", {});
  const columns = lanes.map((title, i) => {
    const n = h("span", { class: "n" }), cardsOf = h("div", { class: "cards" });
    const more = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => { limit[i] += 200; draw(); } });
    const lane = h("section", { class: "lane", "aria-label": title }, h("h2", {}, title, " ", n), cardsOf, more);
    return { lane, n, cardsOf, more };
  });
  const add = h("button", { type: "button", id: "add-task", onclick: newTask }, "New task …");
  root.append(h("div", { class: "bar" }, filter, progress, add, travel), time, before, h("div", { class: "lanes" }, columns.map((c) => c.lane)));

  function draw(filtered) {
    const query = sought.toLowerCase().split(/\s+/).filter(Boolean);
    if (filtered) limit = lanes.map(() => first);
    const sorted = lanes.map(() => []);
    for (const t of from.tasks.values()) if (fits(t, query)) sorted[laneOf[t.status] ?? 0].push(t);
    columns.forEach((c, i) => {
      if (order[i]) sorted[i].sort(order[i]);
      const all = sorted[i], shown = all.slice(0, limit[i]);
      c.n.textContent = all.length;
      c.more.hidden = all.length <= limit[i];
      c.more.textContent = `${all.length - limit[i]} more`;
      c.lane.classList.toggle("none", all.length === 0);
      arrange(c.cardsOf, shown.map((t) => {
        if (!cards.has(t.id) || dirty.has(t.id)) replace(t);
        return cards.get(t.id);
      }));
    });
    dirty.clear();
    travel.href = `#/board?rev=${board.view.revision}`;
    bar();
  }

  // A card that has the focus keeps it when it is drawn again.
  function replace(t) {
    const old = cards.get(t.id), fresh = card(from, t, past);
    cards.set(t.id, fresh);
    if (!old?.isConnected) return;
    const held = document.activeElement === old;
    old.replaceWith(fresh);
    if (held) fresh.focus({ preventScroll: true });
  }

  function bar() {
    const counts = lanes.map((_, i) => from.view.counts.filter((c) => laneOf[c.status] === i).reduce((n, c) => n + c.n, 0));
    const all = counts.reduce((a, b) => a + b, 0);
    progress.setAttribute("aria-label", all ? lanes.map((title, i) => `${title} ${counts[i]}`).join(", ") : "no task yet");
    progress.replaceChildren(...[5, 3, 2, 1, 4, 0].map((i) => {
      const part = h("i", { class: `l${i}`, title: `${lanes[i]}: ${counts[i]}` });
      part.style.flexGrow = counts[i];
      return part;
    }));
  }

  const soon = later(100, () => { if (!past) draw(); });

  // go shows another revision, or the present.
  function go({ query }) {
    const rev = query.get("rev");
    if (rev === null) { past = null; from = board; } else look(rev);
    document.body.classList.toggle("is-past", rev !== null);
    time.hidden = rev === null;
    before.replaceChildren();
    travel.hidden = add.hidden = rev !== null;
    if (rev === null) { cards = new Map(); draw(); }
    return true;
  }

  let range = null, asked = 0;

  async function look(rev) {
    past ??= Number(rev);
    const mine = ++asked;
    range ??= get("/api/at").then((a) => a.said);
    const [kept, at] = await Promise.all([range, get(`/api/at?rev=${encodeURIComponent(rev)}`)]);
    if (mine !== asked || !document.body.classList.contains("is-past")) return;
    slider(Number(rev), kept, at);
    if (!at.ok) return;
    past = at.said.revision;
    from = taken(at.said);
    cards = new Map();
    draw();
    before.replaceChildren(...waitCards(from.view, true));
  }

  const input = h("input", { type: "range", "aria-label": "Revision of the board", oninput: () => { word.textContent = `revision ${input.value}`; jump(); } });
  const word = h("strong", {}), note = h("span", {});
  const jump = later(120, () => { if (time.isConnected) { history.replaceState(null, "", `#/board?rev=${input.value}`); look(input.value); } });
  const step = (by) => () => { input.value = Number(input.value) + by; word.textContent = `revision ${input.value}`; jump(); };
  time.append(h("p", {}, "You look at the past: ", word, " ", note), h("div", { class: "slide" },
    h("button", { type: "button", "aria-label": "One revision back", onclick: step(-1) }, "◀"), input, h("button", { type: "button", "aria-label": "One revision on", onclick: step(1) }, "▶"),
    h("a", { class: "button", href: "#/board" }, "Back to now")));

  function slider(rev, kept, at) {
    input.min = kept?.first ?? 1;
    input.max = Math.max(kept?.last ?? rev, board.view.revision);
    input.value = rev;
    word.textContent = `revision ${rev}`;
    note.textContent = at.ok ? `of ${input.max}, ${clock(at.said.at)}${at.said.revision === rev ? "" : `; what is kept is revision ${at.said.revision}`}. Nothing can be changed here.` : at.said?.error?.message ?? "The server does not answer.";
  }

  if (query.get("rev") !== null) go({ query }); else draw();
  return {
    go,
    update(change) {
      if (change.all) cards = new Map();
      for (const id of change.ids) dirty.add(id);
      if (change.all && !past) draw(); else soon();
    },
    close() { document.body.classList.remove("is-past"); },
  };
}
