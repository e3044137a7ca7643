// What commands of review.evidence made of a task's work, beside what they made of its base. The files come from a program of agents: only
// pictures and videos are shown, as such; all others are downloaded.
import { h, text, code, short } from "./dom.js";
import { get, path } from "./live.js";

const sides = [["base", "Base"], ["candidate", "Work"]];

function exhibit(e, f) {
  const at = (side) => `/api/tasks/${path(e.task)}/evidence?commit=${e.commit}&side=${side}&file=${path(f.name)}`;
  const there = sides.filter(([side]) => (side === "base" ? f.result !== "new" : f.result !== "gone"));
  const links = h("p", { class: "quiet" }, there.map(([side, title]) => [h("a", { href: at(side), download: f.name.split("/").pop() }, `Download ${title.toLowerCase()}`), " "]), `${f.size} bytes`);
  let shown = null;
  if (f.kind.startsWith("video/")) shown = h("div", { class: "sides" }, there.map(([side, title]) => h("figure", {}, h("figcaption", {}, title), h("video", { src: at(side), controls: true, preload: "metadata" }))));
  else if (f.kind.startsWith("image/")) shown = pictures(f, there, at);
  return h("section", { class: `exhibit e-${f.result}`, "data-row": true, tabindex: "-1" }, h("h3", {}, code(f.name)), text(f.says, f.result === "differs" ? "" : "note"), shown, links);
}

// pictures shows two of them side by side, one over the other with a slider between them, or their difference.
function pictures(f, there, at) {
  const place = h("div");
  const picture = ([side, title]) => h("img", { src: at(side), alt: `${f.name}, ${title.toLowerCase()}` });
  const beside = () => h("div", { class: "sides" }, there.map((s) => h("figure", {}, h("figcaption", {}, s[1]), picture(s))));
  if (there.length < 2) return beside();
  const over = (kind) => h("div", { class: `over ${kind}` }, there.map(picture));
  function slider() {
    const both = over("slides"), cut = () => both.style.setProperty("--cut", `${input.value}%`);
    const input = h("input", { type: "range", min: 0, max: 100, value: 50, "aria-label": "Base on the left, work on the right", oninput: cut });
    cut();
    return h("div", {}, both, h("p", { class: "ends" }, h("span", {}, "Base"), input, h("span", {}, "Work")));
  }
  const ways = [["Side by side", beside], ["Slider", slider], ["Difference", () => over("differs")]];
  const choose = (i) => { place.replaceChildren(ways[i][1]()); buttons.forEach((b, n) => b.setAttribute("aria-pressed", String(n === i))); };
  const buttons = ways.map(([title], i) => h("button", { type: "button", onclick: () => choose(i) }, title));
  choose(0);
  return h("div", {}, h("p", { class: "ways" }, buttons), place);
}

export function evidence(id, place) {
  let closed = false;
  place.replaceChildren(h("p", { class: "quiet" }, "…"));
  get(`/api/tasks/${path(id)}/evidence`).then(({ ok, said }) => {
    const e = ok && said.evidence;
    if (closed) return;
    if (!e) return place.replaceChildren(h("p", { class: "empty" }, "There is none: no rule of review.evidence is for what it changes, or it has not been reviewed."));
    place.replaceChildren(h("p", { class: "quiet" }, "Made by Liza on ", short(e.commit), " and on its base ", short(e.base), "."), e.missing ? text(`Missing: ${e.missing}`, "note") : "", e.no_base ? text(`Of the base: ${e.no_base}`, "note") : "",
      ...e.files.map((f) => exhibit(e, f)));
  });
  return { close() { closed = true; } };
}
