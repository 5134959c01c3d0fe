// Ranks against steps on a canvas: a row per rank, by node; a column per step. If several ranks share a pixel, the one
// that is farthest beyond the others is drawn, so that one of 16,384 is seen.

const TOP = 22, RIGHT = 14, LABEL = 14, LEAST_ROWS = 4;
const LIGHT = { below: ["#ffffff", "#56b4e9", "#00436b"], above: ["#ffffff", "#f6c65b", "#d55e00", "#5c1f00"] };
const DARK = { below: ["#1d2126", "#1f6a9c", "#a8dcff"], above: ["#1d2126", "#7a4600", "#e69f00", "#fff3b0"] };
const TONES = 256;
const LAYER_TITLES = { late: "own time beyond the others'", waits: "waits for others" };

// A layer of the map, whose values are beyond the median of their column.
class Layer {
  constructor(about, rows) {
    Object.assign(this, about, { rows, title: LAYER_TITLES[about.name] || PARTS.get(about.name) || about.name });
    if (about.ns.length !== rows * about.columns) throw new Error(`layer ${about.name} has ${about.ns.length} values`);
  }

  value(row, column) { return this.ns[row * this.columns + column]; }

  // The value that half of the ranks have at most.
  median(column) {
    const values = Float64Array.from({ length: this.rows }, (_, row) => this.value(row, column)).sort();
    return values[Math.ceil(this.rows / 2) - 1];
  }

  prepare() {
    if (this.beyond) return this;
    this.medians = Float64Array.from({ length: this.columns }, (_, column) => this.median(column));
    this.beyond = Float32Array.from(this.ns, (ns, at) => ns - this.medians[at % this.columns]);
    this.most = this.beyond.reduce((most, ns) => Math.max(most, Math.abs(ns)), 1);
    return this;
  }
}

function isDark() {
  return getComputedStyle(document.documentElement).colorScheme === "dark";
}

// Tones from the lowest to the highest value, as the words of an image.
function tones() {
  const scale = isDark() ? DARK : LIGHT, words = new Uint32Array(2 * TONES + 1);
  for (let i = -TONES; i <= TONES; i++) {
    const stops = i < 0 ? scale.below : scale.above, at = Math.abs(i) / TONES * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2), part = at - low;
    const channel = (k) => Math.round(parseInt(stops[low].slice(k, k + 2), 16) * (1 - part)
      + parseInt(stops[low + 1].slice(k, k + 2), 16) * part);
    words[i + TONES] = (255 << 24 | channel(5) << 16 | channel(3) << 8 | channel(1)) >>> 0;
  }
  return words;
}

class HeatMap extends RangePicture {
  // `chosen` is called with a row, and null if none is.
  constructor(figure, data, chosen) {
    const step = (by) => () => this.select(this.selected === null ? Math.floor(this.from) : this.selected + by);
    super(figure, "Y", { key: 2, double: 4, wheel: 200 }, { ArrowUp: step(-1), ArrowDown: step(1),
      PageUp: () => this.pan(-0.8), PageDown: () => this.pan(0.8) });
    this.data = data;
    this.chosen = chosen;
    this.showWhole(data.ranks.length);
    this.layer = data.layers[0].prepare();
    this.selected = null;
    this.draw();
  }

  least() { return LEAST_ROWS; }
  left() { return this.width < 560 ? 66 : 130; }
  height() { return this.width < 560 ? 360 : 480; }
  bottom() { return this.height() - 2; }
  y(row) { return TOP + (this.bottom() - TOP) * (row - this.from) / (this.to - this.from); }
  at(y) { return this.from + (this.to - this.from) * (y - TOP) / (this.bottom() - TOP); }
  x(column) { return this.left() + (this.width - RIGHT - this.left()) * column / this.layer.columns; }
  column(x) { return Math.floor(this.layer.columns * (x - this.left()) / (this.width - RIGHT - this.left())); }

