// A fleet: which machines are out and why, and all machines against all figures. All that is judged comes from `fleet`.

const FLEET_NODES_MOST = 200; // in the grid at once: the others are found by their names

function takesTime(unit) { return unit === "ns" || unit === "x"; }

// How much slower a value is than the median: 0.1 does 10% less, or takes 10% longer. Null: one of them is no speed.
function fleetOff(value, figure) {
  if (!(value > 0) || !(figure.median > 0)) return null;
  return takesTime(figure.unit) ? value / figure.median - 1 : 1 - value / figure.median;
}

function fleetReasons(fleet, node) {
  const slow = (kind) => kind.outliers.filter((one) => one.node === node && !one.doubtful)
    .map((one) => `${one.figure} ${fixedText(100 * one.off, 0)}% ${takesTime(one.unit) ? "longer" : "less"}`);
  const failing = (kind) => kind.statuses.filter((one) => one.odd && one.nodes.includes(node))
    .map((one) => `${one.check} fails`);
  return fleet.kinds.flatMap((kind) => [...slow(kind), ...failing(kind)]).join(", ");
}

function fleetOut(fleet) {
  if (fleet.out.length > 0)
    return fleet.out.map((node) => note(`Out: ${node} (${fleetReasons(fleet, node)})`, "bad-note"));
  return fleet.tells ? note(`No node is out, of ${fleet.node_count}.`, "good-note")
    : note("No node is out, but not all was measured and tells: see below.");
}

function fleetUntold(kind) {
  const groups = kind.figures.filter((one) => one.slower_group.length > 0);
  const noisy = kind.figures.filter((one) => one.too_noisy && one.slower_group.length === 0);
  return [groups.map((one) => note(`Two groups: ${one.figure} is slower on ${one.slower_group.length} of `
    + `${one.device_count}: ${one.slower_group.slice(0, 8).join(", ")}`)),
  noisy.map((one) => note(`Too noisy to tell: ${one.figure}; the slowest is ${one.slowest_node}`)),
  !kind.tells && note(`Too few to tell: among ${plural(kind.device_count, "file")} no figure that is 20% slower would `
    + "show.")];
}

// --- Machines against figures ---

function fleetCell(kind, node, figure, value) {
  const off = fleetOff(value, figure), isOf = (one) => one.file === node.file && one.figure === figure.figure
    && one.unit === figure.unit, outlier = kind.outliers.find(isOf);
  const exact = quantityText(value, figure.unit), usual = quantityText(figure.median, figure.unit);
  const text = off === null ? exact : changeText(-off);
  return h("td", { class: `number${outlier ? outlier.doubtful ? " doubtful" : " out" : ""}`,
    title: `${node.node}, ${figure.figure}: ${exact}; the median is ${usual}` },
  outlier && !outlier.doubtful ? `▲ ${text}` : text);
}

function fleetGrid(kind, out) {
  const figures = kind.figures.map((figure, i) => [figure, i])
    .filter(([, i]) => kind.nodes.some((node) => node.values[i] !== null));
  const nodes = [...kind.nodes].sort((a, b) => out.includes(b.node) - out.includes(a.node));
  const body = h("tbody", {}), told = h("span", { class: "dim", role: "status" });
  const fill = (word) => {
    const fitting = nodes.filter((node) => node.node.toLowerCase().includes(word));
    const shown = fitting.slice(0, FLEET_NODES_MOST);
    told.textContent = `shown: ${shown.length} of ${nodes.length}`;
    body.replaceChildren(...shown.map((node) => h("tr", { "data-node": node.node },
      h("th", { scope: "row" }, node.node), h("td", {}, node.fit || UNKNOWN),
      figures.map(([figure, i]) => fleetCell(kind, node, figure, node.values[i])))));
  };
  fill("");
  return [h("div", { class: "controls" },
    h("label", {}, "Filter ", h("input", { type: "search", placeholder: "node", autocomplete: "off",
      input: (event) => fill(event.target.value.trim().toLowerCase()) })), told),
  h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Nodes against figures" },
    h("table", { class: "fleet" }, h("thead", {}, h("tr", {},
      ["node", "fit"].map((name) => h("th", { scope: "col" }, name)),
      figures.map(([figure]) => h("th", { scope: "col", class: "number" }, figure.figure)))), body)),
  dim("How far each node is from the median of its kind: −5% does 5% less, or takes 5% longer. ▲: it is out.")];
}

// --- The page ---

function fleetOutliers(kind) {
  return table(kind.outliers, [{ head: "node", class: "wrap", cell: (one) => one.node },
    { head: "figure", cell: (one) => one.figure },
    { head: "value", exact: (one) => one.value, cell: (one) => quantityText(one.value, one.unit) },
    { head: "median", exact: (one) => one.median, cell: (one) => quantityText(one.median, one.unit) },
    { head: "off", exact: (one) => one.off, as: shareText },
    { head: "by its noise", exact: (one) => one.deviations, as: factorText },
    { head: "", cell: (one) => one.doubtful && "measure again" }], { label: "Figures that are slower than on the others" });
}

function fleetFigures(kind) {
  const value = (head, of) => ({ head, exact: of, cell: (one) => quantityText(of(one), one.unit) });
  return table(kind.figures, [{ head: "figure", cell: (one) => one.figure }, value("median", (one) => one.median),
    { head: "noise", exact: (one) => one.noise, as: shareText },
    { head: "shows", exact: (one) => one.smallest,
      as: (share) => (share === null ? UNKNOWN : `${Math.ceil(100 * share)}%`) },
    value("lowest", (one) => one.lowest), value("highest", (one) => one.highest),
    { head: "slowest node", class: "wrap", cell: (one) => one.slowest_node }], { label: "Figures" });
}

function fleetLists(kind, out) {
  const which = [{ head: "nodes", class: "number", cell: (one) => countText(one.nodes.length) },
    { head: "which", class: "wrap", cell: (one) => one.nodes.join(", ") }];
  const part = (title, rows, made) => rows.length > 0 && [h("h3", {}, title), made()];
  const list = (title, rows, columns) => part(title, rows, () => table(rows, columns, { label: title }));
  return [list("Not measured", kind.lacks, [{ head: "node", class: "wrap", cell: (one) => one.node },
    { head: "figure", cell: (one) => one.figure }, { head: "why", cell: (one) => one.why }]),
  part("Slower than the others", kind.outliers, () => fleetOutliers(kind)),
  list("Rows of doctor that are not ok", kind.statuses, [{ head: "row", cell: (one) => one.check },
    { head: "is", cell: (one) => one.status }, ...which]),
  list("Settings that differ", kind.settings, [{ head: "setting", cell: (one) => one.setting },
    { head: "value", class: "wrap", cell: (one) => one.value }, ...which]),
  part("Figures", kind.figures, () => fleetFigures(kind)),
  part("Nodes against figures", kind.figures, () => fleetGrid(kind, out))];
}

function showFleet(fleet, main) {
  const count = (kind) => plural(kind.node_count, "node")
    + (kind.device_count === kind.node_count ? "" : `, ${kind.device_count} GPUs`);
  main.append(...[fleetOut(fleet),
    fleet.skipped.map((one) => note(`Left out: ${one.file}: ${one.reason}.`, "bad-note")),
    fleet.kinds.map((kind) => [h("h2", { class: "wrap" }, `${count(kind)}: ${kind.name}`), fleetUntold(kind),
      fleetLists(kind, fleet.out)])].flat(Infinity).filter(Boolean));
}
