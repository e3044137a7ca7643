// The page of a task: what is asked for, what was done, what others found, and what a person can do.
import { h, text, inline, section, list, status, age, cost, money, when, short, span, taskLink, agentLink, words, later, code, over } from "./dom.js";
import { board, get, path } from "./live.js";
import { decide, pick } from "./waits.js";
import { fold } from "./forms.js";
import { showDiff, finding } from "./diff.js";
import { output } from "./agents.js";
import { evidence } from "./evidence.js";

const parts = [["", "Overview"], ["diff", "Diff"], ["evidence", "Evidence"], ["compare", "Compare"], ["attempts", "Attempts"], ["output", "Output"], ["history", "History"], ["fields", "Fields"]];

const good = ["finished", "completed", "approved", "merged", "submitted", "ok"];
const outcome = (o) => h("span", { class: `outcome ${good.includes(o.toLowerCase()) ? "o-good" : o === "rejected" ? "o-wait" : "o-bad"}` }, words(o));

const links = (all) => (all.length ? h("ul", { class: "plain" }, all.map((l) => h("li", {}, taskLink(l.id), " ", status(l.status), " ", inline(l.title ?? "")))) : null);

// changed are the values that a person has written otherwise.
const changed = (values, before) => Object.fromEntries(Object.entries(before).filter(([name, old]) => values[name] !== (old ?? "").trim()).map(([name]) => [name, values[name]]));

function actions(p) {
  const id = p.task.id, task = (verb) => `/api/tasks/${path(id)}/${verb}`, open = !over.includes(p.task.status) && !p.archived;
  if (!open) return null;
  return h("div", { class: "actions" },
    fold("Tell …", { path: "/api/tell", fields: [{ name: "text", label: "Text for the agent that works on it; it has it with its next step", rows: 2 }], body: (v) => ({ ...v, to: id }), submit: "Tell", done: "The text is on its way." }),
    fold("Edit …", { path: task("edit"), submit: "Change", done: `${id} is changed.`, fields: [
      { name: "priority", label: "Priority, 1 is the highest", type: "number", value: p.task.priority }, { name: "title", label: "Title", value: p.task.title }, { name: "description", label: "What is to be done", rows: 4, value: p.description },
      { name: "done_when", label: "How one sees that it is done", rows: 2, value: p.done_when, optional: true }, { name: "scope", label: "What is in, and what is out", value: p.scope, optional: true }],
    body: (v) => ({ ...changed(v, { title: p.task.title, description: p.description, done_when: p.done_when, scope: p.scope }), priority: Number(v.priority) }) }),
    p.task.who ? fold("Open its server …", { path: task("open"), fields: [{ name: "port", label: "Port of a server that its agent has started; empty: the only one", type: "number", optional: true }], submit: "Open", body: (v) => ({ port: Number(v.port) }),
      done: (said) => `It is at ${said.address}`, after: (said) => window.open(said.address, "_blank", "noopener") }) : null,
    p.task.hold ? null : fold("Hold …", { path: task("hold"), fields: [{ name: "reason", label: "Why nobody shall work on it" }], submit: "Hold", done: `${id} is on hold.` }),
    p.task.who ? ["Release …", "Release although its agent works …"].map((title, force) => fold(title, { path: task("release"), fields: [{ name: "reason", label: "Why it is taken away" }], submit: "Release", kind: "danger",
      done: `${id} is free.`, body: (v) => ({ reason: v.reason, force: Boolean(force) }) })) : null);
}

function overview(p) {
  return [
    p.waits_for_person.map((w) => h("article", { class: `wait k-${w.kind}` }, text(w.text, "why"), h("div", { class: "decide" }, decide(w)), h("p", { class: "command" }, "or ", code(w.next)))),
    p.rejection ? h("section", { class: "rejection" }, h("h2", {}, "Rejected last because"), text(p.rejection)) : null,
    section("Description", text(p.description)),
    section("Done when", p.done_when && text(p.done_when), list(p.criteria)),
    section("Findings", p.findings.map(finding)),
    section("Checks", list(p.checks)),
    section("What the coder means to do", list(p.intent)),
    section("Scope", p.scope && text(p.scope)),
    p.spec || p.spec_ref ? h("section", {}, h("h2", {}, "Spec ", p.spec_ref ? code(p.spec_ref) : null), p.spec ? h("pre", { dir: "auto", tabindex: "0", class: "spec" }, p.spec) : null) : null,
    section("Attempts at this work", p.task.tries?.length ? h("ul", { class: "plain" }, p.task.tries.map((t) => h("li", {}, taskLink(t.id), " ", status(t.status), " ", [t.cli, cost(t.cost)].filter(Boolean).join(" · ")))) : null),
    section("Told", list(p.told)),
    section("Questions", list(p.questions.map((q) => q.text))),
    section("Depends on", links(p.depends_on)),
    section("Is waited for by", links(p.dependents)),
    actions(p),
  ];
}

// compare shows the attempts at the same work side by side, and lets a person pick one.
function compare(p, place) {
  const parts = (p.task.tries ?? []).map((t) => {
    const diff = h("div");
    return { end: showDiff(diff, t.id, () => board.tasks.get(t.id)?.status === "CLAIMED"), e: h("section", { "data-try": t.id }, h("h2", {}, taskLink(t.id), " ", status(t.status)), h("p", { class: "quiet" }, [t.cli, cost(t.cost)].filter(Boolean).join(" · ")),
      t.pick ? fold("Pick …", pick(t.id)) : null, diff) };
  });
  place.replaceChildren(h("div", { class: "compare" }, parts.map((x) => x.e)));
  return { again() { for (const x of parts) x.end.again(); }, close() { for (const x of parts) x.end.close(); } };
}

