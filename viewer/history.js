// A history: the rows of a file of results over many runs, sorted by what changed, and per row a graph of its runs with
// its states, their noise, the change points with their commits, and a drift. All that is judged comes from `history`.

// The look of a verdict; those that matter most come first.
const HISTORY_VERDICTS = { slower: ["bad", "▲"], moved: ["bad", "◆"], "no longer measured": ["bad", "✕"],
  faster: ["good", "▼"], "too few runs": ["doubtful", "…"], same: ["dim", "="] };
const HISTORY_ORDER = Object.keys(HISTORY_VERDICTS);

// --- Words ---

// A value in the unit that its metric's name says.
function historyValue(row, value) {
  const rate = row.metric.includes("_per_second");
  const unit = row.time_unit || (row.metric.includes("bytes") ? rate ? "B/s" : "B"
    : row.metric.includes("flops") && rate ? "FLOP/s" : "");
  return unit ? quantityText(value, unit) : String(Number(value.toPrecision(4)));
}

function changeText(change) {
  if (Math.abs(change) >= 9.995) return `${Number((1 + change).toPrecision(3))}x`;
  const text = fixedText(Math.abs(100 * change), 1);
  return `${text === "0.0" ? "±" : change < 0 ? "−" : "+"}${text}%`;
}

// A run's day and its commit, as far as they are known.
function historyRun(row, run) {
  return [row.dates[run].slice(0, 10), row.commits[run].slice(0, 12)].filter(Boolean).join(", ");
}

function historyName(row, rows) {
  const alike = rows.filter((one) => one.machine === row.machine && one.row === row.row && one.metric === row.metric);
  return row.row + (row.metric === "real_time" ? "" : ` ${row.metric}`)
    + (alike.length > 1 ? ` (work ${row.work.slice(0, 6) || "unknown"}, ${row.statistic})` : "");
}

function historyVerdict(row) {
  const [tone, sign] = HISTORY_VERDICTS[row.verdict] || ["dim", ""];
  return h("span", { class: `verdict ${tone}` }, `${sign} ${row.verdict}`);
}

function historySize(row) { return row.changes.length > 0 ? row.change : row.drift; }

// Sentences about a row, the most important first.
function historySentences(row) {
  const last = row.changes.at(-1), said = [], moved = ["slower", "faster", "moved"].includes(row.verdict);
  if (last) said.push(`The last change is of ${changeText(last.change)}, from ${historyValue(row, last.before)} to `
    + `${historyValue(row, last.after)}, with the run of ${historyRun(row, last.run)}.`);
  if (moved && last && Math.abs(row.change - last.change) > 1e-9)
    said.push(`It moved by ${changeText(row.change)} in several steps of one way.`);
  if (row.drift !== 0)
    said.push(`It drifts: the last third of the runs of its state are ${changeText(row.drift)} from the first.`);
  if (moved && row.chance !== null)
    said.push(`Noise does as much with a probability of ${oneDigit(row.chance)}: another run makes it sure.`);
  if (row.runs_lacking > 0)
    said.push(`It is no longer measured: ${plural(row.runs_lacking, "later run")} of its machine lack it`
      + `${row.renamed === null ? "" : `; ${row.renamed} began in its place at a like value`}.`);
  if (said.length === 0)
    said.push(row.verdict === "same" ? "No change." : "Too few runs to judge it: ten are the least.");
  return said;
}

// The states of a row, parted by its changes: first run, the run after the last, and the median.
function historyStates(row) {
  const starts = [0, ...row.changes.map((one) => one.run)];
  const first = row.changes.length > 0 ? row.changes[0].before : row.median;
  return starts.map((from, i) => ({ from, to: starts[i + 1] ?? row.runs,
    median: i > 0 ? row.changes[i - 1].after : first }));
}

// --- Pictures ---

