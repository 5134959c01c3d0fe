// Parts that both kinds of pictures need, and the charts: distributions of step times, memory over time.

// Times and sizes of axes and tips: round ones without zeros behind, and as exact as a zoomed picture is.
function fineTime(ns) {
  const units = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
  const [name, size] = units.find(([, size]) => Math.abs(ns) >= 0.9995 * size) || units[3];
  return `${Number((ns / size).toPrecision(ns >= 1000 * size ? 6 : 4))} ${name}`;
}

function roundSize(bytes) {
  const units = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]];
  const [name, size] = units.find(([, size]) => Math.abs(bytes) >= size) || units[3];
  return `${Number((bytes / size).toPrecision(3))} ${name}`;
}

// The colour of a class of the style sheet, "c-copy" say.
const colours = new Map();
function colourOf(name) {
  if (!colours.has(name)) {
    const probe = document.createElement("i");
    probe.className = `c-${name}`;
    document.body.append(probe);
    const colour = getComputedStyle(probe).backgroundColor;
    probe.remove();
    colours.set(name, colour === "rgba(0, 0, 0, 0)" ? variable("--green") : colour);
  }
  return colours.get(name);
}

function variable(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Black or white, whichever is easier to read on that colour.
function inkOn(colour) {
  const numbers = colour.startsWith("#") ? colour.match(/[0-9a-f]{2}/gi).map((one) => parseInt(one, 16))
    : (colour.match(/\d+/g) || [255, 255, 255]).map(Number);
  const [r, g, b] = numbers;
  return 0.299 * r + 0.587 * g + 0.114 * b > 120 ? "#000" : "#fff";
}

// As much of the text as fits, "" if that is not worth it.
function fit(context, text, room) {
  if (room < 14) return "";
  if (context.measureText(text).width <= room) return text;
  let count = Math.max(1, Math.floor(text.length * room / context.measureText(text).width) - 1);
  while (count > 1 && context.measureText(`${text.slice(0, count)}…`).width > room) count--;
  return count > 2 ? `${text.slice(0, count)}…` : "";
}

function showTip(text, x, y) {
  const tip = document.getElementById("tip");
  tip.textContent = text;
  tip.hidden = false;
  const width = tip.offsetWidth, height = tip.offsetHeight;
  tip.style.left = `${Math.max(4, Math.min(x + 12, window.innerWidth - width - 4))}px`;
  tip.style.top = `${y + 16 + height > window.innerHeight ? Math.max(4, y - height - 10) : y + 16}px`;
}

function hideTip() {
  document.getElementById("tip").hidden = true;
}

function svg(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// About `count` round numbers from 0 or `low` to `high`.
function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) || 10 * power;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high * (1 + 1e-9); at += step) found.push(at);
  return found;
}

function startChart(container, height, label) {
  container.replaceChildren();
  const width = Math.max(240, container.clientWidth);
  return [svg(container, "svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": label }), width];
}

// Every sample is a line across its strip; a long tail is cut by a logarithmic axis, not by leaving it out.
function drawDistribution(container, samples) {
  const names = Object.keys(samples).filter((name) => samples[name].length > 0);
  if (names.length === 0) { container.replaceChildren(); return; }
  const all = names.flatMap((name) => samples[name]);
  const low = Math.min(...all), high = Math.max(...all, low * 1.02);
  const [chart, width] = startChart(container, 30 * names.length + 26, container.dataset.label);
  const left = names.length > 1 ? 48 : 8, right = width - 12, logarithmic = high > 4 * low;
  const scale = (value) => (logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
  const x = (value) => left + (right - left) * scale(value);
  names.forEach((name, i) => {
    if (names.length > 1) svg(chart, "text", { x: 0, y: 30 * i + 19 }, name);
    svg(chart, "line", { x1: left, x2: right, y1: 30 * i + 28, y2: 30 * i + 28, stroke: variable("--line") });
    for (const value of samples[name])
      svg(chart, "line", { x1: x(value), x2: x(value), y1: 30 * i + 6, y2: 30 * i + 24, "stroke-width": 1.5,
        "stroke-opacity": Math.max(0.4, Math.min(0.9, 40 / samples[name].length)),
        stroke: variable(name === "before" ? "--vermillion" : "--sky") });
  });
  const bottom = 30 * names.length + 18;
  const marks = logarithmic ? [low, Math.sqrt(low * high), high] : ticks(low, high, Math.max(2, width / 160));
  for (const value of marks)
    svg(chart, "text", { x: Math.min(x(value), right), y: bottom,
      "text-anchor": x(value) > right - 40 ? "end" : x(value) < left + 20 ? "start" : "middle" },
    fineTime(value));
  const note = `${container.dataset.label}${logarithmic ? "; logarithmic axis" : ""}`;
  const line = document.createElement("p");
  line.className = "dim small";
  line.textContent = note;
  container.append(line);
}

// A bar per step, in their order: which was slow. The line is the median.
function drawSteps(container, steps) {
  if (steps.length < 2) { container.replaceChildren(); return; }
  const height = 90, bottom = 70, top = 8, left = 62;
  const [chart, width] = startChart(container, height, container.dataset.label);
  const high = Math.max(...steps), median = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)];
  const each = Math.min(34, (width - left - 6) / steps.length), y = (ns) => bottom - (bottom - top) * ns / high;
  steps.forEach((ns, i) => {
    const bar = svg(chart, "rect", { x: left + i * each, width: Math.max(1, Math.min(each * 0.85, 28)), y: y(ns),
      height: bottom - y(ns), fill: variable(ns > 1.5 * median ? "--vermillion" : "--sky") });
    svg(bar, "title", {}, `step ${i + 1}: ${fineTime(ns)}`);
  });
  svg(chart, "line", { x1: left, x2: width - 6, y1: y(median), y2: y(median), stroke: variable("--dim") });
  svg(chart, "text", { x: left - 5, y: y(median) + 4, "text-anchor": "end" }, fineTime(median));
  svg(chart, "text", { x: left, y: bottom + 16 }, `${container.dataset.label}; line: the median`);
}

