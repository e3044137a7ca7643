"use strict";

const at = (id) => document.getElementById(id);

// Everything from the board is put into the page as text, never as markup.
function element(name, text, kind) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (kind) e.className = kind;
  return e;
}

function row(cells) {
  const tr = element("tr");
  for (const [text, kind] of cells) tr.append(element("td", text ?? "", kind));
  return tr;
}

function problem(text) {
  at("problem").hidden = !text;
  at("problem").textContent = text ?? "";
}

async function send(path, body) {
  try {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) });
    const said = await answer.json();
    problem(answer.ok ? "" : `${said.error.message}. Next: ${said.error.next}`);
  } catch {
    problem("The server does not answer. Is liza serve still running?");
  }
}

function button(text, act) {
  const b = element("button", text);
  b.addEventListener("click", act);
  return b;
}

function ask(what, then) {
  const text = window.prompt(what);
  if (text) then(text);
}

function waits(w) {
  const li = element("li");
  li.append(element("div", w.task ? `${w.task}: ${w.text}` : w.text));
  for (const q of w.questions ?? []) {
    const line = element("div", `${q.id} ${q.text} `);
    line.append(button("Answer", () => ask(q.text, (text) => send(`/api/questions/${q.id}/answer`, { answer: text }))));
    li.append(line);
  }
  const task = `/api/tasks/${w.task}`;
  if (w.kind === "merge_approval") {
    li.append(button("Approve the merge", () => send(`${task}/approve-merge`)), " ",
      button("Reject", () => ask("File, defect and fix", (text) => send(`${task}/reject-merge`, { reason: text }))));
  } else if (w.kind === "hold") {
    li.append(button("Let it go on", () => send(`${task}/unhold`)));
  }
  li.append(element("div", w.next, "quiet"));
  return li;
}

// What a person is about to click is not replaced by the same again.
function fill(id, list) {
  const next = element("div");
  next.append(...list);
  if (at(id).textContent !== next.textContent) at(id).replaceChildren(...list);
}

function show(v) {
  document.title = `${v.goal.status} – Liza`;
  at("goal").textContent = v.goal.description;
  const control = v.control.map((c) => c.name + (c.reason ? `: ${c.reason}` : "")).join(", ");
  at("sprint").textContent = `goal ${v.goal.status}, ${v.sprint.id} ${v.sprint.status}${control ? ` (${control})` : ""}`;
  at("counts").textContent = v.counts.filter((c) => c.n).map((c) => `${c.n} ${c.status}`).join(", ") || "no task yet";
  at("waiting-part").hidden = v.waits_for_person.length === 0;
  fill("waiting", v.waits_for_person.map(waits));
  fill("tasks", v.tasks.map((t) => row([[t.id], [t.status, t.status], [t.who], [t.iteration || ""], [t.note ? `${t.title} (${t.note})` : t.title, "title"]])));
  fill("agents", v.agents.map((a) => row([[a.id], [a.status], [a.task], [a.cli], [a.waits_for, "title"]])));
}

function log(entries) {
  for (const e of entries) {
    at("log").prepend(element("li", [e.timestamp, e.agent, e.action, e.task, e.detail].filter(Boolean).join("  ")));
  }
  while (at("log").children.length > 200) at("log").lastChild.remove();
}

async function begin() {
  const answer = await fetch("/api/log");
  if (answer.ok) log((await answer.json()).entries);
  const events = new EventSource("/api/events");
  const on = (name, act) => events.addEventListener(name, (m) => act(JSON.parse(m.data)));
  on("snapshot", (v) => { at("connection").textContent = "live"; problem(""); show(v); });
  on("change", (c) => { problem(""); show(c.state); log(c.entries); });
  on("problem", (p) => problem(`${p.error.message}. Next: ${p.error.next}`));
  events.onerror = () => { at("connection").textContent = "the connection is lost, trying again"; };
}

at("pause").addEventListener("click", () => send("/api/pause"));
at("resume").addEventListener("click", () => send("/api/resume"));
at("note").addEventListener("submit", (e) => {
  e.preventDefault();
  send("/api/notes", { text: at("note-text").value }).then(() => { at("note-text").value = ""; });
});
begin();
