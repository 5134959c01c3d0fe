// The parts that show one trace, or two of them beside each other: findings, what if, timeline, breakdowns, step
// times, memory. `traces` has those of `diagnose` by variant: "trace" alone, or "before" and "after", of which one
// may be null.

const PARTS = new Map(Object.entries({ kernel: "kernels", copy: "copies", memset: "memsets",
  communication: "communication", runtime: "runtime calls", data_loading: "data loading", host: "other host work",
  other: "nothing recorded" }));
const CAUSES = new Map(Object.entries({ queued: "between queued work", stalled: "queued work that waited",
  unknown: "unknown cause", outside: "host: code that no event covers", operators: "host: operators",
  loading: "host: loading data", logging: "host: logging", saving: "host: saving", launching: "host: launching",
  copying: "host: copying", allocating: "host: allocating", waiting: "host: waiting",
  first_use: "host: first use", capturing: "host: capturing graphs", host_work: "host: other work" }));
const STEPS_DRAWN = 200; // the first ones, a bar each
const SAMPLES_DRAWN = 400; // of a variant: a picture cannot show more

function present(traces, variants) { return variants.filter((variant) => traces[variant]); }
function isHostAlone(traces, variants) { return present(traces, variants).every((variant) => !traces[variant].device.count); }
function titled(variant, text) { return variant === "trace" ? text : `${variant}: ${text}`; }
function ratio(part, whole) { return isKnown(part) && whole ? part / whole : null; }

function beside(variants, ...children) {
  return h("div", { class: variants.length > 1 ? "pair" : null }, ...children);
}

// --- Findings ---

// `lesson`: measuredGain, and the sets of findings that are expected before and tolerated after.
function findingsPart(traces, variants, lesson = {}) {
  return [h("h3", {}, "Findings"), beside(variants, variants.map((variant) => h("div", { "data-findings": variant },
    variant !== "trace" && h("h4", {}, variant), findingsOf(traces[variant], variant, lesson))))];
}

function findingsOf(trace, variant, lesson) {
  if (!trace) return note(`No trace of ${variant}.`);
  return [h("p", { "data-bottleneck": trace.bottleneck }, h("strong", {}, trace.bottleneck), `: ${trace.headline}`),
    trace.healthy ? note(`Healthy: ${trace.healthy}`, "good-note")
      : trace.findings.length === 0 && h("p", { class: "dim" }, "None."),
    trace.findings.map((finding) => findingOf(finding, variant, lesson))];
}

function findingOf(finding, variant, lesson) {
  const places = [["Where", finding.where], ["In the library", finding.library]].filter(([, place]) => place);
  const scenario = variant === "trace" && finding.scenarios && finding.scenarios[0];
  return h("article", { class: `finding ${finding.severity}`, "data-finding": finding.id },
    h("p", {}, h("strong", {}, finding.title || finding.id), " ", h("code", {}, finding.id), " ",
      h("span", { class: "severity" }, finding.severity),
      variant === "after" && lesson.tolerated?.has(finding.id) && [" ", h("span", { class: "dim" }, "expected here")]),
    h("p", {}, finding.evidence),
    "confidence" in finding && h("p", { class: "dim" }, costText(finding), gainText(finding, variant, lesson),
      `Confidence: ${finding.confidence}.`),
    places.map(([name, place]) => h("p", { class: "where" }, `${name}: ${place.text} `,
      h("span", { class: "dim" }, `(${shareText(place.share)} of this time)`))),
    finding.advice && h("p", {}, `Do: ${finding.advice}`),
    scenario && h("p", { class: "dim" }, "Try it in miniature: ", h("code", {}, `chokepoint explain ${scenario}`), ", ",
      h("code", {}, `chokepoint run ${scenario}`)));
}

function costText(finding) {
  if (!finding.lost_ns_per_step) return "";
  const each = finding.once_in_steps ? " once" : finding.of_whole ? "" : " per step";
  return `Costs ${finding.predicted_gain_at_most ? "at most " : ""}${
    timeText(finding.lost_ns_per_step * (finding.once_in_steps || 1))}${each}. `;
}

