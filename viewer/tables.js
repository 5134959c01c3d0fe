// The tables of one trace, or of two beside each other: kinds of work, kernels and copies, operators, gaps.

const ROWS_SHOWN = 10, GAPS_SHOWN = 8, COPIES_SHOWN = 3;

// Shown for transformers; the usual shares are those of a training step's layers.
function mixPart(traces, variants) {
  const there = present(traces, variants).filter((variant) => traces[variant].mix);
  return there.length === 0 ? [] : [h("h3", {}, "Device work by kind"),
    beside(variants, there.map((variant) => mixOf(traces[variant].mix, variant)))];
}

function mixOf(mix, variant) {
  return h("div", { "data-mix": variant },
    table(mix.kinds.filter((row) => row.count), [
      { head: titled(variant, "kind"), cell: (row) => row.name },
      { head: "total", exact: (row) => row.total_ns, as: timeText },
      { head: "share", class: "number", cell: (row) => shareText(row.share) }],
    { class: "parts", label: `Device work by kind, ${variant}` }),
    mix.source && [table(mix.layers, [
      { head: "of the layers' time", cell: (row) => row.name },
      { head: "here", class: "number", cell: (row) => shareText(row.share) },
      { head: "usual", class: "number", cell: (row) => shareText(row.usual_share) }],
    { class: "parts", label: `What is usual, ${variant}` }), dim(`Usual: ${mix.source}.`)]);
}

function isKernel(row) { return ["computation", "communication"].includes(row.kind); }

function kernelTable(trace, variant, has) {
  const kernels = trace.kernels.filter(isKernel), copies = trace.kernels.filter((row) => !isKernel(row));
  const shown = kernels.slice(0, ROWS_SHOWN);
  return longTable([...shown, ...copies.slice(0, COPIES_SHOWN)], trace.kernels, [
    { head: "share", class: "number", cell: (row) => shareText(row.share) },
    { head: "total", exact: (row) => row.total_ns, as: timeText },
    { head: "calls", class: "number", cell: (row) => countText(row.count) },
    { head: "kernel", class: "name", cell: (row) => row.name },
    has.grid && { head: "grid", class: "grid", cell: (row) => (row.grid ? row.grid.join(" × ") : UNKNOWN) }],
  { class: "names", name: `kernels.${variant}`, text: (row) => row.name, label: `Kernels, ${variant}`, empty: "The trace holds no device work.",
    top: titled(variant, `${shown.length} of ${kernels.length} kernels`) });
}

function kindTable(trace, variant, has) {
  const rows = trace.operator_kinds.slice(0, ROWS_SHOWN);
  const roofline = ({ bound, bound_share: share }) => (bound ? `${bound} ${share ? shareText(share) : ""}` : UNKNOWN);
  return longTable(rows, trace.operator_kinds, [
    { head: "time", exact: (row) => row.device_ns || row.host_ns, as: timeText },
    { head: "calls", class: "number", cell: (row) => countText(row.count) },
    has.bound && { head: "roofline", class: "number", cell: roofline },
    { head: "kind", class: "name", cell: (row) => row.name },
    has.input_dims && { head: "shapes", class: "name second", cell: (row) => row.input_dims || UNKNOWN }],
  { class: "names", name: `kinds.${variant}`, text: (row) => `${row.name} ${row.input_dims || ""}`,
    label: `Operators by kind, ${variant}`, empty: "The trace names no operator.",
    top: titled(variant, `${rows.length} of ${trace.operator_kind_count} kinds`) });
}

function operatorTable(trace, variant) {
  const rows = trace.operators.slice(0, ROWS_SHOWN);
  return longTable(rows, trace.operators, [
    { head: "device total", exact: (row) => row.device_total_ns, as: timeText },
    { head: "Self CPU", class: "number", cell: (row) => timeText(row.host_self_ns) },
    { head: "calls", class: "number", cell: (row) => countText(row.count) },
    { head: "operator", class: "name", cell: (row) => row.name }],
  { class: "names", name: `operators.${variant}`, text: (row) => row.name, label: `Operators, ${variant}`, empty: "The trace names no operator: a graph's launch has none.",
    top: titled(variant, `${rows.length} of ${trace.operator_count} operators and calls`) });
}

