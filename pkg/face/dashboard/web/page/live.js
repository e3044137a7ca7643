// The board as the server tells it: a snapshot, then what changed. Requests go out here, too.

export const board = { ready: false, view: null, tasks: new Map(), agents: new Map(), log: [] };
const listeners = new Set();

export function listen(act) {
  listeners.add(act);
  return () => listeners.delete(act);
}

function tell(change) {
  for (const act of [...listeners]) act(change);
}

// since makes a moment out of an age, so that it goes on counting.
function row(t) {
  t.since = Date.now() - t.age_seconds * 1000;
  return t;
}

function hosts(view) {
  for (const host of view.hosts ?? []) host.seen = Date.now() - host.seen_seconds * 1000;
  return view;
}

export function taken(view) {
  hosts(view);
  return { ready: true, view, tasks: new Map(view.tasks.map((t) => [t.id, row(t)])), agents: new Map(view.agents.map((a) => [a.id, a])), log: [] };
}

function snapshot(view) {
  const had = board.view?.revision;
  Object.assign(board, taken(view), { log: board.log });
  tell({ all: true, ids: new Set(), entries: [] });
  if (had !== view.revision) missed(had);
}

// missed asks for the entries of the journal that were written while nobody listened.
async function missed(revision) {
  const { ok, said } = await get(revision && board.log.length ? `/api/log?since=${revision}` : "/api/log");
  if (ok) entries(said.entries);
}

function entries(list) {
  const { fresh, late } = added(list);
  if (fresh.length) tell({ all: late, ids: new Set(), entries: fresh });
}

// added takes entries into the log that it has not: what was missed is asked for while changes come, and has some of theirs.
// late says that they are not the newest.
export function added(list) {
  const key = (e) => [e.rev, e.timestamp, e.agent, e.action, e.task, e.detail].join("\n"), had = new Set(board.log.map(key));
  const fresh = list.filter((e) => !had.has(key(e))), late = fresh.length > 0 && board.log.length > 0 && fresh[0].rev < board.log.at(-1).rev;
  board.log = board.log.concat(fresh);
  if (late) board.log.sort((a, b) => a.rev - b.rev);
  board.log = board.log.slice(-2000);
  return { fresh, late };
}

function change(c) {
  const ids = new Set();
  for (const t of c.tasks) { board.tasks.set(t.id, row(t)); ids.add(t.id); }
  for (const a of c.agents) {
    for (const id of [board.agents.get(a.id)?.task, a.task]) if (id) ids.add(id);
    board.agents.set(a.id, a);
    ids.add(a.id);
  }
  for (const id of c.gone) { board.tasks.delete(id); board.agents.delete(id); ids.add(id); }
  board.view = hosts(c.board);
  tell({ all: false, ids, entries: added(c.entries).fresh });
}

let source = null, alive = 0, again = null;

function connection(state, words) {
  const e = document.getElementById("connection");
  e.dataset.state = state;
  if (e.textContent !== words) e.textContent = words;
}

// connect follows the board until the page is hidden: a browser keeps few connections to one
// server, and pages that nobody looks at must not take them all.
export function connect() {
  clearTimeout(again);
  source?.close();
  if (document.hidden) return;
  source = new EventSource("/api/events?rows=changed");
  const on = (name, act) => source.addEventListener(name, (m) => {
    alive = Date.now();
    connection("live", "live");
    act(JSON.parse(m.data));
  });
  alive = Date.now();
  on("snapshot", (v) => { problem(""); snapshot(v); });
  on("change", (c) => { if (board.ready) change(c); });
  on("heartbeat", () => {});
  on("problem", (p) => problem(sentence(p)));
  source.onerror = () => {
    connection("wait", "reconnecting…");
    if (source.readyState === EventSource.CLOSED) refused();
  };
}

// refused finds out why the server does not let the page in.
async function refused() {
  clearTimeout(again);
  try {
    const answer = await fetch("/api/state");
    if (answer.status === 401) {
      connection("bad", "not let in");
      problem("The server has started with another token. Open the address that liza serve has printed.");
    } else if (!answer.ok) problem(sentence(await answer.json())); // the board cannot be read
  } catch { /* it is not there yet */ }
  again = setTimeout(connect, 2000);
}

setInterval(() => { if (source && !document.hidden && Date.now() - alive > 40_000) connect(); }, 5000);

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return connect();
  source?.close();
  source = null;
});

export const sentence = (said) => (said?.error ? said.error.message.replace(/\.?$/, ".") + (said.error.next ? ` Next: ${said.error.next}` : "") : "The server does not answer. Is liza serve still running?");

export function problem(words) {
  const e = document.getElementById("problem");
  e.hidden = !words;
  e.textContent = words;
}

let quiet = null;

export function told(words) {
  const e = document.getElementById("told");
  clearTimeout(quiet);
  e.hidden = false;
  e.textContent = words;
  quiet = setTimeout(() => { e.hidden = true; }, 5000);
}

export async function get(path) {
  try {
    const answer = await fetch(path);
    return { ok: answer.ok, status: answer.status, said: await answer.json() };
  } catch {
    return { ok: false, status: 0, said: null };
  }
}

// post calls a verb. It returns what came of it, or shows why it was not done.
export async function post(path, body, done) {
  let answer = null, said = null;
  try {
    answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) });
    said = await answer.json();
  } catch { /* nobody there */ }
  if (!answer?.ok) {
    problem(sentence(said));
    return null;
  }
  problem("");
  told([said.reaches ? `Noted: ${said.reaches}.` : typeof done === "function" ? done(said) : done, ...(said.warnings ?? [])].join(" "));
  return said;
}

export const path = (...parts) => parts.map(encodeURIComponent).join("/");
