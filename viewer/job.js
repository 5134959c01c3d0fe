// The page of a job: its findings, ranks against steps as a heat map, one rank's steps, groups, late ranks, clocks.

const NODES_SHOWN = 8, LEFT_OUT_SHOWN = 8;

// --- The data of the pictures ---

// The map with what its pictures look up: names of nodes, where each rank's timeline begins, what the findings name.
function mapOf(job) {
  const { ranks, nodes, steps, layers, timeline } = job.map, first = new Uint32Array(ranks.length + 1);
  for (let row = 0, i = 0; row < ranks.length; row++) {
    first[row + 1] = first[row];
    for (let step = 0; step < timeline.steps; step++) first[row + 1] += 3 * timeline.counts[i++];
  }
  return { ranks, nodes, steps, names: job.nodes.map((one) => one.node),
    layers: layers.map((one) => new Layer(one, ranks.length)), timeline: { ...timeline, first },
    marks: job.findings.map((finding) => markOf(finding, job)) };
}

// Where a finding is in the map: a rank, nodes, or nowhere.
function markOf(finding, job) {
  const isNamed = (one) => one.node === finding.node || finding.rack && one.rack === finding.rack;
  return { rank: finding.rank, nodes: job.nodes.flatMap((one, i) => (isNamed(one) ? [i] : [])) };
}

// A number is a rank, and other text the beginning of a node's name, or a part of it.
function findRow(data, text) {
  if (/^\d+$/.test(text)) return data.ranks.indexOf(Number(text));
  const begins = data.names.findIndex((name) => name.startsWith(text));
  const node = begins >= 0 ? begins : data.names.findIndex((name) => name.includes(text));
  return node < 0 ? -1 : data.nodes.indexOf(node);
}

// --- The pictures ---

function heatMapFigure(job, data) {
  const told = `Heat map of ${job.ranks} ranks, by node, against ${data.steps.length} steps`;
  return h("figure", { class: "heat-map" }, h("div", { class: "controls" },
    h("label", {}, "Show ", h("select", { class: "layer" },
      data.layers.map((one) => h("option", { value: one.name }, one.title)))),
    h("label", {}, "Rank or node ", h("input", { class: "find", type: "search", size: 12, autocomplete: "off" })),
    h("span", { class: "found", role: "status" }),
    zoomButton("zoom", "2", "Zoom in"), zoomButton("zoom", "0.5", "Zoom out"), zoomButton("zoom", "0", "All"),
    zoomButton("pan", "-0.5", "↑", "Up"), zoomButton("pan", "0.5", "↓", "Down")),
  h("canvas", { tabindex: 0, role: "img", "aria-label": told }),
  h("p", { class: "scale" }, h("span", { class: "least" }), h("i"), h("span", { class: "most" })),
  h("figcaption", {}, "A row per rank, by node: what it has beyond the median of all ranks in that step. If ranks "
    + "share a pixel, the farthest one is drawn. Triangles: at the right what the findings name, at the left the "
    + "chosen rank. A click chooses a rank; Ctrl and the wheel zoom, as do + and −; arrows go from rank to rank."));
}

function rankFigure() {
  return h("figure", { class: "rank", hidden: true }, h("h3"),
    h("canvas", { role: "img", "aria-label": "Steps of the chosen rank beside those of the median" }),
    h("div", { class: "legend" }),
    h("figcaption", {}, "Wide columns: this rank; narrow, pale ones: the median of all."),
    timelineFigure("the chosen rank", "its own time, and its collectives", "waits"), h("div", { class: "means" }));
}

function fillScale(figure, map) {
  const scale = isDark() ? DARK : LIGHT;
  figure.querySelector(".scale i").style.background =
    `linear-gradient(to right, ${[...scale.below].reverse().join(", ")}, ${scale.above.slice(1).join(", ")})`;
  figure.querySelector(".least").textContent = roughTime(-map.layer.most);
  figure.querySelector(".most").textContent = `+${roughTime(map.layer.most)}`;
}

// Draws both pictures, which are on the page already, and connects them with `main`'s buttons.
function startMap(figure, rank, data, main) {
  const steps = new RankSteps(rank, data), map = new HeatMap(figure, data, (row) => steps.show(row));
  const find = figure.querySelector(".find"), layer = figure.querySelector(".layer");
  const show = (text) => {
    const row = text === "" ? -1 : findRow(data, text);
    figure.querySelector(".found").textContent = text === "" || row >= 0 ? "" : "not there";
    if (row >= 0) map.select(row, true);
  };
  find.addEventListener("change", () => show(find.value.trim()));
  layer.addEventListener("change", () => { map.showLayer(layer.value); fillScale(figure, map); });
  main.addEventListener("click", (event) => {
    if (event.target.dataset.show === undefined) return;
    show(event.target.dataset.show);
    figure.scrollIntoView();
  });
  keepDrawn(figure, () => { fillScale(figure, map); map.draw(); steps.redraw(); });
  const named = data.marks.flatMap((mark) => rowsOf(data, mark));
  if (named.length > 0) map.select(named[0][0]);
}