function gainText(finding, variant, lesson) {
  if (!(finding.predicted_gain > 1)) return null;
  const isMeasured = variant === "before" && lesson.expected?.has(finding.id) && lesson.measuredGain;
  return [`Predicted gain ${finding.once_fixed ? "then " : ""}${finding.predicted_gain_at_least ? "at least " : ""}${
    finding.predicted_gain_at_most ? "at most " : ""}`,
  h("b", { "data-exact": finding.predicted_gain }, factorText(finding.predicted_gain)),
  isMeasured && [", measured ", h("b", { "data-measured": lesson.measuredGain }, factorText(lesson.measuredGain))],
  ". "];
}

function checklistPart(rows, whose) {
  if (!rows || rows.length === 0) return [];
  const answered = (answer) => rows.filter((row) => row.answer === answer).length;
  return [h("details", { class: "checklist", "data-checklist": whose }, h("summary", {}, "Checklist ",
    h("span", { class: "dim" }, `seven questions: ${answered("yes")} yes, ${answered("no")} no`)),
  h("ol", {}, rows.map((row) => h("li", {}, h("strong", {}, row.question), " ",
    h("span", { class: `verdict ${{ yes: "good", no: "bad" }[row.answer] || "doubtful"}`,
      "data-answer": `${row.id} ${row.answer}` }, row.answer), h("br"), row.figures,
    row.finding && [" ", h("code", {}, row.finding)]))))];
}

// --- What if ---

// `which`: the number of the trace that the desk has open, if it has one: it replays any set of causes.
function whatIfPart(traces, variants, which) {
  return present(traces, variants).filter((variant) => traces[variant].what_if?.rows.length > 0).map((variant) =>
    [h("h3", {}, variant === "trace" ? "What if" : `What if: ${variant}`), whatIfOf(traces[variant].what_if, variant, which)]);
}

// A bar of one step: the part in which the device works, and its idle rest; without a device all of it is the host's.
function whatIfBar(label, end) {
  const busy = h("i", { class: "c-busy" }), whole = h("div", { class: "bar", role: "img", "aria-label": label }, busy,
    h("i", { class: "rest" }));
  return { element: h("div", { class: "track" }, whole, end), show(row, longest, text) {
    whole.style.width = `${100 * row.step_ns / longest}%`;
    busy.style.width = `${100 * (row.busy_ns || row.step_ns) / row.step_ns}%`;
    end.textContent = text;
  } };
}

function whatIfOf(whatIf, variant, which) {
  const canAsk = which !== undefined && typeof deskWhatIf === "function";
  const recorded = { causes: [], step_ns: whatIf.recorded_ns, busy_ns: whatIf.recorded_busy_ns, gain: 1 };
  const boxes = whatIf.causes.map((cause, i) => h("input", { type: "checkbox", value: cause, checked: i === 0,
    autocomplete: "off", "data-state": `without.${variant}.${cause}` }));
  const without = h("span", { class: "without" });
  const before = whatIfBar("the step as recorded", h("span", { class: "end" }));
  const after = whatIfBar("the step without these causes", h("span", { class: "end step", role: "status" }));
  const rows = [recorded, ...whatIf.rows];
  // If a set was not replayed, what was switched first is taken back.
  const show = async (switched) => {
    const causes = chosenIn(boxes);
    if (canAsk && !replayOf(rows, causes))
      rows.push(...await deskWhatIf(causes, which).then((found) => found.rows.slice(-1), () => []));
    for (const box of boxes) if (!replayOf(rows, chosenIn(boxes)) && box !== switched) box.checked = false;
    const row = replayOf(rows, chosenIn(boxes)) || recorded;
    without.textContent = row.causes.length > 0 ? `without ${row.causes.join(" and ")}` : "as recorded";
    after.show(row, recorded.step_ns, `${timeText(row.step_ns)}, ${factorText(row.gain)}`);
  };
  before.show(recorded, recorded.step_ns, timeText(recorded.step_ns));
  show(boxes[0]);
  return h("div", { class: "what-if", change: (event) => show(event.target) },
    h("div", { class: "controls", role: "group", "aria-label": "Causes that are left out" },
      boxes.map((box) => h("label", {}, box, ` without ${box.value}`))),
    h("div", { class: "row" }, h("span", { class: "dim variant" }, "recorded"), before.element),
    h("div", { class: "row" }, h("span", { class: "dim variant" }, "replayed"), after.element),
    dim("A step, replayed ", without,
      recorded.busy_ns > 0 && ": the device works in the coloured part and is idle in the hatched one",
      whatIf.causes.length > 4 && !canAsk && "; of so many causes, one or two at once were replayed", "."));
}

