// Who worked on what when.
import { h, svg, words, clock, plain, span, later, taskLink, when, inline } from "./dom.js";
import { get, path } from "./live.js";

const row = 30, label = 130, axis = 26;

// ticks are round moments, about one for each 110 pixels.
function ticks(from, to, width) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800].map((s) => s * 1000);
  const step = steps.find((s) => (to - from) / s <= Math.max(2, width / 110)) ?? steps.at(-1);
  const out = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
  return out;
}

export function show(root) {
  let data = null, zoom = 1;
  const place = h("div", { class: "timeline", tabindex: "0", role: "region", "aria-label": "Timeline, drawn" }), marks = h("ol", { class: "history" });
  const button = (label, title, act) => h("button", { type: "button", class: "quiet", title, onclick: act }, label);
  const by = (f) => () => { zoom = Math.min(64, Math.max(1, zoom * f)); draw(); };
  root.append(h("div", { class: "bar" }, h("h2", { class: "title" }, "Timeline"), button("+", "Longer", by(2)), button("−", "Shorter", by(0.5))),
    h("p", { class: "legend" }, ["plan", "work", "review"].map((k) => h("span", { class: `k-${k}` }, k)), h("span", { class: "m-merged" }, "merged"), h("span", { class: "m-rejected" }, "rejected"), h("span", { class: "m-blocked" }, "blocked")), place,
    h("h2", {}, "What happened"), marks);

  function draw() {
    if (!data) return;
    const lanes = data.lanes ?? [];
    if (!lanes.length) { place.replaceChildren(h("p", { class: "empty" }, "Nobody has worked yet.")); return; }
    const from = Date.parse(data.from), to = Math.max(from + 1000, Date.parse(data.to) || Date.now());
    const width = Math.max(240, place.clientWidth - label - 52) * zoom, x = (t) => label + (Date.parse(t) - from) / (to - from) * width, height = axis + lanes.length * row + 26;
    const grid = ticks(from, to, width).map((t) => {
      const at = label + (t - from) / (to - from) * width;
      return [svg("line", { class: "grid", x1: at, x2: at, y1: axis - 6, y2: height - 22 }), svg("text", { class: "tick", x: at, y: 12, "text-anchor": "middle" }, clock(t).replace(/:00$/, ""))];
    });
    const bars = lanes.map((l, i) => [
      svg("text", { class: "id", x: 0, y: axis + i * row + 19 }, plain(l.agent)), svg("line", { class: "grid", x1: 0, x2: label + width, y1: axis + (i + 1) * row, y2: axis + (i + 1) * row }),
      l.spans.map((s) => {
        const a = x(s.from), b = s.until ? x(s.until) : label + width, w = Math.max(3, b - a), took = ((s.until ? Date.parse(s.until) : to) - Date.parse(s.from)) / 1000;
        const bad = s.outcome && !["finished", "approved", "COMPLETED"].includes(s.outcome);
        const what = `${l.agent}: ${s.task ?? words(s.kind)}, ${words(s.kind)}, ${span(took)}${s.outcome ? `, ${words(s.outcome)}` : s.until ? "" : ", goes on"}`;
        const bar = [svg("title", {}, what), svg("rect", { class: `span k-${s.kind}${bad ? " bad" : ""}${s.until ? "" : " now"}`, x: a, y: axis + i * row + 5, width: w, height: row - 10, rx: 4 }),
          w > 46 ? svg("text", { class: "on", x: a + 6, y: axis + i * row + 19 }, plain(s.task ?? s.kind).slice(0, Math.floor((w - 10) / 7))) : null];
        return s.task ? svg("a", { href: `#/task/${path(s.task)}`, "aria-label": what }, bar) : svg("g", {}, bar);
      })]);
    const y = axis + lanes.length * row + 10;
    const dots = (data.marks ?? []).map((m) => svg("circle", { class: `mark m-${m.kind}`, cx: x(m.at), cy: y, r: 4 }, svg("title", {}, `${clock(m.at)} ${words(m.kind)} ${m.task ?? ""} ${m.text ?? ""}`)));
    place.replaceChildren(svg("svg", { width: label + width + 14, height, role: "group", "aria-label": "Who worked on what when" }, grid, bars, dots));
    marks.replaceChildren(...(data.marks ?? []).slice(-200).reverse().map((m) => h("li", { "data-row": true, tabindex: "-1" }, when(m.at), " ", h("b", { class: `m-${m.kind}` }, words(m.kind)), " ", m.task ? taskLink(m.task) : "", " ", inline(m.text ?? ""))));
  }

  async function load() {
    const { ok, said } = await get("/api/timeline");
    if (ok) { data = said; draw(); }
  }
  load();
  const wider = new ResizeObserver(later(200, draw));
  wider.observe(place);
  return { update: later(2000, load), close() { wider.disconnect(); } };
}
