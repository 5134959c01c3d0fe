// Kernels, from the JSON of `chokepoint kernel`: findings of one run, or of some beside each other, the source beside
// its counts, and pictures of accesses. `runs` is [{ name, kernel }]. Pictures and lines are made by kernel_picture.js.

const PICTURES_MOST = 8, PAIR_PICTURES = 3; // of a run: on a page of its own, and of a pair of a result

// May be called again, for another element or with other counts.
function showKernels(shown, main) {
  const runs = shown.kernels;
  main.append(h("p", { class: "dim" }, "Counted without a GPU: exact, and the same in every run. It has no times."),
    besideRuns(runs, kernelSummary), h("h2", {}, "Lines"), wordsOfLines(), kernelLines(runs),
    h("h2", {}, "Accesses"), wordsOfAccesses(), kernelAccesses(runs, PICTURES_MOST));
}

function besideRuns(runs, make) {
  const kind = runs.length > 2 ? "pair three" : runs.length > 1 ? "pair" : null;
  return h("div", { class: kind }, runs.map((run) => make(run, runs.length > 1)));
}

// --- What was found ---

function kernelSummary({ name, kernel }) {
  const { counts, wrong } = kernel, lanes = ratio(counts.lanes, counts.instructions) ?? 0;
  return h("section", { class: "run" }, h("h2", {}, name ? `${name}: ${kernel.kernel}` : kernel.kernel),
    h("p", { class: "dim wrap" }, `${kernel.file} · ${kernel.grid.join(" × ")} blocks of ${kernel.block.join(" × ")} `,
      `threads · ${counts.warps} warps · ${counts.instructions} instructions · `,
      `${figureText(lanes)} of 32 lanes active`),
    wrong ? h("p", { class: "note bad-note" }, h("strong", {}, wrong.kind), ` at ${wrong.place || "the launch"}: `,
      h("code", {}, wrong.instruction), ` ${wrong.detail}`) : kernelFindings(kernel));
}

function kernelFindings({ residency, findings, bound }) {
  const { architecture, registers, warps, waves, wave, last } = residency;
  return [h("p", { class: "wrap" }, `On sm_${architecture}: ${registers} registers a thread`,
    residency.from_ptxas ? "" : " (in the PTX)", `, ${warps} of ${residency.most_warps} warps on a multiprocessor`,
    residency.limit && `, by ${residency.limit}`, `; ${plural(waves, "wave")} of ${wave} blocks, ${last} in the last.`),
  bound?.by && h("p", { class: "wrap" }, boundText(bound)),
  findings.length === 0 && note("None of the rules holds.", "good-note"),
  findings.map((finding) => h("div", { class: "finding minor" },
    h("p", {}, h("strong", {}, finding.id), `: ${finding.title}`), h("p", {}, `${finding.text}.`),
    h("p", {}, `Fix: ${finding.advice}.`)))];
}

// The part that sets the pace, and those that take a tenth of its time or more.
function boundText({ gpu, ns, by, parts }) {
  const others = parts.filter((part) => part.name !== by && part.ns >= ns / 10).map((part) => `${timeText(part.ns)} by ${part.name}`);
  return `Least time on the ${gpu}: ${timeText(ns)}, by ${by}${others.length > 0 ? ` (${others.join(", ")})` : ""}.`;
}

// --- The source beside its counts ---

function wordsOfLines() {
  return dim("Instructions of warps as bars; lanes of 32; sectors and passes of shared memory per request, as touched "
    + "/ would do; requests of local memory. The darker a cell, the more of it is wasted.");
}

function kernelLines(runs) {
  return besideRuns(runs, ({ name, kernel }, isNamed) => {
    const lines = linesOf(kernel), hasLocal = lines.some((line) => line.row && line.local.text);
    const heat = (head, member) => ({ head, class: "number", cell: (line) => line.row && line[member].text,
      data: (line) => ({ class: line.row ? `heat heat${line[member].heat}` : null }) });
    const bar = (line) => h("span", { class: "weight", style: `width:${(100 * line.share).toFixed(0)}%`,
      title: `${line.row.instructions} instructions` });
    return h("div", { class: "run" }, isNamed && h("p", { class: "small" }, name), table(lines, [
      { head: "line", class: "number", cell: (line) => line.number, data: () => ({ class: "number dim" }) },
      { head: "instructions", cell: (line) => line.row && bar(line), data: () => ({ class: "weight-cell" }) },
      heat("lanes", "lanes"), heat("sectors", "sectors"), heat("passes", "passes"), hasLocal && heat("local", "local"),
      { head: "source", cell: (line) => line.text, data: () => ({ class: "text" }) }],
    { class: "code", label: `Lines of ${kernel.kernel}`, row: (line) => ({ class: line.row ? null : "idle" }) }));
  });
}

// --- Pictures of accesses ---

function wordsOfAccesses() {
  const mark = (name) => h("span", { class: `swatch ${name}` });
  return dim("One request of a warp each, the one that wastes most. ", mark("used"), "lanes, and what they want ",
    mark("waste"), "what is moved, or served again, in vain. Global memory: a row per sector of 32 bytes, with its "
    + "first byte in the array. Shared memory: a row per bank, with the words that lanes want of it: each more than "
    + "one is another pass.");
}

function kernelAccesses(runs, most) {
  return besideRuns(runs, ({ name, kernel }, isNamed) => {
    const samples = samplesToShow(kernel, most);
    return h("section", { class: "run" }, isNamed && h("p", { class: "small" }, name),
      samples.length === 0 && h("p", { class: "dim" }, "No access of an array was counted."),
      samples.map((sample) => h("figure", { class: "picture" },
        h("figcaption", {}, captionOf(sample)), pictureOf(sample))));
  });
}