function chosenIn(boxes) { return boxes.filter((box) => box.checked).map((box) => box.value); }

function replayOf(rows, causes) {
  return rows.find((row) => row.causes.length === causes.length && row.causes.every((cause) => causes.includes(cause)));
}

// --- Timeline ---

function zoomButton(name, value, words, label) {
  return h("button", { type: "button", [`data-${name}`]: value, "aria-label": label }, words);
}

// The figure that a Timeline is drawn into. `told`: what its canvas shows; `placeholder`: what can be found.
function timelineFigure(name, told, placeholder) {
  return h("div", { class: "timeline" },
    h("div", { class: "controls", role: "group", "aria-label": `Timeline of ${name}` },
      zoomButton("zoom", "2", "+", "Zoom in"), zoomButton("zoom", "0.5", "−", "Zoom out"),
      zoomButton("pan", "-0.5", "◀", "Earlier"), zoomButton("pan", "0.5", "▶", "Later"), zoomButton("zoom", "0", "All"),
      h("label", {}, "Find ", h("input", { type: "search", class: "find", placeholder, autocomplete: "off",
        "data-state": "find" })),
      h("span", { class: "found small", role: "status" }),
      h("span", { class: "dim small" }, "drag to pan; Ctrl and wheel, or + and −, to zoom; ← → to move; ",
        "hover or tap for details")),
    h("canvas", { tabindex: 0, role: "img", "aria-label": `Timeline of ${name}: ${told}` }),
    h("div", { class: "legend" }));
}

// The desk, if it has trace `which` open, draws all steps.
function timelinePart(name, traces, variants, which) {
  const figure = timelineFigure(name, "what host and device did in some steps that stand for all. The tables below have "
    + "its figures.", "kernel, operator");
  const panels = present(traces, variants).map((variant) => [variant, traces[variant].timeline]);
  let timeline = null;
  keepDrawn(figure, () => {
    if (timeline) { timeline.fillLegend(); timeline.draw(); }
    else timeline = new Timeline(figure, panels);
  });
  const trace = traces[variants[0]];
  if (which !== undefined && typeof deskTimeline === "function" && trace.timeline.steps.length < trace.steps.count)
    figure.querySelector(".controls").append(allStepsButton(which, trace, (drawn) => timeline.set([["trace", drawn]])));
  return [h("h3", {}, "Timeline"), figure];
}

function allStepsButton(which, trace, show) {
  const button = h("button", { type: "button", "aria-pressed": "false", click: async () => {
    const isAll = button.getAttribute("aria-pressed") === "false";
    button.disabled = true;
    try {
      show(isAll ? await deskTimeline(which, trace.steps.count) : trace.timeline);
      button.setAttribute("aria-pressed", isAll);
    } finally { button.disabled = false; }
  } }, `All ${countText(trace.steps.count)} steps`);
  return button;
}

// --- Breakdowns ---

// The parts of a bar: the values that are something, in the order of `names`.
function stacked(values, names, whole) {
  return [...names].filter(([id]) => values[id])
    .map(([id, name]) => ({ id, name, ns: values[id], share: ratio(values[id], whole) }));
}

function windowOf(trace) { return trace.window.busy_ns + trace.window.idle_ns; }

function deviceParts(trace) {
  const { busy_ns: busy, causes } = trace.window;
  return stacked({ busy, ...causes }, [["busy", "busy"], ...CAUSES], windowOf(trace));
}