  paint(context) {
    this.drawCells(context);
    this.drawSteps(context);
    this.drawRows(context);
    this.drawMarks(context);
  }

  // Each line of pixels has the farthest of its ranks in each column.
  drawCells(context) {
    const height = Math.max(1, Math.round((this.bottom() - TOP) * window.devicePixelRatio));
    const { columns, beyond, most } = this.layer;
    const image = new ImageData(columns, height), words = new Uint32Array(image.data.buffer), tone = tones();
    const each = (this.to - this.from) / height;
    for (let line = 0; line < height; line++) {
      const first = Math.min(this.whole - 1, Math.floor(this.from + line * each));
      const last = Math.max(first + 1, Math.min(this.whole, Math.floor(this.from + (line + 1) * each)));
      for (let column = 0; column < columns; column++) {
        let farthest = 0;
        for (let row = first; row < last; row++) {
          const value = beyond[row * columns + column];
          if (Math.abs(value) > Math.abs(farthest)) farthest = value;
        }
        words[line * columns + column] = tone[TONES + Math.round(TONES * farthest / most)];
      }
    }
    const cells = h("canvas", { width: columns, height });
    cells.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(cells, this.left(), TOP, this.width - RIGHT - this.left(), this.bottom() - TOP);
    context.strokeStyle = variable("--line");
    context.strokeRect(this.left() + 0.5, TOP + 0.5, this.width - RIGHT - this.left() - 1, this.bottom() - TOP - 1);
  }

  drawSteps(context) {
    const every = Math.max(1, Math.ceil(this.layer.columns * 56 / (this.width - RIGHT - this.left())));
    context.fillStyle = variable("--dim");
    context.textAlign = "center";
    for (let column = 0; column < this.layer.columns; column += every)
      context.fillText(stepName(this.data, this.layer, column), this.x(column + 0.5), 11);
    context.textAlign = "left";
    context.fillText("step", 0, 11);
  }

  // Names of nodes, or of ranks if there is room; a line between nodes.
  drawRows(context) {
    const { nodes, names, ranks } = this.data, row = this.y(1) - this.y(0), room = this.left() - 14;
    let free = TOP;
    context.textAlign = "left";
    for (let i = Math.max(0, Math.floor(this.from)); i < Math.min(this.whole, this.to); i++) {
      const begins = i === 0 || nodes[i] !== nodes[i - 1], y = Math.max(TOP, this.y(i));
      if (begins && row > 1.5 && i > this.from) {
        context.fillStyle = variable("--dim");
        context.globalAlpha = 0.5;
        context.fillRect(0, y - 0.5, this.width - RIGHT, 1);
        context.globalAlpha = 1;
      }
      const named = row >= LABEL, middle = named ? y + row / 2 : y + 7;
      const isFirst = i === Math.floor(this.from);
      if (!(named || begins || isFirst) || middle - 7 < free || middle + 7 > this.bottom() + 2) continue;
      free = middle + 7;
      context.fillStyle = variable(i === this.selected ? "--ink" : "--dim");
      const node = begins || isFirst ? names[nodes[i]] : "", rank = named ? `${ranks[i]} ` : "";
      context.fillText(`${rank}${fitEnd(context, node, room - context.measureText(rank).width)}`, 0, middle);
    }
  }

  // Triangles: at the right what findings name, at the left the chosen rank.
  drawMarks(context) {
    for (const [first, last] of this.data.marks.flatMap((mark) => rowsOf(this.data, mark)))
      this.drawMark(context, first, last, this.width - RIGHT + 2, 1, variable("--bad"));
    if (this.selected === null) return;
    const y = this.y(this.selected), height = this.y(this.selected + 1) - y;
    this.drawMark(context, this.selected, this.selected + 1, this.left() - 2, -1, variable("--ink"));
    if (height < 5 || y < TOP - height || y > this.bottom()) return;
    context.strokeStyle = variable("--ink");
    context.strokeRect(this.left() + 0.5, y, this.width - RIGHT - this.left() - 1, height);
  }

