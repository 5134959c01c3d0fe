"use strict";
// One rank beside the median of all: a pair of columns per step, split by what filled it, and the means as a table.

const PAIRS_HIGH = 170, PAIRS_BOTTOM = 22, PAIRS_LEFT = 62;
const NOT_PARTS = ["late", "waits"];

function partsOf(data) { return data.layers.filter((layer) => !NOT_PARTS.includes(layer.name)); }

const ACTIVITIES = ["own time", "waits for others", "transfer"]; // the first word of each is its class

// A rank's first steps as a timeline of diagnose: what it did one after the other. Bytes know two digits, so lengths of steps
// are near what they were. null: there are no collectives.
function timelineOf(data, row) {
  const { steps, counts, most_ns, levels, first } = data.timeline;
  const done = { start_ns: [], duration_ns: [], name: [], category: [] }, marks = { start_ns: [], duration_ns: [], name: [] };
  let at = first[row], now = 0;
  for (let step = 0; step < steps; step++) {
    const begin = now;
    for (const end = at + 3 * counts[row * steps + step]; at < end; at++) {
      const ns = (levels[at] / 127) ** 2 * most_ns, activity = (at - first[row]) % 3;
      if (ns > 0)
        for (const [key, value] of [["start_ns", now], ["duration_ns", ns], ["name", activity], ["category", activity]]) done[key].push(value);
      now += ns;
    }
    for (const [key, value] of [["start_ns", begin], ["duration_ns", now - begin], ["name", 3 + step]]) marks[key].push(value);
  }
  if (done.name.length === 0) return null;
  const names = [...ACTIVITIES, ...data.steps.slice(0, steps).map((number) => `step ${number}`)];
  return { start_ns: null, span_ns: now, steps: data.steps.slice(0, steps), tracks_left_out: 0, names, rows: [
    { kind: "steps", thread: 0, depth: 0, categories: [], category: marks.name, ...marks },
    { kind: "rank", thread: data.ranks[row], depth: 0, categories: ACTIVITIES, ...done }] };
}

class RankSteps {
  constructor(figure, data) {
    this.figure = figure;
    this.data = data;
    this.canvas = figure.querySelector("canvas");
    this.row = null;
    this.timeline = null;
    listenForTips(this.canvas, (event) => this.hover(event));
    figure.querySelector(".legend").replaceChildren(...partsOf(data).map((layer) =>
      legendEntry(layer.title, colourOf(layer.name))));
  }

  show(row) {
    this.row = row;
    this.figure.hidden = false;
    const { ranks, nodes, names } = this.data;
    this.figure.querySelector("h3").textContent = `Rank ${ranks[row]} on ${names[nodes[row]]}`;
    this.fill();
    this.draw();
    this.showTimeline();
  }

  showTimeline() {
    const figure = this.figure.querySelector(".timeline"), timeline = timelineOf(this.data, this.row);
    figure.hidden = timeline === null;
    if (timeline === null) return;
    if (this.timeline) this.timeline.set([["trace", timeline]]);
    else this.timeline = new Timeline(figure, [["trace", timeline]]);
  }

  fill() {
    const cell = (tag, text, number) => {
      const one = document.createElement(tag);
      one.textContent = text;
      if (number) one.className = "number";
      if (tag === "th") one.scope = "row";
      return one;
    };
    this.figure.querySelector("tbody").replaceChildren(...this.data.layers.map((layer) => {
      const columns = layer.prepare().columns, line = document.createElement("tr");
      let own = 0, median = 0;
      for (let i = 0; i < columns; i++) {
        own += layer.ns(this.row, i) / columns;
        median += layer.medians[i] / columns;
      }
      line.append(cell("th", layer.title), cell("td", roughTime(own), true), cell("td", roughTime(median), true),
        cell("td", `${own < median ? "" : "+"}${roughTime(own - median)}`, true));
      return line;
    }));
  }

  draw() {
    const parts = partsOf(this.data);
    if (this.row === null || parts.length === 0) return;
    this.width = this.canvas.clientWidth || 600;
    const context = startCanvas(this.canvas, this.width, PAIRS_HIGH + PAIRS_BOTTOM), columns = parts[0].columns;
    const sums = (of) => Math.max(...Array.from({ length: columns }, (_, i) => parts.reduce((sum, layer) => sum + of(layer, i), 0)));
    this.most = Math.max(1, sums((layer, i) => layer.ns(this.row, i)), sums((layer, i) => layer.prepare().medians[i]));
    this.drawAxes(context, parts[0]);
    const each = this.each();
    for (let i = 0; i < columns; i++) {
      const x = PAIRS_LEFT + i * each, wide = Math.max(0.5, Math.min(each * 0.45, 34));
      this.drawStack(context, x, wide, parts.map((layer) => [layer, layer.ns(this.row, i)]), 1);
      this.drawStack(context, x + wide, wide * 0.7, parts.map((layer) => [layer, layer.medians[i]]), 0.55);
    }
    this.canvas.dataset.row = this.row;
  }

  redraw() {
    this.draw();
    if (this.timeline) { this.timeline.fillLegend(); this.timeline.draw(); }
  }

  each() { return (this.width - PAIRS_LEFT) / partsOf(this.data)[0].columns; }

  drawAxes(context, layer) {
    context.textAlign = "right";
    for (const ns of ticks(0, this.most, 4)) {
      const y = PAIRS_HIGH - (PAIRS_HIGH - 8) * ns / this.most;
      context.fillStyle = variable("--line");
      context.fillRect(PAIRS_LEFT, y, this.width, 1);
      context.fillStyle = variable("--dim");
      context.fillText(timeText(ns), PAIRS_LEFT - 6, y);
    }
    context.textAlign = "left";
    const every = Math.max(1, Math.ceil(56 / this.each()));
    for (let i = 0; i < layer.columns; i += every)
      context.fillText(stepName(this.data, layer, i), PAIRS_LEFT + i * this.each(), PAIRS_HIGH + 12);
    context.fillText("step", 0, PAIRS_HIGH + 12);
  }

  drawStack(context, x, wide, values, alpha) {
    let bottom = PAIRS_HIGH;
    context.globalAlpha = alpha;
    for (const [layer, ns] of values) {
      const height = (PAIRS_HIGH - 8) * ns / this.most;
      context.fillStyle = colourOf(layer.name);
      context.fillRect(x, bottom - height, wide, height);
      bottom -= height;
    }
    context.globalAlpha = 1;
  }

  hover(event) {
    const parts = partsOf(this.data), i = this.row === null ? -1 : Math.floor((event.offsetX - PAIRS_LEFT) / this.each());
    if (i < 0 || i >= parts[0].columns) { hideTip(); return; }
    showTip([`step ${stepName(this.data, parts[0], i)}: this rank, and the median`, ...parts.map((layer) =>
      `${layer.title}: ${roughTime(layer.ns(this.row, i))}, ${roughTime(layer.medians[i])}`)].join("\n"),
    event.clientX, event.clientY);
  }
}