function bar(parts, width, label) {
  return h("div", { class: "bar", role: "img", "aria-label": label, style: `width:${width.toFixed(3)}%` },
    parts.map((part) => h("i", { class: `c-${part.id}`, style: `width:${(100 * (part.share || 0)).toFixed(3)}%`,
      title: `${part.name}: ${part.words || timeText(part.ns)}, ${shareText(part.share)}` })));
}

// Bars of variants on one scale, and their table. `sides`: [variant, parts, whole] each.
function breakdown(sides, unit) {
  const longest = Math.max(...sides.map(([, , whole]) => whole || 0)), names = new Map();
  for (const [, parts] of sides) for (const part of parts) names.set(part.id, part.name);
  const find = (parts, id) => parts.find((part) => part.id === id) || { ns: 0, share: 0 };
  return [sides.filter(([, , whole]) => whole).map(([variant, parts, whole]) => h("div", { class: "row" },
    h("span", { class: "dim variant" }, variant === "trace" ? "" : variant),
    bar(parts, 100 * whole / longest, `${variant}: ${unit}`))),
  table([...names], [{ head: "part", cell: ([id, name]) => [swatch(id), name] },
    ...sides.flatMap(([variant, parts]) => [
      { head: variant === "trace" ? "time" : variant, exact: ([id]) => find(parts, id).ns, as: timeText },
      { head: "share", class: "number", cell: ([id]) => shareText(find(parts, id).share) }])],
  { class: "parts", label: unit, row: ([id]) => ({ "data-part": id }) })];
}

function phases(traces, variants) {
  const names = new Set(variants.flatMap((variant) => traces[variant].phases.map((phase) => phase.name)));
  const ns = (variant, member) => (name) => traces[variant].phases.find((phase) => phase.name === name)?.[member] ?? 0;
  return names.size > 0 && [h("h4", {}, "Phases of a step"),
    table([...names], [{ head: "phase", cell: (name) => [swatch(name), name] },
      ...variants.flatMap((variant) => [
        { head: `${variant === "trace" ? "" : `${variant}, `}host`, exact: ns(variant, "host_ns"), as: timeText },
        { head: "device", exact: ns(variant, "device_ns"), as: timeText }])],
    { class: "parts", label: "Phases of a step", row: (name) => ({ "data-phase": name }) })];
}

function stepBreakdown(traces, variants) {
  const sides = variants.map((variant) => [variant, traces[variant].steps])
    .map(([variant, steps]) => [variant, stacked(steps.parts, PARTS, steps.mean_ns), steps.mean_ns]);
  if (!sides.some(([, , whole]) => whole)) return note("No step is marked in the trace (ProfilerStep#N).");
  return [dim("Mean of the traced steps, by what was under way: device work first, then the host's."),
    breakdown(sides, "time of a step"),
    variants.filter((variant) => traces[variant].steps.untraced_ns).map((variant) =>
      dim(titled(variant, `without a tracer a step took ${timeText(traces[variant].steps.untraced_ns)}.`))),
    variants.filter((variant) => traces[variant].counters).map((variant) =>
      dim(titled(variant, `without a tracer, by the GPU's own counters: ${traces[variant].counters.text}.`))),
    phases(traces, variants)];
}

// The bar splits idle time by cause; host_sync counts it after waits.
function afterWait(trace) {
  return trace.findings.some((finding) => finding.id === "host_sync")
    && ratio(trace.window.after_wait_ns, windowOf(trace));
}

function deviceBreakdown(traces, variants, isHost) {
  const sides = variants.map((variant) => [variant, deviceParts(traces[variant]), windowOf(traces[variant])]);
  if (!sides.some(([, , whole]) => whole)) return note("The trace holds no device work.");
  return [dim(isHost ? "The whole trace, by what the host does."
    : "Busy and idle in the whole trace; idle time by what it waited for."),
  breakdown(sides, `time of the ${isHost ? "host" : "device"}`),
  variants.filter((variant) => afterWait(traces[variant])).map((variant) =>
    dim(titled(variant, "the finding "), h("code", {}, "host_sync"), " counts idle time after a wait of the host, ",
      `whatever its cause here: at most ${shareText(afterWait(traces[variant]))} of the time.`))];
}

