"use strict";
// The memory that is live at the peak, as a flame upside down: calls from the outermost down, as wide as what they hold.

const CALL = 20, NARROWEST = 1.5, LETTER = 6.9;

class Flame {
  constructor(figure, device) {
    this.chart = figure.querySelector(".chart");
    this.device = device;
    this.all = { start_bytes: 0, bytes: Math.max(1, device.peak_bytes), depth: -1, line: "the peak" };
    this.shown = this.all;
    figure.querySelector(".all").addEventListener("click", () => this.show(this.all));
    this.chart.addEventListener("pointerleave", () => hideTip());
    this.draw();
  }

  show(call) {
    this.shown = call;
    this.draw();
  }

  // The calls above the one that is shown are as wide as the picture.
  draw() {
    const { start_bytes: from, bytes: span } = this.shown, to = from + span;
    const calls = this.device.calls.filter((one) => one.start_bytes < to && one.start_bytes + one.bytes > from);
    const depth = Math.max(0, ...calls.map((one) => one.depth)) + 1;
    const [chart, width] = startChart(this.chart, depth * CALL, `The calls that lead to what is live at the peak: `
      + `${bytesText(span)}${this.shown === this.all ? "" : ` by ${this.shown.line}`}. The table below has its lines.`);
    const x = (bytes) => width * Math.min(1, Math.max(0, (bytes - from) / span));
    for (const call of calls) {
      const left = x(call.start_bytes), wide = x(call.start_bytes + call.bytes) - left;
      if (wide >= NARROWEST) this.drawCall(chart, call, left, wide);
    }
    this.chart.dataset.shown = this.shown.line;
  }

  drawCall(chart, call, left, wide) {
    const colour = variable(fileColour(call.line)), top = call.depth * CALL, room = Math.floor((wide - 8) / LETTER);
    const group = svg(chart, "g", { class: "call" });
    svg(group, "rect", { x: left, y: top, width: Math.max(1, wide - 1), height: CALL - 2, fill: colour });
    if (room > 2)
      svg(group, "text", { x: left + 4, y: top + 14, style: `fill:${inkOn(colour)}` },
        call.line.length > room ? `${call.line.slice(0, room - 1)}…` : call.line);
    group.addEventListener("click", () => this.show(call));
    group.addEventListener("pointermove", (event) => showTip(this.about(call), event.clientX, event.clientY));
  }

  about(call) {
    const share = 100 * call.bytes / this.all.bytes;
    return `${call.line}\n${bytesText(call.bytes)}, ${share.toPrecision(3)}% of the peak`;
  }
}

// Calls of one file have one colour, which does not depend on the others.
function fileColour(line) {
  let hash = 0;
  for (const letter of line.replace(/:\d+ .*/, "")) hash = (31 * hash + letter.codePointAt(0)) % 1000003;
  return MEMORY_COLOURS[hash % MEMORY_COLOURS.length];
}
