// A result of `run`: an overview of its scenarios, each scenario, and its pairs of kernels; a result of `try`.

const SIDES = ["before", "after"];
const VERDICTS = { reproduced: ["good", "✓"], "not reproduced": ["bad", "✗"], failed: ["bad", "✗"],
  undecided: ["doubtful", "?"], skipped: ["dim", "–"] };
const OPEN_MOST = 2; // scenarios: of more each is closed at first

// --- What a result has to be ---

// The form of what a page needs. A text is the kind of a value, a list of one kind a list, a list of two a pair of
// numbers, and an object names members. A value that is null or missing fits.
const CHANGE = { before: "number", after: "number", effect: "number", interval: ["number", "number"], unit: "string" };
const SHARES = { busy_share: "number", mfu: "number", bandwidth_share: "number", mfu_doubt: "string" };
const FINDINGS = [{ id: "string", predicted_gain: "number" }], SAMPLES = [{ step_ns: ["number"] }];
const EXPECTATION = { ...CHANGE, metric: "string", direction: "string", outcome: "string", at_least: "number",
  at_most: "number", before_above: "number", after_below: "number" };
const SCENARIO = { name: "string", title: "string", verdict: "string", reason: "string", knob: "string",
  before: "string", after: "string", effect: "number", interval: ["number", "number"], coverage: "number",
  step_time: CHANGE, expectations: [EXPECTATION], utilisation: { before: SHARES, after: SHARES },
  findings: { before: FINDINGS, after: FINDINGS, measured_gain: "number" },
  samples: { before: SAMPLES, after: SAMPLES } };
const PAIR = { name: "string", title: "string", verdict: "string", reason: "string", before: "string",
  between: "string", after: "string", counts: [{ count: "string", unit: "string" }] };
const ARM = { name: "string", cause: "string", text: "string", effect: "number", interval: ["number", "number"],
  predicted_gain: "number", verdict: "string", reason: "string", place: "string", advice: "string" };

// The path of the first member that does not fit, "" if all do.
function misfit(value, form, path) {
  if (value === null || value === undefined) return "";
  if (form === "number") return isKnown(value) ? "" : path;
  if (typeof form === "string") return typeof value === form ? "" : path;
  if (Array.isArray(value) !== Array.isArray(form) || typeof value !== "object") return path;
  if (form.length === 2 && value.length !== 2) return path;
  const element = (one, at) => (one === null && form.length === 1 ? at : misfit(one, form[0], at));
  const members = Array.isArray(form) ? value.map((one, i) => element(one, `${path}[${i}]`))
    : Object.keys(form).map((name) => misfit(value[name], form[name], `${path}.${name}`));
  return members.find(Boolean) || "";
}

// Those with a name that are of this form; each other one becomes a note.
function wellFormed(rows, form, shown, main) {
  const named = (Array.isArray(rows) ? rows : []).filter((one) => typeof one?.name === "string");
  return named.filter((one) => {
    const found = misfit(one, form, one.name);
    if (found) main.append(note(`Could not be read: ${shown.about}: ${one.name} is not as this version of chokepoint `
      + `writes it: ${found}`, "bad-note"));
    return !found;
  });
}

function showResult(shown, main) {
  const found = Object(shown.result.chokepoint), pairs = wellFormed(found.kernels, PAIR, shown, main);
  const scenarios = wellFormed(found.scenarios, SCENARIO, shown, main).map((raw) => viewScenario(shown, raw));
  if (scenarios.length > 0) main.append(overview(scenarios, main));
  main.append(...scenarios.map((one) => scenarioSection(one, scenarios.length <= OPEN_MOST)));
  if (pairs.length > 0) main.append(pairsSection(pairs, Object(shown.pairs)));
}

// --- The overview ---

function verdictOf(one) { return h("span", { class: `verdict ${one.tone}` }, `${one.sign} ${one.raw.verdict}`); }

// The place of a factor on a logarithmic scale, in percent.
function placeOf(factor, [least, most]) {
  return 100 * Math.min(1, Math.max(0, Math.log(factor / least) / Math.log(most / least)));
}

// The bounds of the overview's scale: all intervals, and 1.
function effectScale(scenarios) {
  const found = scenarios.flatMap(({ raw }) => [...raw.interval || [], raw.effect]).filter((bound) => bound > 0);
  return [Math.min(0.4, ...found), Math.max(2.5, ...found)];
}

