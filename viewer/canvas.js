// The parts that pictures on canvases share: their size, and the range of a whole that they show. Buttons, keys, the wheel
// and the pointer move and zoom that range.

// Fits the canvas to the pixels of the screen and clears it. The context counts in pixels of CSS.
function startCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1, context = canvas.getContext("2d");
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = variable("--paper");
  context.fillRect(0, 0, width, height);
  context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  return context;
}

// `hover` is called with each move over the canvas, and shows a tip.
function listenForTips(canvas, hover) {
  canvas.addEventListener("pointermove", hover);
  for (const name of ["pointerleave", "blur"]) canvas.addEventListener(name, () => hideTip());
}

// A picture of the range [from, to] of [0, whole], along one axis. Its kinds have height(), least() (the narrowest
// range), at(pixel) (the place in the whole), paint(context), hover(event) and, if they like, click(event).
class RangePicture {
  // `axis`: "X" or "Y". `speed`: by what a key and a double click zoom, and how many pixels of the wheel zoom e times.
  // `keys`: what further keys do.
  constructor(figure, axis, speed, keys) {
    this.figure = figure;
    this.canvas = figure.querySelector("canvas");
    this.axis = axis;
    this.listen(speed, keys);
  }

  showWhole(whole) {
    this.whole = whole;
    this.from = 0;
    this.to = whole;
  }

  draw() {
    this.width = this.canvas.clientWidth || 600;
    this.paint(startCanvas(this.canvas, this.width, this.height()));
    this.canvas.dataset.from = Math.round(this.from);
    this.canvas.dataset.to = Math.round(this.to);
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  // --- Moving ---

  show(from, to) {
    const span = Math.min(this.whole, Math.max(this.least(), to - from));
    this.from = Math.max(0, Math.min(from, this.whole - span));
    this.to = this.from + span;
    const isWhole = this.from === 0 && this.to === this.whole;
    keepState(stateName(this.canvas, "range"), isWhole ? "" : `${Math.round(this.from)}-${Math.round(this.to)}`);
    this.redraw();
  }

  // The range that the link has.
  restore() {
    const [from, to] = (view.get(stateName(this.canvas, "range")) || "").split("-").map(Number);
    if (to > from) this.show(from, to);
  }

  middle() { return (this.from + this.to) / 2; }

  zoom(factor, at = this.middle()) {
    if (factor === 0) this.show(0, this.whole);
    else this.show(at - (at - this.from) / factor, at + (this.to - at) / factor);
  }

  pan(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }

  // --- Listening ---

  listen(speed, more) {
    const canvas = this.canvas, at = (event) => this.at(event[`offset${this.axis}`]);
    const keys = { "+": () => this.zoom(speed.key), "=": () => this.zoom(speed.key),
      "-": () => this.zoom(1 / speed.key), "0": () => this.zoom(0), Home: () => this.zoom(0), ...more };
    for (const button of this.figure.querySelectorAll("button[data-zoom]"))
      button.addEventListener("click", () => this.zoom(Number(button.dataset.zoom)));
    for (const button of this.figure.querySelectorAll("button[data-pan]"))
      button.addEventListener("click", () => this.pan(Number(button.dataset.pan)));
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / speed.wheel), at(event));
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => this.zoom(speed.double, at(event)));
    canvas.addEventListener("pointerdown", (event) => {
      this.drag = { start: event[`client${this.axis}`], from: this.from, to: this.to, moved: false };
      canvas.setPointerCapture(event.pointerId);
      this.hover(event);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (this.drag && !this.drag.moved) this.click?.(event);
      this.drag = null;
    });
    canvas.addEventListener("pointercancel", () => { this.drag = null; });
    listenForTips(canvas, (event) => this.move(event));
  }

  // Few pixels are a hand that is not still.
  move(event) {
    const pixels = this.drag ? this.drag.start - event[`client${this.axis}`] : 0;
    if (Math.abs(pixels) <= 3) { this.hover(event); return; }
    const by = pixels * (this.at(1) - this.at(0));
    this.drag.moved = true;
    this.show(this.drag.from + by, this.drag.to + by);
  }
}
