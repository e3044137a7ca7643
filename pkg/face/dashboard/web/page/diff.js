// What a task changes, with what was found at its lines. A person comments on a line; the coder gets
// that as a finding.
import { h, text, inline, short } from "./dom.js";
import { get, path } from "./live.js";
import { form } from "./forms.js";

const many = 600; // lines of a file that are drawn without being asked for

// lines of a patch, with their numbers on both sides.
export function lines(patch) {
  const out = [];
  let before = 0, after = 0;
  for (const line of patch.replace(/\n$/, "").split("\n")) {
    const kind = line[0] ?? " ", rest = line.slice(1);
    if (kind === "@") {
      const m = line.match(/^@@ -(\d+)(?:,\d+)? \+(\d+)/);
      if (m) { before = Number(m[1]); after = Number(m[2]); }
      out.push({ kind, text: line });
    } else if (kind === "+") out.push({ kind, now: after++, text: rest });
    else if (kind === "-") out.push({ kind, was: before++, text: rest });
    else if (kind === "\\") out.push({ kind, text: line });
    else out.push({ kind: " ", was: before++, now: after++, text: rest });
  }
  return out;
}

export function finding(f) {
  return h("div", { class: `finding f-${f.person ? "person" : f.severity}` },
    h("p", {}, h("b", {}, f.person ? "comment" : f.severity), " ", inline(f.by, "who"), f.path ? [" ", h("code", { dir: "ltr" }, f.line ? `${f.path}:${f.line}` : f.path)] : null),
    text(f.text), f.fix ? text(`Fix: ${f.fix}`, "quiet") : null);
}

const names = { " ": "", "+": "add", "-": "del", "@": "hunk", "\\": "hunk" };

function file(id, f, again) {
  const table = h("table", {}), e = h("details", { class: "file", open: true, id: `file-${f.path}` },
    h("summary", {}, h("code", { dir: "ltr" }, f.from ? `${f.from} → ${f.path}` : f.path), " ", f.status === "modified" ? null : h("span", { class: "quiet" }, f.status), " ",
      h("span", { class: "added" }, `+${f.added}`), " ", h("span", { class: "removed" }, `−${f.removed}`)));
  const placed = new Set();
  const comments = (line) => f.findings.filter((x) => (x.line || 0) === line).map((x) => { placed.add(x); return h("tr", { class: "said" }, h("td", { colspan: 3 }, finding(x))); });

  function ask(after, line) {
    if (after.nextElementSibling?.classList.contains("ask")) return after.nextElementSibling.querySelector("textarea").focus();
    const close = () => { row.remove(); after.focus?.(); };
    const row = h("tr", { class: "ask" }, h("td", { colspan: 3 }, form({ path: "/api/tell", body: { to: id, at: `${f.path}:${line}` },
      fields: [{ name: "text", label: line ? `Comment on ${f.path}:${line}` : `Comment on ${f.path}`, rows: 3 }], submit: "Comment", done: "The coder gets it as a finding.", cancel: close, after: () => { close(); again(); } })));
    after.after(row);
    row.querySelector("textarea").focus();
  }

  function row(l) {
    const at = l.now || 0; // a comment is at a line of the new file
    const tr = h("tr", { class: names[l.kind], tabindex: at ? "-1" : null, "data-row": at ? true : null, "data-line": at || null,
      onkeydown: (k) => { if (k.target === tr && (k.key === "Enter" || k.key === "c") && at) { k.preventDefault(); ask(tr, at); } } },
    h("td", { class: "no" }, l.was ?? ""),
    h("td", { class: "no" }, at ? h("button", { type: "button", tabindex: "-1", title: "Comment on this line", "aria-label": `Comment on line ${at}`, onclick: () => ask(tr, at) }, l.now) : ""),
    h("td", { class: "line", dir: "ltr" }, l.text));
    return [tr, at ? comments(at) : []];
  }

  const head = h("tbody", {}), body = h("tbody", {});
  table.append(head, body);
  const all = f.patch ? lines(f.patch) : [];
  const draw = (from, to) => body.append(...all.slice(from, to).flatMap(row).flat());
  head.append(...comments(0));
  draw(0, many);
  if (all.length > many) {
    const more = h("button", { type: "button", class: "quiet", onclick: () => { more.remove(); draw(many); lost(); } }, `${all.length - many} more lines`);
    e.append(h("div", { class: "code", tabindex: "0", role: "region", "aria-label": `Diff of ${f.path}` }, table), more);
  } else e.append(h("div", { class: "code", tabindex: "0", role: "region", "aria-label": `Diff of ${f.path}` }, table));
  // Findings at lines that the diff does not show stand above it.
  const lost = () => { if (body.children.length) head.append(...f.findings.filter((x) => !placed.has(x) && all.length <= many).map((x) => h("tr", { class: "said" }, h("td", { colspan: 3 }, finding(x))))); };
  lost();
  if (f.binary) e.append(h("p", { class: "empty" }, "A binary file."));
  if (f.cut) e.append(h("p", { class: "empty" }, "The rest is too long for a page; liza diff has all of it."));
  e.append(h("p", { class: "links" }, h("button", { type: "button", class: "quiet", onclick: () => { if (!head.lastElementChild) head.append(h("tr", { tabindex: "-1" })); ask(head.lastElementChild, 0); } }, "Comment on this file")));
  return e;
}

const liveEvery = 3000; // ms between two looks at what a running task changes

export function showDiff(place, id, running) {
  let drawn = "", closed = false, reading = false;
  const timer = setInterval(() => { if (running() && !document.hidden && !reading && !place.querySelector("tr.ask")) load(); }, liveEvery);
  async function load() {
    reading = true;
    try { await show(); } finally { reading = false; }
  }
  async function show() {
    const { ok, said: d } = await get(`/api/tasks/${path(id)}/diff`);
    if (closed) return; // another part of the task is shown by now
    if (!ok) { drawn = ""; place.replaceChildren(h("p", { class: "empty" }, d?.error?.message ?? "The server does not answer.")); return; }
    const key = JSON.stringify(d);
    if (key === drawn) return;
    drawn = key;
    place.replaceChildren(
      h("p", { class: "quiet" }, `${d.files.length} ${d.files.length === 1 ? "file" : "files"} `, h("span", { class: "added" }, `+${d.added}`), " ", h("span", { class: "removed" }, `−${d.removed}`),
        " against ", short(d.base), d.merged ? ", merged" : d.live ? ", as the worktree is now" : "", ". Click a line number, or j, k and Enter, to comment."),
      ...(d.findings.length ? [h("section", {}, h("h2", {}, "Findings about the whole change"), d.findings.map(finding))] : []),
      d.files.length > 1 ? h("ul", { class: "files" }, d.files.map((f) => h("li", {}, h("button", { type: "button", class: "quiet", onclick: () => document.getElementById(`file-${f.path}`).scrollIntoView() },
        h("code", { dir: "ltr" }, f.path)), " ", h("span", { class: "added" }, `+${f.added}`), " ", h("span", { class: "removed" }, `−${f.removed}`), f.findings.length ? ` ${f.findings.length} found` : ""))) : "",
      ...d.files.map((f) => file(id, f, load)),
      d.cut ? h("p", { class: "empty" }, "The change is too large for a page; liza diff has all of it.") : "");
  }
  load();
  return { again: load, close() { closed = true; clearInterval(timer); } };
}
