// One scenario of a result: its lesson, what was measured, and its traces before and after beside each other.

const UTILISATION = { busy_share: "the device works", mfu: "model FLOPs utilisation (MFU)",
  bandwidth_share: "bandwidth of a copy, which misses the caches" };
const LESSON = { symptom: "symptom", cause: "cause", fix: "fix", look: "where to look", cost: "cost" };
const OUTCOMES = { met: ["good", "✓"], "not met": ["bad", "✗"] };

// --- What is shown of it ---

// The shares that the result states; of how busy the device is, else that of the trace.
function utilisationOf(raw, variant, trace) {
  const shares = { ...raw.utilisation?.[variant] };
  if (shares.mfu > 1) { // older results state it
    shares.mfu = null;
    shares.mfu_doubt = "a step computed faster than the peak, which was measured too low";
  }
  return { ...shares, busy_share: shares.busy_share ?? trace?.window.busy_share ?? null };
}

// The effect and its interval as `run` prints them; dashes for a scenario without.
function changeWords(change, raw) {
  const isThere = isKnown(change?.before);
  const [effect, interval] = effectWords({ ...change, coverage: raw.coverage });
  return isThere ? { effect, interval } : { effect: UNKNOWN, interval: "" };
}

// "syncs_per_step down 20.0x": the first thing besides the speed that it expects to change, or nothing.
function aboutWords(raw) {
  const first = (raw.expectations || []).find((one) => isKnown(one.before) && !one.is_cost
    && one.outcome !== "not bound" && !["step_time", "items_per_second"].includes(one.metric));
  return first ? `${first.metric} ${effectWords({ ...first, coverage: raw.coverage })[0]}` : "";
}

function viewScenario(shown, raw) {
  const sides = (of) => Object.fromEntries(SIDES.map((variant) => [variant, of(variant)]));
  const traces = sides((variant) => shown.diagnoses?.[raw.name]?.[variant]?.traces[0] || null);
  const [tone, sign] = VERDICTS[raw.verdict] || ["doubtful", "?"];
  return { name: raw.name, raw, tone, sign, traces, lesson: Object(shown.lessons?.[raw.name]), about: aboutWords(raw),
    missing: sides((variant) => shown.missing?.[raw.name]?.[variant]),
    shares: sides((variant) => utilisationOf(raw, variant, traces[variant])),
    times: sides((variant) => (raw.samples?.[variant] || []).flatMap((sample) => sample.step_ns || [])),
    ...changeWords({ ...raw.step_time, effect: raw.effect, interval: raw.interval }, raw) };
}

// --- Its lesson ---

function linesOfText(text) { return text ? text.replace(/\n$/, "").split("\n") : []; }