function coursePoints(row, x, y) {
  return row.values.map((value, run) => `${x(run).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
}

function sparkline(row) {
  const low = Math.min(...row.values), high = Math.max(...row.values), last = Math.max(1, row.runs - 1);
  const x = (run) => 3 + 114 * run / last, y = (value) => (high > low ? 19 - 16 * (value - low) / (high - low) : 11);
  const mark = (at) => h("svg:line", { class: "change", x1: at, x2: at, y1: 1, y2: 21 });
  return h("svg:svg", { class: "history sparkline", width: 120, height: 22, viewBox: "0 0 120 22",
    "aria-hidden": "true" }, h("svg:polyline", { class: "course", points: coursePoints(row, x, y) }),
  row.changes.map((one) => mark(x(one.run - 0.5))));
}

// The graph of a row. A pointer or the arrow keys choose a run, which is told below it.
class HistoryGraph {
  constructor(row, name) {
    this.row = row;
    this.states = historyStates(row);
    this.noise = row.spread || 0;
    this.told = h("p", { class: "small", role: "status" }, "Point, tap or use the arrow keys to read a run.");
    const choose = (event) => this.choose(this.runAt(event));
    this.box = h("div", { class: "chart history", tabindex: 0, role: "application", pointermove: choose,
      pointerdown: choose, keydown: (event) => this.step(event),
      "aria-label": `${name}: ${plural(row.runs, "run")}; the left and right arrows go from one to the next` });
    this.element = h("figure", {}, keepDrawn(this.box, () => this.draw()), this.told);
  }

  runAt(event) {
    const inside = event.clientX - this.box.getBoundingClientRect().left;
    return Math.round((inside - this.left) / (this.right - this.left) * (this.row.runs - 1));
  }

  step(event) {
    const chosen = this.chosen ?? this.row.runs;
    const to = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: this.row.runs - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.choose(to);
  }

  choose(number) {
    const row = this.row, run = Math.max(0, Math.min(row.runs - 1, number || 0)), value = row.values[run];
    const change = row.changes.find((one) => one.run === run), state = this.states.find((one) => run < one.to);
    this.chosen = run;
    this.told.textContent = `Run ${run + 1} of ${row.runs}, ${historyRun(row, run)}: ${historyValue(row, value)}, `
      + `${changeText(value / state.median - 1)} from the median of its state`
      + (change ? `; it changed by ${changeText(change.change)} here` : "");
    this.mark.setAttribute("cx", this.x(run));
    this.mark.setAttribute("cy", this.y(value));
    this.mark.removeAttribute("visibility");
  }

  // Room for the values, for the band of noise around each state, and some more.
  measure() {
    const edges = this.states.flatMap((one) => [one.median * (1 - this.noise), one.median * (1 + this.noise)]);
    const low = Math.min(...edges, ...this.row.values), high = Math.max(...edges, ...this.row.values);
    const more = 0.06 * (high - low) || 0.02 * Math.abs(high) || 1;
    [this.low, this.high] = [low - more, high + more];
    this.width = Math.max(240, this.box.clientWidth);
    [this.left, this.right, this.top, this.bottom] = [76, this.width - 12, 44, 196];
  }

  x(run) { return this.left + (this.right - this.left) * (this.row.runs > 1 ? run / (this.row.runs - 1) : 0.5); }
  y(value) { return this.bottom - (this.bottom - this.top) * (value - this.low) / (this.high - this.low); }

  draw() {
    this.measure();
    const x = (run) => this.x(run), y = (value) => this.y(value), r = this.row.runs > 150 ? 1.5 : 2.5;
    this.mark = h("svg:circle", { class: "chosen", r: 5, visibility: "hidden" });
    this.box.replaceChildren(h("svg:svg", { width: this.width, height: 222, viewBox: `0 0 ${this.width} 222`,
      "aria-hidden": "true" }, this.axes(), this.states.map((state) => this.state(state)), this.drift(),
    h("svg:polyline", { class: "course", points: coursePoints(this.row, x, y) }),
    this.row.values.map((value, run) => h("svg:circle", { class: "run", cx: x(run), cy: y(value), r })),
    this.row.changes.map((change, i) => this.change(change, i)), this.mark));
    if (this.chosen !== undefined) this.choose(this.chosen);
  }

  axes() {
    const last = this.row.runs - 1;
    return [ticks(this.low, this.high, 4).map((value) => [
      h("svg:line", { class: "level", x1: this.left, x2: this.right, y1: this.y(value), y2: this.y(value) }),
      h("svg:text", { x: this.left - 6, y: this.y(value) + 4, "text-anchor": "end" }, historyValue(this.row, value))]),
    h("svg:text", { x: this.left, y: 214 }, this.row.dates[0].slice(0, 10)),
    last > 0 && h("svg:text", { x: this.right, y: 214, "text-anchor": "end" }, this.row.dates[last].slice(0, 10))];
  }

  state(state) {
    const half = this.row.runs > 1 ? (this.right - this.left) / (this.row.runs - 1) / 2 : 8;
    const from = Math.max(this.left, this.x(state.from) - half), to = Math.min(this.right, this.x(state.to - 1) + half);
    const [top, bottom] = [1 + this.noise, 1 - this.noise].map((one) => this.y(state.median * one)).sort((a, b) => a - b);
    return [h("svg:rect", { class: "band", x: from, width: Math.max(1, to - from), y: top, height: bottom - top }),
      h("svg:line", { class: "median", x1: from, x2: to, y1: this.y(state.median), y2: this.y(state.median) })];
  }

  // Around the last state's median, from the middle of the first third of its runs to that of its last third.
  drift() {
    const state = this.states.at(-1), third = (state.to - state.from) / 3, half = this.row.drift / 2;
    return this.row.drift !== 0 && h("svg:line", { class: "drift", x1: this.x(state.from + third / 2),
      y1: this.y(state.median * (1 - half)), x2: this.x(state.to - 1 - third / 2), y2: this.y(state.median * (1 + half)) });
  }

  change(change, i) {
    const x = this.x(change.run - 0.5), isRight = x > (this.left + this.right) / 2;
    return [h("svg:line", { class: "change", x1: x, x2: x, y1: this.top - 6, y2: this.bottom }),
      h("svg:text", { class: "change", x: isRight ? x - 4 : x + 4, y: 12 + 14 * (i % 3),
        "text-anchor": isRight ? "end" : "start" },
      `${changeText(change.change)} ${change.commit.slice(0, 12) || change.date.slice(0, 10)}`)];
  }
}

// --- The page ---

// The graph in words.
function historyRuns(row) {
  const states = historyStates(row);
  return table(row.values.map((value, run) => run), [
    { head: "run", class: "number", cell: (run) => String(run + 1) },
    { head: "date", cell: (run) => row.dates[run].slice(0, 16).replace("T", " ") },
    { head: "commit", cell: (run) => h("code", {}, row.commits[run] || UNKNOWN) },
    { head: "value", exact: (run) => row.values[run], as: (value) => historyValue(row, value) },
    { head: "state", class: "number", cell: (run) => String(states.findIndex((one) => run < one.to) + 1) },
    { head: "change", class: "number",
      cell: (run) => row.changes.filter((one) => one.run === run).map((one) => changeText(one.change)) },
  ], { label: "Table of runs" });
}

function historySection({ row, name, id }, open) {
  return section({ class: "scenario", id, open, "data-row": row.row }, [h("h2", {}, name), historyVerdict(row)], () => [
    historySentences(row).map((sentence) => h("p", {}, sentence)), new HistoryGraph(row, name).element,
    dim("Lines: the median of each state; bands: one spread around it, which is 1.4826 median absolute deviations; "
      + "dashed: a change with its size and the commit of the first run behind it; dotted: a drift."),
    section({}, `All ${plural(row.runs, "run")} as a table`, () => historyRuns(row))]);
}

function historyTable(machine, rows) {
  const number = (value, as) => ({ class: "number", sort: value, cell: (one) => as(one, value(one)) });
  return [h("h3", { class: "wrap" }, machine || "unknown machine"), table(rows, [
    { head: "row", class: "wrap", sort: (one) => one.name, cell: (one) => h("a", { href: `#${one.id}` }, one.name) },
    { head: "verdict", class: "corner", sort: ({ row }) => HISTORY_ORDER.indexOf(row.verdict),
      cell: ({ row }) => historyVerdict(row) },
    { head: "change",
      ...number(({ row }) => historySize(row), (one, size) => (size === 0 ? UNKNOWN : changeText(size))) },
    { head: "since", sort: ({ row }) => row.changes.at(-1)?.date,
      cell: ({ row }) => (row.changes.length > 0 ? historyRun(row, row.changes.at(-1).run) : UNKNOWN) },
    { head: "course", cell: ({ row }) => sparkline(row) },
    { head: "runs", ...number(({ row }) => row.runs, (one, runs) => countText(runs)) },
    { head: "last", ...number(({ row }) => row.last, ({ row }, last) => historyValue(row, last)) },
    { head: "spread", ...number(({ row }) => row.spread, (one, spread) => shareText(spread)) },
    { head: "runs to see 3%", ...number(({ row }) => row.runs_to_see_3_percent, (one, runs) => countText(runs)) },
  ], { label: `Rows of ${machine || "an unknown machine"}`, class: "cards rows",
    row: ({ row, name, id }) => ({ "data-section": id, "data-kind": row.verdict,
      "data-text": [name, machine, row.verdict, ...row.changes.map((one) => one.commit)].join(" ") }) })];
}