  drawMark(context, first, last, x, side, colour) {
    const top = Math.max(TOP, this.y(first)), bottom = Math.min(this.bottom(), this.y(last)), y = (top + bottom) / 2;
    if (bottom < top) return;
    context.fillStyle = colour;
    context.fillRect(side > 0 ? x : x - 2, top, 2, bottom - top);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + 9 * side, y - 6);
    context.lineTo(x + 9 * side, y + 6);
    context.fill();
  }

  // --- Moving ---

  // The middle, which zooming keeps in its place: the chosen rank, if it is shown.
  middle() {
    const shown = this.selected !== null && this.selected >= this.from && this.selected < this.to;
    return shown ? this.selected + 0.5 : super.middle();
  }

  select(row, near = false) {
    this.selected = Math.max(0, Math.min(this.whole - 1, row));
    if (near) this.show(this.selected - 12, this.selected + 12);
    else if (this.selected < this.from) this.show(this.selected, this.selected + this.to - this.from);
    else if (this.selected >= this.to) this.show(this.selected + 1 - (this.to - this.from), this.selected + 1);
    else this.redraw();
    this.chosen(this.selected);
  }

  showLayer(name) {
    this.layer = this.data.layers.find((layer) => layer.name === name).prepare();
    this.redraw();
  }

  click(event) {
    const cell = this.cell(event);
    if (cell) this.select(cell.row);
  }

  // --- What is under the pointer ---

  hover(event) {
    const cell = this.cell(event);
    if (cell) showTip(this.describe(cell), event.clientX, event.clientY);
    else hideTip();
  }

  // The farthest rank of those that share the pixel; null outside.
  cell(event) {
    const column = this.column(event.offsetX), { columns, beyond } = this.layer;
    const first = Math.floor(this.at(event.offsetY));
    const last = Math.max(first + 1, Math.floor(this.at(event.offsetY + 1)));
    if (column < 0 || column >= columns || first < 0 || first >= this.whole) return null;
    let best = first;
    for (let row = first; row < Math.min(last, this.whole); row++)
      if (Math.abs(beyond[row * columns + column]) > Math.abs(beyond[best * columns + column])) best = row;
    return { row: best, column };
  }

  describe({ row, column }) {
    const { ranks, nodes, names } = this.data, value = this.layer.beyond[row * this.layer.columns + column];
    const median = this.layer.name === "late" ? "" : ` (the median has ${fineTime(this.layer.medians[column])})`;
    return `rank ${ranks[row]} on ${names[nodes[row]]}, step ${stepName(this.data, this.layer, column)}\n`
      + `${this.layer.title}: ${signedTime(value)}${median}`;
  }
}

// As much of the end as fits: there names of nodes differ.
function fitEnd(context, text, room) {
  let from = 0;
  while (from < text.length && context.measureText(`${from > 0 ? "…" : ""}${text.slice(from)}`).width > room) from++;
  return from > 0 && from < text.length ? `…${text.slice(from)}` : text.slice(from);
}

// Values of a map have three digits, so a difference knows fewer.
function roughTime(ns) { return fineTime(Number(ns.toPrecision(2))); }

function stepName(data, layer, column) {
  const first = column * layer.steps_per_column, last = Math.min(data.steps.length, first + layer.steps_per_column) - 1;
  return last > first ? `${data.steps[first]}–${data.steps[last]}` : `${data.steps[first]}`;
}

// [first, last + 1] of the rows that a finding names.
function rowsOf(data, { rank, nodes }) {
  const row = data.ranks.indexOf(rank);
  return row >= 0 ? [[row, row + 1]]
    : nodes.map((node) => [data.nodes.indexOf(node), data.nodes.lastIndexOf(node) + 1]);
}