// The categories that hold most at the peak have a colour each; the others are together.
const MEMORY_COLOURS = ["--blue", "--orange", "--green", "--purple", "--sky", "--yellow", "--vermillion", "--grey"];

function stacksOf(device) {
  const curve = device.curve, most = MEMORY_COLOURS.length - 1;
  const stacks = device.categories.slice(0, most).map((one) => ({ name: one.name, bytes: one.bytes }));
  const rest = curve.allocated_bytes.map((bytes, i) => bytes - stacks.reduce((sum, one) => sum + one.bytes[i], 0));
  if (stacks.length === 0 || rest.some((bytes) => bytes > 0.005 * device.peak_bytes))
    stacks.push({ name: stacks.length === 0 ? "allocated" : "other", bytes: rest.map((bytes) => Math.max(0, bytes)) });
  return stacks;
}

// One picture per trace, beside each other where there is room, of one scale in bytes and in time.
function drawMemory(container, traces) {
  const shown = traces.flatMap(([name, trace]) => (trace ? trace.memory : []).slice(0, 4)
    .filter((device) => device.curve.at_ns.length > 0).map((device) => [name, device]));
  container.replaceChildren();
  container.style.display = "grid";
  container.style.gridTemplateColumns = container.clientWidth > 700 && shown.length > 1 ? "1fr 1fr" : "1fr";
  container.style.gap = "4px 28px";
  const high = Math.max(1, ...shown.map(([, device]) => device.peak_bytes));
  const longest = Math.max(1, ...shown.map(([, device]) => Math.max(device.curve.at_ns.at(-1), device.until_ns)));
  const colour = new Map();
  for (const [, device] of shown)
    for (const one of stacksOf(device))
      if (!colour.has(one.name))
        colour.set(one.name,
          variable(one.name === "other" ? "--grey" : MEMORY_COLOURS[colour.size % MEMORY_COLOURS.length]));
  for (const [name, device] of shown) {
    const box = document.createElement("div");
    container.append(box);
    drawMemoryOf(box, name, device, high, longest, colour);
  }
  const legend = document.createElement("div");
  legend.className = "legend";
  legend.style.gridColumn = "1 / -1";
  for (const [name, value] of colour) legend.append(legendEntry(name, value));
  if (shown.some(([, device]) => (device.marks || []).length > 0))
    legend.append(legendEntry("memory ran out", variable("--bad")));
  container.append(legend);
}

function legendEntry(name, colour) {
  const entry = document.createElement("span"), swatch = document.createElement("i");
  swatch.className = "swatch";
  swatch.style.background = colour;
  entry.append(swatch, name);
  return entry;
}

function drawMemoryOf(box, name, device, high, longest, colour) {
  const label = `Memory${["trace", "snapshot"].includes(name) ? "" : ` ${name}`}: peak ${roundSize(device.peak_bytes)}`;
  const moment = device.has_times === false ? (at) => `${at} events` : fineTime;
  const [chart, width] = startChart(box, 170, label);
  const left = 62, right = width - 6, top = 20, bottom = 146, times = device.curve.at_ns;
  const x = (ns) => left + (right - left) * ns / longest, y = (bytes) => bottom - (bottom - top) * bytes / high;
  svg(chart, "text", { x: left, y: 13 }, label);
  const unit = 1024 ** Math.floor(Math.log2(high) / 10);
  for (const value of ticks(0, high / unit, 3).map((one) => one * unit)) {
    svg(chart, "line", { x1: left, x2: right, y1: y(value), y2: y(value), stroke: variable("--line") });
    svg(chart, "text", { x: left - 5, y: y(value) + 4, "text-anchor": "end" }, roundSize(value));
  }
  svg(chart, "text", { x: left, y: 163 }, "0");
  svg(chart, "text", { x: right, y: 163, "text-anchor": "end" }, moment(longest));
  const end = Math.max(times.at(-1), device.until_ns); // the last value holds that long
  let floor = times.map(() => 0);
  for (const one of stacksOf(device)) {
    const roof = floor.map((bytes, i) => bytes + one.bytes[i]);
    const along = (edge) => times.map((ns, i) => [[x(ns), y(edge[i])],
      [x(i + 1 < times.length ? times[i + 1] : end), y(edge[i])]]).flat();
    const points = [...along(roof), ...along(floor).reverse()];
    svg(svg(chart, "polygon", { points: points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" "),
      fill: colour.get(one.name) }), "title", {}, one.name);
    floor = roof;
  }
  for (const mark of device.marks || []) drawMark(chart, x(mark.at_ns), top, bottom, mark.text);
}

// A moment that matters: a line over the picture, with a head above it.
function drawMark(chart, x, top, bottom, text) {
  const mark = svg(chart, "g", { class: "mark" });
  svg(mark, "line", { x1: x, x2: x, y1: top - 4, y2: bottom, stroke: variable("--bad"), "stroke-width": 1.5 });
  svg(mark, "path", { d: `M${x - 5} ${top - 12}h10l-5 9z`, fill: variable("--bad") });
  svg(mark, "title", {}, text);
}
