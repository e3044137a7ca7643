// The task graph, as the server has laid it out. Wheel and drag, + - 0 and arrows move it.
import { h, svg, words, plain, later, tone, over } from "./dom.js";
import { get, path } from "./live.js";

const cut = (s, n) => (s.length > n ? `${s.slice(0, n - 1)}…` : s);

function node(n) {
  const title = plain(n.title);
  return svg("a", { href: `#/task/${path(n.id)}`, class: `node ${tone(n.status)}${n.critical ? " critical" : ""}`, "data-row": true },
    svg("title", {}, `${n.id}: ${title}`), svg("rect", { x: n.x, y: n.y, width: n.w, height: n.h, rx: 6 }), svg("circle", { cx: n.x + 13, cy: n.y + 14, r: 4 }),
    svg("text", { class: "id", x: n.x + 23, y: n.y + 18 }, cut(plain(n.id), 22)), svg("text", { class: "st", x: n.x + n.w - 8, y: n.y + 18, "text-anchor": "end" }, words(n.status)),
    svg("text", { x: n.x + 10, y: n.y + 36 }, cut(title, Math.floor(n.w / 7))));
}

export function show(root) {
  let data = null, box = null, drawn = "";
  const drawing = svg("svg", { class: "graph", role: "group", "aria-label": "Task graph", tabindex: "0" });
  const chain = h("p", { class: "quiet" });
  const many = 300; // more than that is drawn without what is over, unless it is asked for
  let all = null;
  const whole = h("button", { type: "button", class: "quiet", hidden: true, "aria-pressed": "false", onclick: () => { all = !all; drawn = ""; load(); } }, "Done tasks too");
  const button = (label, title, act) => h("button", { type: "button", class: "quiet", title, onclick: act }, label);
  root.append(h("div", { class: "bar" }, h("h2", { class: "title" }, "Graph"), whole, button("+", "Zoom in (+)", () => zoom(0.8)), button("−", "Zoom out (-)", () => zoom(1.25)), button("Fit", "Show all (0)", fit)), chain, drawing);

  const put = () => drawing.setAttribute("viewBox", `${box.x} ${box.y} ${box.w} ${box.h}`);

  // fit shows everything, but no larger than life.
  function fit() {
    const r = drawing.getBoundingClientRect(), scale = Math.max(1, data.width / r.width, data.height / r.height);
    box = { x: 0, y: 0, w: r.width * scale, h: r.height * scale };
    put();
  }

  // begin shows everything that can still be read, from the beginning of the longest chain on.
  function begin() {
    fit();
    const scale = box.w / drawing.getBoundingClientRect().width, first = data.nodes.find((n) => n.id === data.critical?.[0]);
    if (scale <= 1.6) return;
    zoom(1.3 / scale, 0, 0);
    if (first && first.y + first.h > box.h) box.y = first.y - box.h / 3;
    if (first && first.x + first.w > box.w) box.x = first.x - 20;
    put();
  }

  function zoom(by, cx = box.x + box.w / 2, cy = box.y + box.h / 2) {
    box = { x: cx - (cx - box.x) * by, y: cy - (cy - box.y) * by, w: box.w * by, h: box.h * by };
    put();
  }

  const place = (e) => { const r = drawing.getBoundingClientRect(); return [box.x + (e.clientX - r.left) / r.width * box.w, box.y + (e.clientY - r.top) / r.height * box.h]; };
  drawing.addEventListener("wheel", (e) => { if (box) { e.preventDefault(); zoom(Math.exp(e.deltaY * 0.0015), ...place(e)); } }, { passive: false });
  let held = null;
  drawing.addEventListener("pointerdown", (e) => { if (box) held = { x: e.clientX, y: e.clientY, from: { ...box }, far: false }; });
  drawing.addEventListener("pointermove", (e) => {
    if (!held) return;
    const dx = e.clientX - held.x, dy = e.clientY - held.y, r = drawing.getBoundingClientRect();
    if (!held.far && Math.hypot(dx, dy) < 4) return;
    if (!held.far) drawing.setPointerCapture(e.pointerId);
    held.far = true;
    box = { ...box, x: held.from.x - dx / r.width * box.w, y: held.from.y - dy / r.height * box.h };
    put();
  });
  drawing.addEventListener("pointerup", () => { setTimeout(() => { held = null; }); });
  drawing.addEventListener("pointercancel", () => { held = null; });
  drawing.addEventListener("click", (e) => { if (held?.far) e.preventDefault(); }, true);
  drawing.addEventListener("dragstart", (e) => e.preventDefault());
  drawing.addEventListener("keydown", (e) => {
    const step = box && { "+": () => zoom(0.8), "-": () => zoom(1.25), 0: fit, ArrowLeft: () => slide(-0.1, 0), ArrowRight: () => slide(0.1, 0), ArrowUp: () => slide(0, -0.1), ArrowDown: () => slide(0, 0.1) }[e.key];
    if (step) { e.preventDefault(); e.stopPropagation(); step(); }
  });
  const slide = (dx, dy) => { box = { ...box, x: box.x + dx * box.w, y: box.y + dy * box.h }; put(); };
  // A node that keys have reached is brought into sight.
  drawing.addEventListener("focusin", (e) => {
    const n = data?.nodes.find((n) => e.target.getAttribute("href") === `#/task/${path(n.id)}`);
    if (n && (n.x < box.x || n.y < box.y || n.x + n.w > box.x + box.w || n.y + n.h > box.y + box.h)) { box = { ...box, x: n.x + n.w / 2 - box.w / 2, y: n.y + n.h / 2 - box.h / 2 }; put(); }
  });

  async function load() {
    const { ok, said } = await get("/api/graph");
    if (!ok || JSON.stringify(said) === drawn) return;
    const firstTime = !data;
    drawn = JSON.stringify(said);
    all ??= said.nodes.length <= many;
    whole.hidden = said.nodes.length <= many;
    whole.setAttribute("aria-pressed", String(all));
    data = { ...said, nodes: all ? said.nodes : said.nodes.filter((n) => !over.includes(n.status)) };
    const at = new Map(data.nodes.map((n) => [n.id, n]));
    const edges = data.edges.filter((e) => at.has(e.from) && at.has(e.to)).map((e) => {
      const a = at.get(e.from), b = at.get(e.to), x1 = a.x + a.w, y1 = a.y + a.h / 2, x2 = b.x, y2 = b.y + b.h / 2, bend = Math.max(24, (x2 - x1) / 2);
      return svg("path", { class: `edge${e.superseded ? " superseded" : ""}${e.critical ? " critical" : ""}`, d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 1} ${y2}`, "marker-end": e.critical ? "url(#arrow-c)" : "url(#arrow)" });
    });
    const arrow = (id) => svg("marker", { id, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto", markerUnits: "userSpaceOnUse" }, svg("path", { d: "M0 0L8 4L0 8z" }));
    const focused = document.activeElement?.getAttribute?.("href");
    drawing.replaceChildren(svg("defs", {}, arrow("arrow"), arrow("arrow-c")), ...edges, ...data.nodes.map(node));
    if (focused) drawing.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
    chain.replaceChildren(...(data.critical?.length ? ["Longest chain of what is open: ", ...data.critical.flatMap((id, i) => [i ? " → " : "", h("a", { class: "id", href: `#/task/${path(id)}` }, id)])]
      : [data.nodes.length ? "Nothing is open." : "No task yet."]));
    if (firstTime) begin();
  }
  load();
  const refit = new ResizeObserver(() => { if (data) begin(); });
  refit.observe(drawing);
  return { update: later(1500, load), close() { refit.disconnect(); } };
}
