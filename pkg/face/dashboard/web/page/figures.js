// Costs, throughput and reviews.
import { h, svg, money, cost, span, clock, section, later } from "./dom.js";
import { get } from "./live.js";

// plot is a value over time, as steps: it stays until something happens.
function plot(title, points, write, now) {
  const w = 560, high = 170, left = 52, bottom = 22, top = 10;
  if (!points?.length) return h("figure", { class: "plot" }, h("figcaption", {}, title), h("p", { class: "empty" }, "Nothing yet."));
  const times = points.map((p) => Date.parse(p.at)), from = times[0], to = Math.max(now, times.at(-1), from + 1000), most = Math.max(...points.map((p) => p.value), 1e-9);
  const x = (t) => left + (t - from) / (to - from) * (w - left - 8), y = (v) => top + (1 - v / most) * (high - top - bottom);
  let line = `M${x(from)} ${y(0)}`;
  points.forEach((p, i) => { line += `H${x(times[i]).toFixed(1)}V${y(p.value).toFixed(1)}`; });
  line += `H${x(to)}`;
  return h("figure", { class: "plot" }, h("figcaption", {}, title, " ", h("b", {}, write(points.at(-1).value))),
    svg("svg", { viewBox: `0 0 ${w} ${high}`, role: "img", "aria-label": `${title}: ${write(points.at(-1).value)} at ${clock(points.at(-1).at)}` },
      (most > 1e-6 ? [0, 0.5, 1] : [0]).map((f) => [svg("line", { class: "grid", x1: left, x2: w - 8, y1: y(most * f), y2: y(most * f) }), svg("text", { class: "tick", x: left - 6, y: y(most * f) + 4, "text-anchor": "end" }, write(most * f))]),
      svg("path", { class: "area", d: `${line}V${y(0)}Z` }), svg("path", { class: "line", d: line }),
      svg("text", { class: "tick", x: left, y: high - 5 }, clock(from)), svg("text", { class: "tick", x: w - 8, y: high - 5, "text-anchor": "end" }, clock(to))));
}

function spending(title, kind, all) {
  if (!all?.length) return null;
  const rows = all.toSorted((a, b) => b.cost.cents - a.cost.cents || b.seconds - a.seconds).slice(0, 30), most = Math.max(...rows.map((r) => r.cost.cents), 1e-9);
  return section(title, h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": title }, h("table", { class: "rows" },
    h("thead", {}, h("tr", {}, [kind, "Cost", "", "Time", "Tokens", "Runs"].map((t) => h("th", { scope: "col" }, t)))),
    h("tbody", {}, rows.map((r) => {
      const bar = h("meter", { min: 0, max: most, "aria-label": `Cost of ${r.name}` });
      bar.value = r.cost.cents;
      return h("tr", {}, h("th", { scope: "row" }, r.name.startsWith("(") ? r.name : h("a", { class: "id", "data-row": true, href: `#/${kind === "Task" ? "task" : "agent"}/${encodeURIComponent(r.name)}` }, r.name)), h("td", {}, cost(r.cost)), h("td", { class: "bars" }, bar),
        h("td", {}, span(r.seconds)), h("td", {}, r.tokens ? r.tokens.toLocaleString() : ""), h("td", {}, r.cost.runs));
    })))));
}

export function show(root) {
  const place = h("div", {});
  root.append(h("h2", { class: "title" }, "Costs and throughput"), place);
  async function load() {
    const { ok, said: f } = await get("/api/usage");
    if (!ok) return;
    const now = Date.now(), tile = (name, ...value) => h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value));
    place.replaceChildren(...[
      h("dl", { class: "tiles" }, tile("Spent", f.total.runs ? cost(f.total) : "nothing yet"), tile("Runs", f.total.runs)),
      h("div", { class: "plots" }, plot("Spent", f.spent, money, now), plot("Tasks merged", f.merged, (v) => String(Math.round(v * 10) / 10), now)),
      f.quality?.length ? section("Reviews and work", h("dl", { class: "figures" }, f.quality.map((q) => [h("dt", {}, q.name), h("dd", {}, q.text)]))) : null,
      spending("By task", "Task", f.by_task), spending("By agent", "Agent", f.by_agent),
    ].filter(Boolean));
  }
  load();
  return { update: later(3000, load) };
}
