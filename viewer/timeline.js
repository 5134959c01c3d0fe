// A timeline on a canvas: panels of rows of bars, all on one time scale. Bars that are narrower than a pixel
// are merged already (harness/desk/analysis/excerpt.h), and of bars in one pixel the first is drawn.

const ROW = 20, BAR = 17, HEAD = 20, AXIS = 22;

class Timeline extends RangePicture {
  // `panels`: [title, timeline of diagnose] each.
  constructor(figure, panels) {
    super(figure, "X", { key: 1.5, double: 2, wheel: 300 },
      { ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2) });
    this.legend = figure.querySelector(".legend");
    this.found = figure.querySelector(".found");
    const find = figure.querySelector(".find");
    find.addEventListener("input", () => this.seek(find.value));
    figure.addEventListener("moment", ({ detail }) => this.showMoment(detail));
    this.set(panels);
    this.restore();
    if (find.value) this.seek(find.value);
  }

  // A moment of a variant's file, with as much before and after it.
  showMoment({ variant, start, ns }) {
    const [, timeline] = this.panels.find(([title]) => title === variant), at = nsBetween(timeline.start_ns, start);
    this.show(at - ns, at + 2 * ns);
  }

  set(panels) {
    this.panels = panels;
    const spans = panels.map(([, timeline]) => timeline.span_ns ?? nsBetween(timeline.start_ns, timeline.end_ns));
    this.showWhole(Math.max(1, ...spans));
    this.rows = panels.flatMap(([title, timeline], i) => [{ head: headOf(title, timeline, spans[i]) },
      ...timeline.rows.map((row) => ({ ...row, timeline, span: spans[i], label: labelOf(row) }))]);
    this.fillLegend();
    this.draw();
  }

  height() {
    return AXIS + this.rows.reduce((sum, row) => sum + (row.head ? HEAD : ROW), 0);
  }

  least() { return Math.max(this.whole / 1e6, 20); }
  left() { return this.width < 560 ? 62 : 110; }
  x(ns) { return this.left() + (this.width - this.left()) * (ns - this.from) / (this.to - this.from); }
  at(x) { return this.from + (this.to - this.from) * (x - this.left()) / (this.width - this.left()); }

  paint(context) {
    this.drawAxis(context);
    let top = AXIS;
    for (const row of this.rows) {
      row.top = top;
      if (row.head) this.drawHead(context, row);
      else this.drawRow(context, row);
      top += row.head ? HEAD : ROW;
    }
    if (this.sought) this.tellFound();
  }

  drawAxis(context) {
    const ink = variable("--dim"), line = variable("--line");
    for (const at of ticks(this.from, this.to, Math.max(2, (this.width - this.left()) / 110))) {
      const x = this.x(at);
      context.fillStyle = line;
      context.fillRect(x, AXIS - 4, 1, this.height() - AXIS + 4);
      context.fillStyle = ink;
      context.textAlign = x > this.width - 30 ? "right" : "center";
      context.fillText(fineTime(at), Math.min(x, this.width), 9);
    }
  }

  drawHead(context, row) {
    context.fillStyle = variable("--paper");
    context.fillRect(0, row.top, context.measureText(row.head).width + 6, HEAD);
    context.fillStyle = variable("--ink");
    context.textAlign = "left";
    context.fillText(row.head, 0, row.top + HEAD / 2 + 2);
  }

  drawRow(context, row) {
    context.fillStyle = variable("--dim");
    context.textAlign = "left";
    context.fillText(fit(context, row.label, this.left() - 6), 0, row.top + ROW / 2);
    context.save();
    context.beginPath();
    context.rect(this.left(), row.top, Math.max(0, this.x(row.span) - this.left()), ROW);
    context.clip();
    let drawn = -Infinity;
    for (let i = 0; i < row.start_ns.length; i++) {
      const start = row.start_ns[i], end = start + row.duration_ns[i];
      if (end < this.from || start > this.to) continue;
      const x = this.x(start), width = Math.max(1, this.x(end) - x);
      if (x + width < drawn + 0.5) continue;
      drawn = x + width;
      this.drawBar(context, row, i, x, width);
    }
    context.restore();
  }

  drawBar(context, row, i, x, width) {
    const category = row.kind === "steps" ? "steps" : row.categories[row.category[i]];
    const colour = colourOf(category), y = row.top + (ROW - BAR) / 2;
    context.globalAlpha = this.sought && !nameOf(row, i).toLowerCase().includes(this.sought) ? 0.15 : 1;
    context.fillStyle = colour;
    context.fillRect(x, y, width > 3 ? width - 0.6 : width, BAR);
    if (row.kind === "idle" && width > 3) hatch(context, x, y, width - 0.6);
    if (width < 26 || context.globalAlpha < 1) { context.globalAlpha = 1; return; }
    const seen = Math.max(x, this.left()), room = Math.min(x + width, this.width) - seen - 6;
    const text = fit(context, nameOf(row, i), room);
    if (text === "") return;
    if (row.kind === "idle") {
      context.fillStyle = colour;
      context.fillRect(seen + 2, y + 1, context.measureText(text).width + 3, BAR - 2);
    }
    context.fillStyle = inkOn(colour);
    context.textAlign = "left";
    context.fillText(text, seen + 3, y + BAR / 2 + 0.5);
  }

  fillLegend() {
    const seen = new Set(this.rows.filter((row) => !row.head).flatMap((row) => row.categories));
    this.legend.replaceChildren(...[...seen].map((name) => legendEntry(name, colourOf(name))));
  }

  // --- Finding a name ---

  seek(text) {
    this.sought = text.trim().toLowerCase();
    this.found.textContent = "";
    this.redraw();
  }

  // How many bars have the name, and how long they take.
  tellFound() {
    let count = 0, ns = 0;
    for (const row of this.rows.filter((one) => !one.head))
      row.start_ns.forEach((_, i) => {
        if (!nameOf(row, i).toLowerCase().includes(this.sought)) return;
        count += row.count ? row.count[i] : 1;
        ns += row.duration_ns[i];
      });
    this.found.textContent = count === 0 ? "not there" : `${count}, ${fineTime(ns)}`;
  }

  // --- What is under the pointer ---

  hover(event) {
    const row = this.rows.find((one) => !one.head && event.offsetY >= one.top && event.offsetY < one.top + ROW);
    const i = row && event.offsetX >= this.left() ? nearest(row, this.at(event.offsetX),
      2 * (this.to - this.from) / (this.width - this.left())) : -1;
    if (i < 0) hideTip();
    else showTip(describe(row, i), event.clientX, event.clientY);
  }
}

