// A whole and its parts, as a flame upside down: parts of the outermost down, as wide as what they hold. A click or the
// keys enlarge a part.

const CALL = 20, NARROWEST = 1.5, LETTER = 6.9;

// The element. `parts`: {name, depth, start, size, and if they like the kind that has their colour}. `whole`: {name, size}; `text` writes a
// size, `label` says what the picture shows, and `hint` what its parts are.
function flameFigure(parts, whole, text, label, hint) {
  const chart = h("div", { class: "chart", tabindex: 0, role: "group", "aria-label": label });
  const all = h("button", { type: "button", class: "all" }, "All");
  const figure = h("div", { class: "flame" }, h("div", { class: "controls" }, all, " ", h("span", { class: "dim small" },
    `${hint}; click one to enlarge it, hover or tap for details; ← →, Enter and Escape do the same`)), chart);
  const flame = new Flame(chart, parts, { start: 0, depth: -1, ...whole, size: Math.max(1, whole.size) }, text, label);
  all.addEventListener("click", () => flame.show(flame.whole));
  return keepDrawn(figure, () => flame.draw());
}

class Flame {
  constructor(chart, parts, whole, text, label) {
    Object.assign(this, { chart, parts, whole, text, label, shown: whole, chosen: -1, drawn: [] });
    chart.addEventListener("pointerleave", hideTip);
    chart.addEventListener("blur", () => this.choose(-1));
    const keys = { ArrowRight: () => this.choose(Math.min(this.chosen + 1, this.drawn.length - 1)),
      ArrowLeft: () => this.choose(Math.max(this.chosen - 1, 0)), Escape: () => this.show(this.whole),
      Enter: () => this.drawn[this.chosen] && this.show(this.drawn[this.chosen].part) };
    chart.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  show(part) {
    this.shown = part;
    this.draw();
  }

  // The parts above the one that is shown are as wide as the picture.
  draw() {
    const { start: from, size: span } = this.shown, to = from + span;
    const parts = this.parts.filter((one) => one.start < to && one.start + one.size > from);
    const depth = Math.max(0, ...parts.map((one) => one.depth)) + 1;
    const [chart, width] = startChart(this.chart, depth * CALL, `${this.label}: ${this.text(span)}${
      this.shown === this.whole ? "" : ` by ${this.shown.name}`}. The table below has its lines.`);
    const x = (at) => width * Math.min(1, Math.max(0, (at - from) / span));
    this.drawn = [];
    this.chosen = -1;
    for (const part of parts) {
      const left = x(part.start), wide = x(part.start + part.size) - left;
      if (wide >= NARROWEST) this.drawn.push({ part, group: this.drawPart(chart, part, left, wide) });
    }
    this.chart.dataset.shown = this.shown.name;
  }

  drawPart(chart, part, left, wide) {
    const colour = part.kind ? colourOf(part.kind) : variable(fileColour(part.name)), top = part.depth * CALL;
    const room = Math.floor((wide - 8) / LETTER), group = svg(chart, "g", { class: "call" });
    svg(group, "rect", { x: left, y: top, width: Math.max(1, wide - 1), height: CALL - 2, fill: colour });
    if (room > 2)
      svg(group, "text", { x: left + 4, y: top + 14, style: `fill:${inkOn(colour)}` },
        part.name.length > room ? `${part.name.slice(0, room - 1)}…` : part.name);
    group.addEventListener("click", () => this.show(part));
    group.addEventListener("pointermove", (event) => showTip(this.about(part), event.clientX, event.clientY));
    return group;
  }

  // The part that the keys have reached.
  choose(number) {
    this.drawn[this.chosen]?.group.classList.remove("chosen");
    this.chosen = number;
    const one = this.drawn[number];
    if (!one) { hideTip(); return; }
    one.group.classList.add("chosen");
    const place = one.group.getBoundingClientRect();
    showTip(this.about(one.part), place.left, place.bottom);
  }

  about(part) {
    const share = 100 * part.size / this.whole.size;
    return `${part.name}\n${this.text(part.size)}, ${share.toPrecision(3)}% of ${this.whole.name}`;
  }
}

// Calls of one file have one colour, which does not depend on the others.
function fileColour(line) {
  let hash = 0;
  for (const letter of line.replace(/:\d+ .*/, "")) hash = (31 * hash + letter.codePointAt(0)) % 1000003;
  return MEMORY_COLOURS[hash % MEMORY_COLOURS.length];
}