// The lines of both, those that the other side lacks marked: all but a longest common subsequence.
function differingLines(before, after) {
  const common = Array.from({ length: before.length + 1 }, () => new Array(after.length + 1).fill(0));
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      common[i][j] = before[i] === after[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const changed = (text) => ({ text, changed: true });
  const lines = { before: before.map(changed), after: after.map(changed) };
  for (let i = 0, j = 0; i < before.length && j < after.length;) {
    if (before[i] === after[j]) lines.before[i++].changed = lines.after[j++].changed = false;
    else if (common[i + 1][j] >= common[i][j + 1]) i++;
    else j++;
  }
  return lines;
}

function lessonPart({ raw, lesson }) {
  if (!lesson.name) return null;
  const fact = (name, ...content) => h("div", {}, h("dt", {}, name), h("dd", {}, content));
  const lines = differingLines(...SIDES.map((variant) => linesOfText(lesson.pytorch?.[variant])));
  return [h("div", { class: "lesson" }, h("dl", {},
    Object.keys(LESSON).filter((name) => lesson[name]).map((name) => fact(LESSON[name], lesson[name])),
    fact("setting", h("code", {}, raw.knob), " ", h("code", {}, raw.before), " → ", h("code", {}, raw.after),
      lesson.settings && ["; both with ", h("code", {}, lesson.settings)]))),
  h("div", { class: "pair code" }, SIDES.map((variant) => h("figure", {}, h("figcaption", {}, `PyTorch, ${variant}`),
    h("pre", { tabindex: 0, "aria-label": `PyTorch, ${variant}` }, lines[variant].map(({ text, changed }) =>
      h("span", { class: changed ? `changed ${variant}` : null }, text || " "))))))];
}

// --- What was measured ---

function thresholdText(one) {
  const unit = one.unit || "", found = [["at_least", "at least"], ["at_most", "at most"]]
    .filter(([name]) => isKnown(one[name])).map(([name, words]) => `${words} ${factorText(one[name])}`);
  for (const [name, words] of [["before_above", "before above"], ["after_below", "after below"]])
    if (isKnown(one[name])) found.push(`${words} ${quantityText(one[name], unit)}`);
  return found.join(", ") || (one.direction === "grows" ? "grows" : "shrinks");
}

// As the result has it, but what other programs or a quota may have hidden is not counted: the verdict is open.
function outcomeOf(one, raw) {
  const stated = one.outcome === "not met" && raw.verdict === "undecided" ? "not counted" : one.outcome;
  const [tone, sign] = OUTCOMES[stated] || ["doubtful", "?"];
  return h("span", { class: `verdict ${tone}` }, `${sign} ${stated}`);
}

function measuredPart({ name, raw }) {
  if (!raw.expectations?.length) return null;
  const words = (one) => changeWords(one, raw);
  const value = (side) => ({ head: side, class: "number", cell: (one) => quantityText(one[side], one.unit || ""),
    data: (one) => ({ "data-exact": one[side] }) });
  return [h("h3", {}, "Measured"), table(raw.expectations, [
    { head: "metric", cell: (one) => [one.metric, one.is_cost && [" ", h("span", { class: "dim" }, "(cost)")]] },
    ...SIDES.map(value),
    { head: "effect", class: "number", cell: (one) => words(one).effect,
      data: (one) => ({ "data-exact": one.effect, "data-words": words(one).effect }) },
    { head: "interval", cell: (one) => words(one).interval, data: (one) => ({ "data-words": words(one).interval }) },
    { head: "expected", class: "twice", cell: thresholdText },
    { head: "outcome", class: "corner", cell: (one) => outcomeOf(one, raw), data: () => ({ "data-label": null }) }],
  { class: "cards", label: `Measured, ${name}`, row: (one) => ({ "data-metric": one.metric }) })];
}

function utilisationPart({ name, raw, shares }) {
  const stated = Object.keys(UTILISATION).filter((share) => share in Object(raw.utilisation?.before));
  const doubt = shares.before.mfu_doubt || shares.after.mfu_doubt;
  const text = (share, variant) => (share === "mfu" && shares[variant].mfu_doubt ? "doubtful"
    : shareText(shares[variant][share]));
  return stated.length > 0 && [table(stated, [
    { head: "share of a step, or of a peak", cell: (share) => UTILISATION[share] },
    ...SIDES.map((variant) => ({ head: variant, class: "number", cell: (share) => text(share, variant),
      data: (share) => ({ "data-exact": shares[variant][share] }) }))],
  { class: "parts", label: `Utilisation, ${name}`, row: (share) => ({ "data-share": share }) }),
  doubt && note(`MFU is doubtful: ${doubt}`)];
}

function tracesPart({ name, raw, lesson, traces }) {
  const ids = (rows) => new Set((rows || []).map((row) => row.id));
  const judged = { measuredGain: raw.findings?.measured_gain, expected: ids(lesson.findings),
    tolerated: ids(lesson.findings_after) };
  return (traces.before || traces.after) && [timelinePart(name, traces, SIDES), whatIfPart(traces, SIDES),
    breakdownsPart(traces, SIDES), memoryPart(traces, SIDES), findingsPart(traces, SIDES, judged),
    mixPart(traces, SIDES), tablesPart(traces, SIDES)];
}

function scenarioSection(one, isOpen) {
  const { raw, times } = one, counts = SIDES.map((variant) => `${variant} ${times[variant].length}`).join(", ");
  return section({ class: "scenario", id: `s-${one.name}`, "data-scenario": one.name, open: isOpen },
    [h("h2", {}, one.name), " ", verdictOf(one), " ",
      h("span", { class: "headline" }, isKnown(raw.effect) && one.effect), " ",
      h("span", { class: "dim title" }, raw.title)],
    () => [raw.reason && note(raw.reason),
      raw.verdict !== "skipped" && SIDES.filter((variant) => one.missing[variant]).map((variant) =>
        note(`No trace of ${variant}: ${one.missing[variant]}.`)),
      lessonPart(one), measuredPart(one), utilisationPart(one),
      (times.before.length > 0 || times.after.length > 0) && stepTimesPart(times, `Single steps: ${counts}`),
      tracesPart(one)]);
}