function historySummary(history) {
  const counts = HISTORY_ORDER.filter((one) => history.counts[one] > 0).map((one) => `${history.counts[one]} ${one}`);
  const percent = (share) => `${Number((100 * share).toPrecision(3))}%`, why = history.not_passed_because;
  const end = history.passed ? "Passed: no row is slower."
    : `${history.exit_code === 1 ? "Not passed" : "Cannot tell"}: ${why}.`;
  return [note(`${end} ${plural(history.rows.length, "row")}: ${counts.join(", ")}.`,
    history.passed ? "good-note" : history.exit_code === 1 ? "bad-note" : ""),
  history.damaged_lines > 0 && note(`${plural(history.damaged_lines, "line")} of the file could not be read.`, "bad-note"),
  dim(`Changes of up to ${percent(history.threshold)} do not count. Where nothing changed, such a check raises an `
    + `alarm with a probability of at most ${percent(history.error)}, which is ${percent(history.row_error)} per row.`)];
}

function showHistory(history, main) {
  const order = (row) => HISTORY_ORDER.indexOf(row.verdict), size = (row) => Math.abs(historySize(row));
  const rows = [...history.rows].sort((a, b) => order(a) - order(b) || size(b) - size(a))
    .map((row, i) => ({ row, name: historyName(row, history.rows), id: `row-${i}` }));
  const machines = [...new Set(rows.map(({ row }) => row.machine))];
  const verdicts = HISTORY_ORDER.filter((one) => rows.some(({ row }) => row.verdict === one));
  main.append(...[historySummary(history), h("h2", {}, "Rows"),
    filterControls(main, "Verdict", verdicts, "row, machine, commit"),
    machines.map((machine) => historyTable(machine, rows.filter(({ row }) => row.machine === machine))),
    rows.map((one, i) => historySection(one, i === 0 && order(one.row) < 4))]
    .flat(Infinity).filter(Boolean));
}
