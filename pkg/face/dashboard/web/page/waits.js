// What waits for a person, with what is needed to decide, and the verbs that decide it.
import { h, text, inline, list, taskLink, words, code } from "./dom.js";
import { board, get, path } from "./live.js";
import { form, fold } from "./forms.js";

const names = {
  control: "The team is stopped", integration: "The integration branch was moved", goal: "The goal is complete", breaker: "The circuit breaker",
  question: "A question", blocked: "Blocked", merge_approval: "A merge to approve", hold: "On hold", draft: "A plan to review",
};

const task = (w, verb) => `/api/tasks/${path(w.task)}/${verb}`;

function answers(w) {
  return (w.questions ?? []).filter((q) => q.id).map((q) => h("div", { class: "question" }, text(q.text, "asked"),
    form({ path: `/api/questions/${path(q.id)}/answer`, fields: [{ name: "answer", label: `Your answer to ${q.id}`, rows: 2 }], submit: "Answer", done: `${q.id} is answered.` })));
}

// resubmit reads the limit that the command proposes.
function resubmit(w) {
  const [, key, value] = w.next.match(/--limit (\w+)=(\d+)/) ?? [];
  if (!key) return null;
  return form({ path: task(w, "resubmit"), fields: [{ name: key, label: `New limit, ${words(key)}`, type: "number", value }], submit: "Let it go on", done: `${w.task} goes on.`,
    body: (v) => ({ limits: { [key]: Number(v[key]) } }) });
}

// picks reports whether the decision is which of several attempts goes on.
const picks = (w) => /^liza approve .* --reason TEXT$/.test(w.next ?? "");

// pick is the form that lets one of several attempts go on.
export const pick = (id) => ({ path: `/api/tasks/${path(id)}/pick`, fields: [{ name: "reason", label: "Why this one goes on" }], submit: "Pick", done: `${id} goes on.` });

export function decide(w) {
  switch (w.kind) {
    case "control": return [form({ path: "/api/resume", fields: [{ name: "note", label: "Note to the planner", optional: true }], submit: "Resume", done: "The team goes on." })];
    case "breaker": return [form({ path: "/api/resume", fields: [{ name: "note", label: "What was found and decided" }], submit: "Acknowledge", done: "Acknowledged; the team goes on." })];
    case "integration": return [
      form({ path: "/api/integration/accept", fields: [{ name: "reason", label: "Why this tip is right", optional: true }], submit: "Accept it", done: "Accepted." }),
      fold("Put it back …", { path: "/api/integration/restore", fields: [{ name: "reason", label: "Why", optional: true }], submit: "Restore the branch", kind: "danger", done: "Restored; the other tip is saved." })];
    case "question": return answers(w);
    case "merge_approval": return picks(w) ? [form(pick(w.task))] : [
      form({ path: task(w, "approve-merge"), submit: "Approve the merge", done: `${w.task} is approved.` }),
      fold("Reject …", { path: task(w, "reject-merge"), fields: [{ name: "reason", label: "File, what is wrong there, and what would be right", rows: 3 }], submit: "Reject", kind: "danger", done: `${w.task} goes back to its coder.` }),
      fold("Approve in spite of warnings …", { path: task(w, "approve-merge"), fields: [{ name: "reason", label: "Why" }], body: { override: true }, submit: "Approve all the same", done: `${w.task} is approved.` })];
    case "blocked": {
      const asked = answers(w), more = resubmit(w);
      if (asked.length || more) return [asked, more];
      return [form({ path: task(w, "unblock"), fields: [{ name: "reason", label: "What has changed", rows: 2 }], submit: "Unblock", done: `${w.task} starts over.` })];
    }
    case "hold": return [form({ path: task(w, "unhold"), submit: "Let it go on", done: `${w.task} goes on.` })];
    case "draft": {
      const ids = w.next.replace(/^liza approve /, "").split(" ");
      return [h("p", { class: "links" }, ids.map((id) => [taskLink(id), " "])), form({ path: "/api/finalize", body: { tasks: ids }, submit: `Start ${ids.length} ${ids.length === 1 ? "task" : "tasks"}`, done: "The plan is under way." })];
    }
  }
  return [];
}

// context is what a task is about, for who has to decide.
async function context(w, place) {
  const { ok, said: p } = await get(`/api/tasks/${path(w.task)}/page`);
  if (!ok) return;
  const last = p.attempts.at(-1);
  place.replaceChildren(...[
    text(p.description),
    p.done_when && text(`Done when: ${p.done_when}`, "quiet"),
    last?.summary && h("p", { class: "quiet", dir: "auto" }, `${last.agent} said last: `, inline(last.summary)),
    p.rejection && text(`Last rejection: ${p.rejection}`),
    list(p.findings.slice(0, 5).map((f) => `${f.severity} ${f.path ?? ""}${f.line ? `:${f.line}` : ""} ${f.text}`)),
    list(p.checks),
  ].filter(Boolean));
}

function one(w, past) {
  const about = h("div", { class: "context" });
  if (w.task && !past) context(w, about);
  const t = board.tasks.get(w.task);
  const hasWork = w.kind === "merge_approval" || w.kind === "blocked";
  return h("article", { class: `wait k-${w.kind}`, "data-row": true, tabindex: "-1" },
    h("h2", {}, picks(w) ? "An attempt to pick" : names[w.kind] ?? words(w.kind), w.task ? [": ", taskLink(w.task)] : null, t ? [" ", h("bdi", { class: "title" }, t.title)] : null),
    text(w.text, "why"), about,
    hasWork ? h("p", { class: "links" }, h("a", { href: `#/task/${path(w.task)}/diff` }, "Diff"), " ", h("a", { href: `#/task/${path(w.task)}/${picks(w) ? "compare" : "attempts"}` }, picks(w) ? "Compare" : "Attempts")) : null,
    past ? null : h("div", { class: "decide" }, decide(w)),
    w.next ? h("p", { class: "command" }, "or ", code(w.next)) : null);
}

export const waitCards = (view, past) => view.waits_for_person.map((w) => one(w, past));

export function show(root) {
  const drawn = new Map(), place = h("div", { class: "waits" }), none = h("p", { class: "empty" }, "Nothing waits for you.");
  root.append(h("h2", { class: "title" }, "Waits for you"), none, place);

  // What a person is writing is left alone while the thing itself is the same.
  function draw() {
    const wanted = board.view.waits_for_person.map((w) => [JSON.stringify(w), w]);
    for (const [key, e] of drawn) if (!wanted.some(([k]) => k === key)) { e.remove(); drawn.delete(key); }
    wanted.forEach(([key, w], i) => {
      if (!drawn.has(key)) drawn.set(key, one(w));
      const e = drawn.get(key);
      if (place.children[i] !== e) place.insertBefore(e, place.children[i] ?? null);
    });
    none.hidden = wanted.length > 0;
  }
  draw();
  return { update: draw };
}