// Idle time by cause, and below it by where the host was in the longest gaps.
function idleFigure(trace) {
  const parts = [];
  let start = 0;
  for (const [cause, name] of CAUSES) {
    const size = trace.window.causes[cause], places = new Map();
    if (!size) continue;
    parts.push({ name, depth: 0, start, size, kind: cause });
    for (const gap of trace.gaps.filter((one) => one.cause === cause && one.where))
      places.set(gap.where.text, (places.get(gap.where.text) || 0) + gap.causes[cause]);
    let at = start;
    for (const [place, ns] of [...places].sort(([, a], [, b]) => b - a)) {
      parts.push({ name: place, depth: 1, start: at, size: ns, kind: cause });
      at += ns;
    }
    start += size;
  }
  return parts.length > 0 && flameFigure(parts, { name: "the idle time", size: trace.window.idle_ns }, timeText,
    "Idle time by cause", "idle time by cause, and below by where the host was in the longest gaps");
}

// The length of a gap: a button that shows it in the timeline, if it is drawn there.
function gapCell(trace, variant, gap) {
  const { start_ns: from, end_ns: to } = trace.timeline, at = nsBetween(from, gap.start_ns);
  if (at < 0 || at + gap.duration_ns > nsBetween(from, to)) return timeText(gap.duration_ns);
  const show = (event) => {
    const figure = event.target.closest("details, main").querySelector(".timeline");
    figure.dispatchEvent(new CustomEvent("moment", { detail: { variant, start: gap.start_ns, ns: gap.duration_ns } }));
    figure.scrollIntoView({ block: "nearest" });
  };
  return h("button", { type: "button", class: "show", title: "Show it in the timeline", click: show },
    timeText(gap.duration_ns));
}

function gapTable(trace, variant, has) {
  const text = (row) => [CAUSES.get(row.cause), row.after, row.where?.text].join(" ");
  return [idleFigure(trace), longTable(trace.gaps.slice(0, GAPS_SHOWN), trace.gaps, [
    { head: "idle", exact: (row) => row.duration_ns, cell: (row) => gapCell(trace, variant, row) },
    { head: "cause", class: "cause", cell: (row) => [swatch(row.cause), CAUSES.get(row.cause) ?? row.cause,
      row.after_wait && ", after a wait"] },
    { head: "step", class: "number", cell: (row) => row.step ?? UNKNOWN },
    { head: "next work", class: "name", cell: (row) => row.after || "the end" },
    has.where && { head: "where", class: "name second", cell: (row) => row.where?.text ?? UNKNOWN }],
  { class: "names", name: `gaps.${variant}`, text, label: `Gaps, ${variant}`, empty: "None.", top: titled(variant, "the longest gaps") })];
}

// A column without any value is left out, on both sides; so are kernels without a device.
function tablesPart(traces, variants) {
  const there = present(traces, variants), isHost = isHostAlone(traces, variants);
  const any = (rows, member) => there.some((variant) => traces[variant][rows].some((row) => row[member]));
  const has = { grid: any("kernels", "grid"), bound: any("operator_kinds", "bound"),
    input_dims: any("operator_kinds", "input_dims"), where: any("gaps", "where") };
  return [isHost || ["kernels", "Kernels and copies", kernelTable],
    ["kinds", `Operators by kind${has.input_dims ? " and shape" : ""}`, kindTable],
    ["operators", "Operators", operatorTable], ["gaps", isHost ? "When no operator ran" : "When the device was idle", gapTable],
  ].filter(Array.isArray).map(([kind, title, make]) => [h("h3", {}, title),
    h("div", { class: `${variants.length > 1 ? "pair " : ""}${kind}` },
      there.map((variant) => h("div", { "data-variant": variant }, make(traces[variant], variant, has))))]);
}