// Round factors within the scale, 1 first, so far from each other that there is room for all.
function scaleMarks(scale) {
  const marks = [1];
  for (const factor of [10, 100, 1000, 2, 5, 0.1, 0.5, 0.2, 20, 50, 0.01, 200, 500]) {
    const isFree = marks.every((mark) => Math.abs(placeOf(factor, scale) - placeOf(mark, scale)) >= 18);
    if (factor >= scale[0] && factor <= scale[1] && isFree) marks.push(factor);
  }
  return marks;
}

function intervalCell(one, scale) {
  const { effect, interval } = one.raw, left = (factor) => `left:${placeOf(factor, scale).toFixed(2)}%`;
  const hasRange = interval && interval.every((end) => end > 0);
  const width = hasRange && `;width:${(placeOf(interval[1], scale) - placeOf(interval[0], scale)).toFixed(2)}%`;
  return effect ? [h("span", { class: "small" }, one.interval || "no interval"), " ",
    h("span", { class: "interval" }, h("i", { class: "one", style: left(1) }),
      hasRange && h("i", { class: `range ${one.tone}`, style: left(interval[0]) + width }),
      h("i", { class: "point", style: left(effect) }))] : null;
}

function firstFinding(one) {
  const first = one.raw.findings?.before?.[0], gain = first?.predicted_gain;
  if (!first) return UNKNOWN;
  const bound = first.predicted_gain_at_least ? "at least " : first.predicted_gain_at_most ? "at most " : "";
  return [first.id, " ", gain && h("span", { class: "dim" }, `${bound}${factorText(gain)} predicted`)];
}

function busyColumn(variant) {
  return { head: `busy ${variant}`, class: "number", sort: (one) => one.shares[variant].busy_share,
    cell: (one) => shareText(one.shares[variant].busy_share),
    data: (one) => ({ "data-value": `busy-${variant}`, title: one.missing[variant] }) };
}

function scenarioTable(scenarios) {
  const scale = effectScale(scenarios), finding = (one) => one.raw.findings?.before?.[0]?.id;
  const marks = scaleMarks(scale).map((factor) =>
    h("span", { style: `left:${placeOf(factor, scale).toFixed(2)}%` }, `${factor}x`));
  return table(scenarios, [
    { head: "scenario", sort: (one) => one.name, cell: (one) => [h("a", { href: `#s-${one.name}` }, one.name), " ",
      h("span", { class: "dim knob" }, `${one.raw.knob} ${one.raw.before} → ${one.raw.after}`)] },
    { head: "step", class: "number", sort: (one) => one.raw.effect, cell: (one) => one.effect,
      data: () => ({ "data-value": "effect" }) },
    { head: ["interval ", h("span", { class: "interval scale", "aria-hidden": "true" }, marks)], class: "twice",
      cell: (one) => intervalCell(one, scale), data: () => ({ "data-label": "interval" }) },
    { head: "what it is about", class: "whole", sort: (one) => one.about, cell: (one) => one.about || UNKNOWN,
      data: (one) => ({ "data-about": one.about }) },
    { head: "verdict", class: "corner", sort: (one) => one.raw.verdict, cell: verdictOf,
      data: () => ({ "data-label": null }) },
    ...SIDES.map(busyColumn),
    { head: "first finding before", class: "whole", sort: finding, cell: firstFinding }],
  { class: "sortable cards", label: "Table of scenarios", id: "scenarios", row: (one) => ({ "data-name": one.name,
    "data-kind": one.raw.verdict, "data-section": `s-${one.name}`,
    "data-text": [one.name, one.raw.title, one.raw.knob, one.raw.verdict, one.lesson.group, finding(one)].join(" "),
  }) });
}

function overview(scenarios, main) {
  const verdicts = [...new Set(scenarios.map((one) => String(one.raw.verdict)))].sort();
  return h("section", { "aria-labelledby": "overview-title" }, h("h2", { id: "overview-title" }, "Overview"),
    filterControls(main, "Verdict", verdicts, "name, knob, finding"), scenarioTable(scenarios),
    dim("Step: its time before over after, with its confidence interval on a logarithmic scale; the line marks 1x: "
      + "left of it the fix is slower, right of it faster. About: the first thing besides the speed that the scenario "
      + "expects to change. Busy: the part of a step in which the device works, in the trace."));
}

// --- Pairs of kernels ---