// --- The page ---

function showJob(job, main) {
  const data = mapOf(job), figure = heatMapFigure(job, data), rank = rankFigure();
  main.append(...[jobHead(job), h("h2", {}, "Findings"), jobFindings(job), h("h2", {}, "Ranks against steps"),
    figure, rank, h("h2", {}, "Groups"), groupTable(job), dim("Means per step."),
    h("div", { class: "pair" }, latestRanks(job), clocks(job)), criticalSteps(job)].flat(Infinity).filter(Boolean));
  startMap(figure, rank, data, main);
}

function jobHead(job) {
  const more = job.left_out.length - LEFT_OUT_SHOWN;
  return [h("p", { class: "dim" }, `${countText(job.ranks)} of ${plural(job.world_size, "rank")} on `,
    `${plural(job.nodes.length, "node")} · a step takes ${timeText(job.step_ns)}, `,
    `the median of ranks over ${plural(job.map.steps.length, "step")}`),
  job.missing > 0 && note(`${job.missing} rank${job.missing === 1 ? " has" : "s have"} no digest.`),
  job.left_out.slice(0, LEFT_OUT_SHOWN).map((one) => note(`Left out: ${one.file}: ${one.reason}.`)),
  more > 0 && note(`Left out: ${more} more.`)];
}

function showButton(place, words) { return h("button", { type: "button", "data-show": place }, words); }

function jobFindings(job) {
  if (!job.explained)
    return note("The collectives in these digests do not explain the step, so nothing is named.", "bad-note");
  if (job.findings.length === 0) return note("None: nothing that only some ranks show costs 2% or more.", "good-note");
  return job.findings.map((finding) => {
    const inRack = finding.rack && job.nodes.find((one) => one.rack === finding.rack);
    const place = finding.rank ?? finding.node ?? inRack?.node;
    return h("div", { class: "finding major" },
      h("p", {}, h("strong", {}, finding.text), " ", h("code", {}, finding.id), " ",
        isPlace(place) && showButton(place, "Show")),
      h("p", {}, `Costs ${timeText(finding.lost_ns_per_step)} per step, `,
        `${shareText(finding.lost_ns_per_step / job.replayed_ns)} of ${timeText(job.step_ns)}.`),
      h("p", {}, `Do: ${finding.advice}`));
  });
}

function isPlace(place) { return place !== undefined && place !== null; }

function groupTable(job) {
  const number = (head, cell) => ({ head, class: "number", cell });
  return table(job.groups, [{ head: "group", cell: (group) => group.kind }, number("ranks", (group) => group.size),
    number("groups", (group) => group.count), number("transfer", (group) => timeText(group.transfer_ns)),
    number("waits", (group) => timeText(group.wait_ns)), { head: "collective", cell: (group) => group.collective }],
  { label: "Groups of ranks" });
}

function latestRanks(job) {
  return h("section", {}, h("h2", {}, "The latest ranks"), table(job.latest_ranks, [
    { head: "rank", class: "number", cell: (one) => showButton(one.rank, one.rank) },
    { head: "late per step", class: "number", cell: (one) => timeText(one.late_ns) },
    { head: "node", class: "wrap", cell: (one) => one.node }], { label: "The latest ranks" }));
}

function clocks(job) {
  const known = job.nodes.filter((one) => one.clock_offset_ns !== null)
    .sort((a, b) => Math.abs(b.clock_offset_ns) - Math.abs(a.clock_offset_ns));
  return h("section", {}, h("h2", {}, "Clocks"), table(known.slice(0, NODES_SHOWN), [
    { head: "node", class: "wrap", cell: (one) => one.node },
    { head: "offset", class: "number", cell: (one) => timeText(one.clock_offset_ns) },
    { head: "drift, ppm", class: "number",
      cell: ({ clock_drift_ppm: drift }) => (isKnown(drift) ? fixedText(drift, 1) : UNKNOWN) }],
  { label: "Clocks" }), dim("Those farthest from the median of all nodes. No figure here depends on them."));
}

function criticalSteps(job) {
  const title = (part) => LAYER_TITLES[part] || PARTS.get(part) || "";
  return job.steps?.length > 0 && section({}, "Who each step waits for", () => table(job.steps, [
    { head: "step", class: "number", cell: (step) => step.number },
    { head: "rank", class: "number", cell: (step) => step.critical_rank },
    { head: "own time", class: "number", cell: (step) => timeText(step.own_ns) },
    { head: "beyond the others'", class: "number", cell: (step) => timeText(step.beyond_others_ns) },
    { head: "longest beyond the others'", cell: (step) => title(step.part) }],
  { label: "Steps and the rank that each waits for" }));
}
