// One rank beside the median of all: a pair of columns per step, split by what filled it, and the means as a table.

const PAIRS_HIGH = 170, PAIRS_BOTTOM = 22, PAIRS_LEFT = 62;
const NOT_PARTS = ["late", "waits"];

function layersOf(data) { return data.layers.filter((layer) => !NOT_PARTS.includes(layer.name)); }

const ACTIVITIES = ["own time", "waits for others", "transfer"]; // the first word of each is its class

// A rank's first steps as a timeline of diagnose: what it did one after the other. Times have two digits, so lengths of
// steps are near what they were. null: there are no collectives.
function timelineOf(data, row) {
  const { steps, counts, own_wait_transfer_ns: values, first } = data.timeline;
  const done = { start_ns: [], duration_ns: [], name: [], category: [] };
  const marks = { start_ns: [], duration_ns: [], name: [], category: [] };
  const add = (row, start, duration, name) => {
    row.start_ns.push(start);
    row.duration_ns.push(duration);
    row.name.push(name);
    row.category.push(name);
  };
  let at = first[row], now = 0;
  for (let step = 0; step < steps; step++) {
    const begin = now;
    for (const end = at + 3 * counts[row * steps + step]; at < end; at++) {
      const ns = values[at], activity = (at - first[row]) % 3;
      if (ns > 0) add(done, now, ns, activity);
      now += ns;
    }
    add(marks, begin, now - begin, 3 + step);
  }
  if (done.name.length === 0) return null;
  const names = [...ACTIVITIES, ...data.steps.slice(0, steps).map((number) => `step ${number}`)];
  return { start_ns: null, span_ns: now, steps: data.steps.slice(0, steps), tracks_left_out: 0, names, rows: [
    { kind: "steps", thread: 0, depth: 0, categories: [], ...marks },
    { kind: "rank", thread: data.ranks[row], depth: 0, categories: ACTIVITIES, ...done }] };
}

function medianOf(layer) { return layer.prepare().medians.reduce((sum, ns) => sum + ns, 0) / layer.columns; }
function signedTime(ns) { return `${ns < 0 ? "" : "+"}${roughTime(ns)}`; }

class RankSteps {
  constructor(figure, data) {
    this.figure = figure;
    this.data = data;
    this.canvas = figure.querySelector("canvas");
    this.row = null;
    this.timeline = null;
    listenForTips(this.canvas, (event) => this.hover(event));
    figure.querySelector(".legend").replaceChildren(...layersOf(data).map((layer) =>
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
    this.figure.querySelector(".means").replaceChildren(table(this.data.layers, [
      { head: "per step, mean", cell: (layer) => layer.title },
      { head: "this rank", class: "number", cell: (layer) => roughTime(this.mean(layer)) },
      { head: "median", class: "number", cell: (layer) => roughTime(medianOf(layer)) },
      { head: "beyond", class: "number", cell: (layer) => signedTime(this.mean(layer) - medianOf(layer)) }],
    { label: "Means of the chosen rank" }));
  }

  mean(layer) {
    let sum = 0;
    for (let i = 0; i < layer.columns; i++) sum += layer.value(this.row, i);
    return sum / layer.columns;
  }

  draw() {
    const parts = layersOf(this.data);
    if (this.row === null || parts.length === 0) return;
    this.width = this.canvas.clientWidth || 600;
    const context = startCanvas(this.canvas, this.width, PAIRS_HIGH + PAIRS_BOTTOM), columns = parts[0].columns;
    const sum = (of, i) => parts.reduce((total, layer) => total + of(layer, i), 0);
    const most = (of) => Math.max(...Array.from({ length: columns }, (_, i) => sum(of, i)));
    this.most = Math.max(1, most((layer, i) => layer.value(this.row, i)),
      most((layer, i) => layer.prepare().medians[i]));
    this.drawAxes(context, parts[0]);
    const each = this.each();
    for (let i = 0; i < columns; i++) {
      const x = PAIRS_LEFT + i * each, wide = Math.max(0.5, Math.min(each * 0.45, 34));
      this.drawStack(context, x, wide, parts.map((layer) => [layer, layer.value(this.row, i)]), 1);
      this.drawStack(context, x + wide, wide * 0.7, parts.map((layer) => [layer, layer.medians[i]]), 0.55);
    }
    this.canvas.dataset.row = this.row;
  }

  redraw() {
    this.draw();
    if (this.timeline) { this.timeline.fillLegend(); this.timeline.draw(); }
  }

  each() { return (this.width - PAIRS_LEFT) / layersOf(this.data)[0].columns; }

  drawAxes(context, layer) {
    context.textAlign = "right";
    for (const ns of ticks(0, this.most, 4)) {
      const y = PAIRS_HIGH - (PAIRS_HIGH - 8) * ns / this.most;
      context.fillStyle = variable("--line");
      context.fillRect(PAIRS_LEFT, y, this.width, 1);
      context.fillStyle = variable("--dim");
      context.fillText(fineTime(ns), PAIRS_LEFT - 6, y);
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
    const parts = layersOf(this.data);
    const i = this.row === null ? -1 : Math.floor((event.offsetX - PAIRS_LEFT) / this.each());
    if (i < 0 || i >= parts[0].columns) { hideTip(); return; }
    showTip([`step ${stepName(this.data, parts[0], i)}: this rank, and the median`, ...parts.map((layer) =>
      `${layer.title}: ${roughTime(layer.value(this.row, i))}, ${roughTime(layer.medians[i])}`)].join("\n"),
    event.clientX, event.clientY);
  }
}