function pairCell(one) {
  const steps = [one.before, one.between, one.after].filter(Boolean).join(" → ");
  return [`${one.name} `, h("span", { class: "dim knob" }, steps),
    one.device_ns_before && one.device_ns_after && [h("br"), h("span", { class: "small" },
      `on the GPU ${timeText(one.device_ns_before)} → ${timeText(one.device_ns_after)}`)],
    one.reason && [h("br"), h("span", { class: "small" }, `${one.verdict}: ${one.reason}`)]];
}

// A row per count; the name of a pair stands beside all of its counts.
function pairTable(pairs) {
  const steps = pairs.some((one) => one.between) ? ["before", "between", "after"] : SIDES;
  const rowOf = (one, count, i, counts) => h("tr", { "data-kernel": one.name },
    i === 0 && h("td", { rowspan: counts.length }, pairCell(one)), h("td", {}, count.count || UNKNOWN),
    steps.map((step) => h("td", { class: "number" }, (step !== "between" || one.between)
      && countedText(count[step], count.unit || ""))),
    h("td", {}, "holds" in count ? (count.holds ? "yes" : "no") : UNKNOWN));
  const head = (text, name) => h("th", { scope: "col", class: name }, text);
  const rows = pairs.map((one) => (one.counts?.length ? one.counts : [{}]).map((...count) => rowOf(one, ...count)));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of pairs of kernels" },
    h("table", {}, h("thead", {}, h("tr", {}, head("pair"), head("count"), steps.map((step) => head(step, "number")),
      head("as predicted"))), h("tbody", {}, rows)));
}

function pairsSection(pairs, runs) {
  const executed = pairs.filter((one) => runs[one.name]?.length > 0);
  const viewed = (one) => runs[one.name].map(({ step, words, kernel }) => ({ name: `${step}: ${words}`, kernel }));
  return h("section", { "aria-labelledby": "kernels-title" }, h("h2", { id: "kernels-title" }, "Pairs of kernels"),
    pairTable(pairs), dim(`Counted by executing the kernels' PTX for sm_${pairs[0].arch}; times are of launches on `,
      "the GPU, if there are any. ", h("code", {}, "chokepoint explain NAME"), " says what each count means."),
    executed.length > 0 && [h("h3", {}, "Line by line"), wordsOfLines(), wordsOfAccesses(), executed.map((one) =>
      section({ class: "kernel-pair", "data-pair": one.name }, [`${one.name} `, h("span", { class: "dim" }, one.title)],
        () => [kernelLines(viewed(one)), kernelAccesses(viewed(one), PAIR_PICTURES)]))]);
}

// --- A result of try ---

function showTrial(shown, main) {
  const trial = shown.result.chokepoint.trial, arms = wellFormed(trial.arms, ARM, shown, main);
  const gain = (member) => ({ sort: (arm) => arm[member] || null, class: "number",
    cell: (arm) => (arm[member] ? `${fixedText(arm[member], 2)}x` : UNKNOWN) });
  const interval = ([low, high]) => `${fixedText(low, 2)} to ${fixedText(high, 2)}`;
  main.append(h("section", { "aria-labelledby": "trial-title" },
    h("h2", { id: "trial-title" }, "Measured in the program"),
    h("p", {}, trial.step_ns && `A step takes ${timeText(trial.step_ns)} as the program is.`,
      trial.disturbed && ` Meanwhile ${trial.disturbed}.`),
    table(arms, [
      { head: "cause", sort: (arm) => arm.cause, cell: (arm) => arm.cause },
      { head: "tried", sort: (arm) => arm.name, cell: (arm) => (arm.is_fix ? arm.text : `without it (${arm.name})`) },
      { head: "gain", ...gain("effect") },
      { head: "95% interval", cell: (arm) => (arm.interval?.[0] ? interval(arm.interval) : UNKNOWN) },
      { head: "predicted", ...gain("predicted_gain") },
      { head: "verdict", sort: (arm) => arm.verdict, cell: (arm) => [arm.verdict,
        arm.reason && [": ", h("span", { class: "dim" }, arm.reason)]] },
      { head: "where, and what to do", class: "whole",
        cell: (arm) => [`${arm.place} `, h("span", { class: "dim" }, arm.advice)],
        data: () => ({ "data-label": "where" }) }],
    { class: "sortable cards", label: "Table of switches and fixes", row: (arm) => ({ "data-arm": arm.name }) })));
}