// Reasons to doubt the figures of a trace: what its checks found, and what was mended.
function doubts(trace) {
  return trace.soundness.checks.filter((check) => check.found !== null).map((check) => {
    const text = check.mended ? `${check.found}; ${check.mended}` : check.found;
    return `${text[0].toUpperCase()}${text.slice(1)}.`;
  });
}

function breakdownsPart(traces, variants) {
  const there = present(traces, variants), isHost = isHostAlone(traces, variants);
  return [there.flatMap((variant) => doubts(traces[variant]).map((sentence) =>
    note(variant === "trace" ? sentence : `${variant}: ${sentence}`))),
  h("div", { class: "pair" },
    h("div", { "data-breakdown": "steps" }, h("h3", {}, "A step"), stepBreakdown(traces, there)),
    h("div", { "data-breakdown": "device" }, h("h3", {}, isHost ? "The host" : "The device"),
      deviceBreakdown(traces, there, isHost)))];
}

// --- Step times ---

// Sorted; of more than can be drawn evenly many.
function drawnTimes(times) {
  const sorted = [...times].sort((a, b) => a - b), last = sorted.length - 1;
  if (sorted.length <= SAMPLES_DRAWN) return sorted;
  return Array.from({ length: SAMPLES_DRAWN }, (_, i) => sorted[Math.round(i * last / (SAMPLES_DRAWN - 1))]);
}

// `samples`: times of steps by variant. One trace alone has a bar for each step, too.
function stepTimesPart(samples, label) {
  const drawn = Object.fromEntries(Object.entries(samples).map(([name, times]) => [name, drawnTimes(times)]));
  const steps = (samples.trace || []).slice(0, STEPS_DRAWN);
  const figure = h("div", { class: "chart distribution", "data-label": label });
  const bars = steps.length > 1 && h("div", { class: "chart steps", "data-label": "The steps in their order" });
  if (bars) keepDrawn(bars, () => drawSteps(bars, steps));
  return [h("h3", {}, "Step times"), bars, keepDrawn(figure, () => drawDistribution(figure, drawn))];
}

// --- Memory ---

// A device's memory as the picture needs it: until when its last value holds.
function drawnMemory(trace) {
  return trace.memory.map((one) => ({ ...one, until_ns: nsBetween(one.curve.start_ns, trace.window.end_ns) }));
}

function memoryPart(traces, variants) {
  const there = present(traces, variants);
  const devices = there.flatMap((variant) => traces[variant].memory.map((device) => ({ variant, device })));
  if (devices.length === 0) return !isHostAlone(traces, variants)
    && [h("h3", {}, "Memory"), note("The trace has no memory events.")];
  const chart = h("div", { class: "chart memory" });
  keepDrawn(chart, () => drawMemory(chart, there.map((one) => [one, { memory: drawnMemory(traces[one]) }])));
  const largest = (device) => device.categories.slice(0, 3).filter((category) => category.at_peak_bytes)
    .map((category) => `${category.name} ${sizeText(category.at_peak_bytes)}`).join(", ");
  return [h("h3", {}, "Memory"), chart, table(devices, [
    { head: "trace", cell: ({ variant, device }) => `${variant === "trace" ? "" : `${variant} `}${
      device.device < 0 ? "host" : `device ${device.device}`}` },
    { head: "peak", exact: ({ device }) => device.peak_bytes, as: sizeText },
    { head: "reserved", class: "number", cell: ({ device }) => sizeText(device.reserved_peak_bytes) },
    { head: "limit", class: "number", cell: ({ device }) => sizeText(device.limit_bytes) },
    { head: "largest at the peak", class: "whole", cell: ({ device }) => largest(device) || UNKNOWN }],
  { class: "cards", label: "Memory" })];
}
