// The frame: which view is shown, what stands around it, and the keys.
import { h, words, cost, later, age, clock } from "./dom.js";
import { board, listen, connect, post, problem } from "./live.js";
import { question } from "./forms.js";
import * as boardView from "./board.js";
import * as waits from "./waits.js";
import * as task from "./task.js";
import * as agents from "./agents.js";
import * as graph from "./graph.js";
import * as timeline from "./timeline.js";
import * as figures from "./figures.js";
import * as log from "./log.js";

const views = [
  ["board", "Board", boardView], ["waits", "Waits for you", waits], ["agents", "Agents", agents], ["graph", "Graph", graph],
  ["timeline", "Timeline", timeline], ["costs", "Costs", figures], ["log", "Log", log], ["alerts", "Alerts", { show: log.alerts }],
];
const pages = { ...Object.fromEntries(views.map(([name, , view]) => [name, view])), task, agent: { show: agents.one } };
const inside = { task: "board", agent: "agents" };

const at = (id) => document.getElementById(id);
let shown = null, name = "";

// route is what the address says: #/task/ID/diff?rev=3.
function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/").map((p) => { try { return decodeURIComponent(p); } catch { return p; } });
  return { view: pages[view] ? view : "board", rest, query: new URLSearchParams(query ?? "") };
}

function open() {
  if (!board.ready || location.hash === "#main") return;
  const r = route(), before = name;
  name = r.view;
  if (before === name && shown?.go?.(r)) return mark(); // the same page, another part of it
  shown?.close?.();
  const root = h("div", { class: `view v-${name}` });
  at("main").replaceChildren(root);
  shown = pages[name].show(root, r) ?? {};
  mark();
  if (before) {
    problem("");
    window.scrollTo(0, 0);
    at("main").focus({ preventScroll: true });
  }
}

function mark() {
  for (const a of at("views").children) {
    if (a.dataset.view === (inside[name] ?? name)) { a.setAttribute("aria-current", "page"); at("views").scrollLeft = a.offsetLeft - at("views").offsetLeft - 40; } else a.removeAttribute("aria-current");
  }
}

const badges = {};
for (const [view, title] of views) {
  badges[view] = h("span", { class: "badge", hidden: true });
  at("views").append(h("a", { href: `#/${view}`, "data-view": view }, title, badges[view]));
}

function badge(view, n) {
  badges[view].hidden = !n;
  badges[view].textContent = n;
}

const put = (id, value) => { if (at(id).textContent !== value) at(id).textContent = value; };

function frame() {
  const v = board.view, waiting = v.waits_for_person.length;
  const count = (fits) => v.counts.filter((c) => fits(c.status)).reduce((n, c) => n + c.n, 0);
  const done = count((s) => s === "MERGED"), all = count((s) => !["SUPERSEDED", "ABANDONED"].includes(s)); // what was given up is not done
  put("goal", v.goal.description || "No goal yet");
  put("sprint", [`goal ${words(v.goal.status)}`, v.sprint.id && `${v.sprint.id} ${words(v.sprint.status)}`, all ? `${done} of ${all} tasks done` : "no task yet", cost(v.cost)].filter(Boolean).join(" · "));
  document.title = `${waiting ? `(${waiting}) ` : ""}${v.goal.description || "Liza"} – Liza`;
  badge("waits", waiting);
  badge("alerts", v.warnings.length + (v.wrong?.length ?? 0) + (v.gave_up?.length ?? 0));
  offline(v.offline);
  const stopped = v.control.length > 0;
  at("pause").hidden = false;
  put("pause", stopped ? "Resume" : "Pause");
  at("pause").title = stopped ? "liza resume" : "liza pause: no agent starts something new";
}

// offline says that the board is the copy of this host. What counts the seconds stays.
let away = "";
function offline(o) {
  if (away === (away = o?.since ?? "")) return;
  at("offline").hidden = !o;
  at("offline").replaceChildren(...(o ? ["No connection to the database. This is the board as it was at ", clock(o.since), ", ", age(Date.parse(o.since)), " ago. Nothing can be decided until the connection is back."] : []));
}

at("pause").addEventListener("click", () => (board.view.control.length ? post("/api/resume", {}, "The team goes on.")
  : question("Pause the team?", "No agent starts something new. What runs goes on.", { path: "/api/pause", fields: [{ name: "reason", label: "Why, for those who wait", optional: true }], submit: "Pause", done: "Paused: no agent starts something new." })));

const header = later(200, frame);
listen((change) => {
  if (change.all) frame(); else header();
  if (!shown) open(); else shown.update?.(change);
});
window.addEventListener("hashchange", open);
at("skip").addEventListener("click", (e) => { e.preventDefault(); at("main").focus(); });
at("help-open").addEventListener("click", () => at("help").showModal());

// rows are what j and k go through.
function move(by) {
  const rows = [...at("main").querySelectorAll("[data-row]")].filter((e) => e.offsetParent !== null);
  if (!rows.length) return;
  const now = rows.indexOf(document.activeElement.closest("[data-row]"));
  const next = rows[Math.min(rows.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function back() {
  if (shown?.back?.()) return;
  if (inside[name]) location.hash = `#/${inside[name]}`;
  else if (name !== "board" || location.hash.includes("?")) location.hash = "#/board";
}

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || at("help").open) return;
  const field = e.target.closest("input, textarea, select");
  if (field) {
    if (e.key === "Escape") { const form = field.closest("[data-cancel]"); if (form) form.dispatchEvent(new Event("cancel")); else field.blur(); e.preventDefault(); }
    return;
  }
  const act = {
    j: () => move(1), k: () => move(-1), Escape: back, "?": () => at("help").showModal(),
    "/": () => at("main").querySelector("input[type=search]")?.focus(),
    t: () => { location.hash = location.hash.includes("rev=") ? "#/board" : `#/board?rev=${board.view.revision}`; },
  }[e.key] ?? (views[Number(e.key) - 1] && (() => { location.hash = `#/${views[Number(e.key) - 1][0]}`; }));
  if (!act) return;
  e.preventDefault();
  act();
});

connect();
