// The journal, and what is wrong.
import { h, when, words, inline, taskLink, text, section, code, later } from "./dom.js";
import { board, get } from "./live.js";

function line(e) {
  return h("li", { "data-row": true, tabindex: "-1" }, when(e.timestamp), " ", inline(e.agent ?? "", "who"), " ", h("b", {}, words(e.action)), " ", e.task ? taskLink(e.task) : "", " ", inline(e.detail ?? ""));
}

const all = (e) => [e.timestamp, e.agent, e.action, e.task, e.detail].join(" ").toLowerCase();

export function show(root) {
  const ol = h("ol", { class: "history" }), filter = h("input", { type: "search", placeholder: "Filter the log  ( / )", "aria-label": "Filter the log", oninput: () => draw() });
  const none = h("p", { class: "empty" }, "Nothing.");
  root.append(h("div", { class: "bar" }, h("h2", { class: "title" }, "Log"), filter), none, ol);
  const fits = (e) => all(e).includes(filter.value.toLowerCase());
  function draw() {
    const found = board.log.filter(fits).slice(-500).reverse();
    none.hidden = found.length > 0;
    ol.replaceChildren(...found.map(line));
  }
  draw();
  return {
    update({ entries, all: again }) {
      if (again) return draw();
      const fresh = entries.filter(fits).reverse();
      if (!fresh.length) return;
      none.hidden = true;
      ol.prepend(...fresh.map(line));
      while (ol.children.length > 500) ol.lastElementChild.remove();
    },
  };
}

export function alerts(root) {
  const place = h("div", {});
  root.append(h("h2", { class: "title" }, "Alerts"), place);
  async function draw() {
    const v = board.view, { ok, said } = await get("/api/alerts");
    const lines = (list) => (list?.length ? h("ul", { class: "alerts" }, list.map((w) => h("li", { "data-row": true, tabindex: "-1" }, text(w)))) : null);
    const parts = [
      section("The board is not valid", lines(v.wrong)),
      section("Gave up", v.gave_up?.length ? h("ul", { class: "alerts" }, v.gave_up.map((g) => h("li", { "data-row": true, tabindex: "-1" }, h("p", {}, when(g.at), " ", inline(g.agent, "who"), " ", g.task ? taskLink(g.task) : null, " ", inline(g.why)), h("p", {}, code(g.next))))) : null),
      section("Open alerts of liza watch", ok && said.alerts.length ? h("ul", { class: "alerts" }, said.alerts.map(alert)) : null),
      section("Warnings", lines(v.warnings)),
    ].filter(Boolean);
    place.replaceChildren(...(parts.length ? parts : [h("p", { class: "empty" }, "Nothing is wrong.")]));
  }
  draw();
  return { update: later(1000, draw) };
}

function alert(a) {
  return h("li", { class: `a-${a.severity}`, "data-row": true, tabindex: "-1" }, h("p", {}, h("b", {}, words(a.kind)), " ", board.tasks.has(a.subject) ? taskLink(a.subject) : inline(a.subject, "who"), " ", inline(a.message)), h("p", { class: "quiet" }, "since ", when(a.since)));
}
