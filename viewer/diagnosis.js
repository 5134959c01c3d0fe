// A diagnosis: ranks of a run beside each other, each trace in a section, and snapshots of memory.

function showDiagnosis(diagnosis, main) {
  const traces = diagnosis.traces || [], run = diagnosis.run, slow = run?.slow_rank?.rank ?? null;
  const opened = Math.max(0, traces.findIndex((trace) => slow !== null && trace.rank === slow));
  if (traces.length > 1) main.append(tracesOverview(traces, run));
  if (!run && typeof comparePart === "function") main.append(...comparePart(traces));
  main.append(...traces.map((trace, i) => traceSection(trace, i, i === opened)));
  showSnapshots(diagnosis.snapshots || [], main);
}

function traceSection(trace, i, isOpen) {
  const traces = { trace }, variants = ["trace"], steps = trace.steps;
  const lacking = trace.not_held || [], isHeld = (name) => !lacking.includes(name);
  const ranks = trace.rank !== null && trace.world_size > 1 ? `; rank ${trace.rank} of ${trace.world_size}` : "";
  const device = trace.device.name || (trace.device.count ? "a device without a name" : "CPU only");
  return section({ class: "scenario", id: `t-${i + 1}`, "data-trace": trace.file, open: isOpen },
    [h("h2", { class: "wrap" }, trace.file), h("span", { class: "dim title" },
      `${device}; ${countText(trace.events)} events${ranks}`)],
    () => [findingsPart(traces, variants), checklistPart(trace.checklist, trace.file), whatIfPart(traces, variants, i),
      isHeld("timeline") && timelinePart(trace.file, traces, variants, i), breakdownsPart(traces, variants),
      steps.duration_ns.length > 1 && stepTimesPart({ trace: steps.duration_ns }, `Steps: ${steps.count}`),
      isHeld("memory") && memoryPart(traces, variants), mixPart(traces, variants),
      isHeld("kernels") && tablesPart(traces, variants),
      lacking.length > 0
        && note(`A digest does not hold ${lacking.join(", ").replaceAll("_", " ")}: open the trace itself.`)]);
}

// --- Ranks ---

function tracesOverview(traces, run) {
  return h("section", { "aria-labelledby": "overview-title" },
    h("h2", { id: "overview-title" }, run ? "Ranks of one run" : "Traces"),
    run && [h("p", {}, h("strong", {}, run.bottleneck), `: ${run.headline}`),
      h("p", { "data-slow": run.slow_rank?.rank ?? "" }, run.slow_rank ? run.slow_rank.text
        : "The ranks cannot be compared: that takes two whole traces with communication.")],
    rankTable(traces, run),
    run && [dim("Waits: how much longer a rank communicates than the one that comes last. A finding that all ranks ",
      "share stands below, once."), h("h3", {}, "Findings of the run"), runFindings(run),
    checklistPart(run.checklist, "run")]);
}

function rankTable(traces, run) {
  const slow = run?.slow_rank?.matters ? [run.slow_rank.rank, ...run.slow_rank.as_slow || []] : [];
  const byRank = new Map((run?.ranks || []).map((one) => [one.rank, one]));
  const longest = Math.max(1, ...[...byRank.values()].map((one) => one.step_ns || 0));
  const rows = traces.map((trace, i) => ({ trace, ranked: byRank.get(trace.rank ?? undefined), id: i + 1 }));
  const first = ({ trace, ranked }) => (ranked ? ranked.first_finding : trace.findings[0]?.id) || "";
  const number = (head, value, as, more) => ({ head, class: "number", sort: value,
    cell: (row) => (value(row) === undefined ? "" : as(value(row))), ...more });
  return table(rows, [
    { head: run ? "rank" : "trace", sort: ({ trace, ranked }) => (ranked ? trace.rank : trace.file),
      cell: ({ trace, ranked, id }) => h("a", { href: `#t-${id}` }, ranked ? `rank ${trace.rank}` : trace.file) },
    number("mean step", ({ trace }) => trace.steps.mean_ns, timeText),
    run && { head: "compute, waits, the rest", class: "whole ranks", cell: ({ ranked }) => rankBar(ranked, longest) },
    run && number("waits", ({ ranked }) => ranked?.waits_ns, timeText,
      { data: ({ ranked }) => ({ "data-waits": ranked?.waits_ns }) }),
    number("busy", ({ trace }) => trace.window.busy_share, shareText),
    number("communication", ({ trace }) => trace.communication_ns, timeText),
    number("exposed", ({ trace }) => trace.exposed_communication_ns, timeText),
    { head: "first finding", class: "whole", sort: first, cell: (row) => first(row) || UNKNOWN }],
  { class: "sortable cards", label: "Table of traces",
    row: ({ trace }) => ({ class: slow.includes(trace.rank) ? "slow" : null }) });
}

function rankBar(ranked, longest) {
  if (!ranked?.step_ns) return null;
  const step = ranked.step_ns, waits = Math.min(ranked.waits_ns || 0, step);
  const compute = Math.min(ranked.compute_ns || 0, step - waits);
  const width = (ns, whole) => `width:${(100 * ns / whole).toFixed(2)}%`;
  return h("div", { class: "bar ranks", role: "img", style: width(step, longest),
    "aria-label": `rank ${ranked.rank}: computes ${timeText(compute)}, waits ${timeText(waits)} of ${timeText(step)}` },
  h("i", { class: "c-kernel", style: width(compute, step) }), h("i", { class: "c-waiting", style: width(waits, step) }),
  h("i", { class: "c-other", style: "flex:1" }));
}

function runFindings(run) {
  if (run.findings.length === 0) return h("p", { class: "dim" }, "None.");
  return run.findings.map((finding) => {
    const ranks = finding.ranks.length === run.ranks.length ? "all ranks"
      : `rank${finding.ranks.length > 1 ? "s" : ""} ${finding.ranks.join(", ")}`;
    const most = finding.most_lost_ns_per_step
      ? `; costs most on rank ${finding.rank}: ${timeText(finding.most_lost_ns_per_step)} per step` : "";
    return h("p", { "data-run-finding": finding.id }, h("strong", {}, finding.title || finding.id), " ",
      h("code", {}, finding.id), " ", h("span", { class: "severity" }, finding.severity), " ",
      h("span", { class: "dim" }, ranks, most));
  });
}