function attempt(a, newest) {
  return h("article", { class: "attempt", "data-row": true, tabindex: "-1" },
    h("h3", {}, `#${a.seq} `, agentLink(a.agent), " ", words(a.kind), " ", a.outcome ? outcome(a.outcome) : null),
    h("p", { class: "quiet" }, [a.cli, a.rung, span(a.seconds), money(a.cost_cents), a.sandbox && `sandbox ${a.sandbox}`].filter(Boolean).join(" · "), " ", a.ended ? when(a.ended) : null, " ", short(a.commit)),
    a.summary ? text(a.summary) : null,
    ["prompt", "answer"].map((k) => (a[k] ? h("details", { open: newest }, h("summary", {}, k === "prompt" ? "Prompt" : "Answer"), h("pre", { dir: "auto", tabindex: "0" }, a[k])) : null)));
}

function attempts(p, place) {
  let closed = false;
  load();
  return { close() { closed = true; } };

  async function load() {
    place.replaceChildren(h("p", { class: "quiet" }, "…"));
    const { ok, said } = await get(`/api/tasks/${path(p.task.id)}/attempts?full=1`);
    if (closed) return; // another part of the task is shown by now
    const all = ok && said.attempts.length ? said.attempts : p.attempts;
    place.replaceChildren(...(all.length ? all.toReversed().map((a, i) => attempt(a, i === 0)) : [h("p", { class: "empty" }, "Nobody has worked on it yet.")]));
  }
}

function history(p) {
  return h("ol", { class: "history" }, p.history.toReversed().map((e) => h("li", { "data-row": true, tabindex: "-1" }, when(e.at), " ", h("b", {}, words(e.action)), " ", inline(e.who, "who"), " ", inline(e.text ?? ""))));
}

export function show(root, { rest }) {
  const id = rest[0] ?? "";
  let part = rest[1] ?? "", page = null, live = null;
  const head = h("div", { class: "head" }), body = h("div", { class: "body" });
  const tabs = h("nav", { class: "tabs", "aria-label": "Parts of the task" }, parts.map(([key, title]) => h("a", { href: `#/task/${path(id)}${key ? `/${key}` : ""}`, "data-part": key }, title)));
  root.append(head, tabs, body);

  function top() {
    const t = page.task, row = board.tasks.get(id) ?? t;
    head.replaceChildren(h("p", { class: "crumb" }, h("a", { href: "#/board" }, "Board"), " / ", h("span", { class: "id" }, t.id)), h("h2", { class: "title", dir: "auto" }, t.title),
      h("p", { class: "facts" }, status(row.status), row.since ? h("span", {}, over.includes(row.status) ? [age(row.since), " ago"] : ["for ", age(row.since)]) : null, t.who ? h("span", {}, t.status === "MERGED" ? "by " : "", agentLink(t.who)) : null,
        t.iteration ? h("span", {}, `iteration ${t.iteration}`) : null, t.rejections ? h("span", {}, `${t.rejections} ${t.rejections === 1 ? "rejection" : "rejections"}`) : null,
        cost(t.cost) ? h("span", {}, cost(t.cost)) : null, page.merge_commit ? h("span", {}, "merged as ", short(page.merge_commit)) : page.commit ? h("span", {}, "commit ", short(page.commit)) : null,
        page.archived ? h("span", {}, "archived") : null),
      t.note ? text(t.note, "note") : "");
    for (const a of tabs.children) {
      a.hidden = a.dataset.part === "compare" && !t.tries?.length || a.dataset.part === "evidence" && !page.checks?.some((c) => c.startsWith("evidence: "));
      if (a.dataset.part === part) a.setAttribute("aria-current", "page");
      else a.removeAttribute("aria-current");
    }
  }

  function draw() {
    live?.close();
    live = null;
    const draws = {
      diff: () => { live = showDiff(body, id, () => (board.tasks.get(id) ?? page.task).status === "CLAIMED"); }, evidence: () => { live = evidence(id, body); }, compare: () => { live = compare(page, body); }, attempts: () => { live = attempts(page, body); }, output: () => { live = output(body, id); },
      history: () => body.replaceChildren(history(page)),
      fields: () => body.replaceChildren(h("pre", { dir: "ltr", tabindex: "0" }, JSON.stringify(page.fields, null, 2))),
    };
    (draws[part] ?? (() => body.replaceChildren(...overview(page).flat(3).filter(Boolean))))();
  }

  async function load() {
    const { ok, said } = await get(`/api/tasks/${path(id)}/page`);
    if (!ok) {
      if (!page) root.replaceChildren(h("p", { class: "empty" }, said?.error?.message ?? "The server does not answer."));
      return false;
    }
    page = said;
    top();
    return true;
  }

  // Where somebody is writing, or reads what goes on by itself, nothing is drawn again.
  const busy = () => ["output", "attempts", "evidence"].includes(part) || body.contains(document.activeElement) && document.activeElement.closest("form") || body.querySelector("details.fold[open]");
  const again = later(400, async () => {
    if (!(await load()) || busy()) return;
    if (part === "diff") live?.again(); else draw();
  });

  load().then((ok) => { if (ok) draw(); });
  return {
    update(change) { if (change.all || change.ids.has(id) || (page?.depends_on ?? []).some((l) => change.ids.has(l.id))) again(); },
    go(r) {
      if ((r.rest[0] ?? "") !== id) return false;
      part = r.rest[1] ?? "";
      if (page) { top(); draw(); }
      return true;
    },
    back() { if (part) location.hash = `#/task/${path(id)}`; return Boolean(part); },
    close() { live?.close(); },
  };
}