function headOf(title, timeline, span) {
  const steps = timeline.steps;
  const which = steps.length === 0 ? "the whole trace"
    : steps.length === 1 ? `step ${steps[0]}` : `steps ${steps[0]} to ${steps.at(-1)}`;
  const left = timeline.tracks_left_out > 0 ? `; ${timeline.tracks_left_out} threads and streams are left out` : "";
  return `${title === "trace" ? "" : `${title}: `}${which}, ${fineTime(span)}${left}`;
}

function labelOf(row) {
  if (row.kind === "work") return `stream ${row.thread}`;
  if (row.kind === "idle") return "idle";
  const depth = row.depth > 0 ? ` ${row.depth + 1}` : "";
  return row.is_loop || row.kind === "steps" ? `${row.kind}${depth}` : `${row.kind}${depth} ${row.thread}`;
}

function nameOf(row, i) {
  if (row.name[i] === null) return row.kind === "steps" ? "step" : row.categories[row.category[i]];
  return row.timeline.names[row.name[i]];
}

// Idle time is striped: it is told from work without its colour.
function hatch(context, x, y, width) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, BAR);
  context.clip();
  context.strokeStyle = variable("--paper");
  context.globalAlpha = 0.6;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let at = Math.max(x, 0) - BAR; at < Math.min(x + width, 5000); at += 6) {
    context.moveTo(at, y + BAR);
    context.lineTo(at + BAR, y);
  }
  context.stroke();
  context.restore();
}

// The bar at a moment, or the closest within `slack`.
function nearest(row, at, slack) {
  let best = -1, least = slack;
  for (let i = 0; i < row.start_ns.length; i++) {
    const away = Math.max(row.start_ns[i] - at, at - row.start_ns[i] - row.duration_ns[i], 0);
    if (away < least || (away === 0 && least === 0)) { best = i; least = away; }
  }
  return best;
}

function describe(row, i) {
  const timeline = row.timeline, first = timeline.start_ns; // null: no file has these moments
  const file = first === null ? ""
    : ` (ts ${microsecondsText(BigInt(first) + BigInt(Math.round(row.start_ns[i])))} us in the file)`;
  const count = row.count ? row.count[i] : 1;
  const lines = [row.kind === "idle" ? `device idle: ${row.categories[row.category[i]]}` : nameOf(row, i)];
  if (count > 1) lines.push(`and ${count - 1} more, together ${fineTime(row.covered_ns[i])}`);
  lines.push(`start ${fineTime(row.start_ns[i])}${file}`,
    `duration ${fineTime(row.duration_ns[i])}`);
  if (row.kind !== "steps" && row.kind !== "idle") lines.push(`${row.label}: ${row.categories[row.category[i]]}`);
  return lines.join("\n");
}

// Takes a BigInt: moments of a file may have more digits than a number.
function microsecondsText(ns) {
  const rest = `${ns % 1000n}`.padStart(3, "0").replace(/0+$/, "");
  return rest === "" ? `${ns / 1000n}` : `${ns / 1000n}.${rest}`;
}
