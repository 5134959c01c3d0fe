"use strict";
// The page's behaviour: sorting and filtering, and drawing a section when it is opened.

// --- The overview ---

function sortTable(table, column, button) {
  const heading = button.closest("th"), rows = [...table.tBodies[0].rows];
  const down = heading.getAttribute("aria-sort") !== "descending" && heading.classList.contains("number")
    || heading.getAttribute("aria-sort") === "ascending";
  for (const other of table.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => row.cells[column].dataset.sort;
  rows.sort((a, b) => {
    const left = value(a), right = value(b);
    if (left === "" || right === "") return (left === "") - (right === ""); // unknown ones last
    const order = Number.isNaN(Number(left)) ? left.localeCompare(right) : Number(left) - Number(right);
    return down ? -order : order;
  });
  table.tBodies[0].append(...rows);
}

function filterTable() {
  const words = document.getElementById("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const verdict = document.getElementById("verdict").value;
  const rows = document.querySelectorAll("#scenarios tbody tr");
  let shown = 0;
  for (const row of rows) {
    const fits = (verdict === "" || row.dataset.verdict === verdict)
      && words.every((word) => row.dataset.text.toLowerCase().includes(word));
    row.hidden = !fits;
    const section = document.getElementById(`s-${row.dataset.name}`);
    if (section) section.hidden = !fits;
    shown += fits;
  }
  document.getElementById("shown").textContent = `shown: ${shown} of ${rows.length}`;
}

// --- What if ---

// Shows the set of causes that is switched off. If it was not replayed, what was switched first is taken back.
function showWhatIf(figure, switched) {
  const boxes = [...figure.querySelectorAll("input")], rows = JSON.parse(figure.dataset.rows);
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const find = () => rows.find((row) => row.causes.length === chosen().length
    && row.causes.every((cause) => chosen().includes(cause)));
  for (const box of boxes) if (!find() && box !== switched) box.checked = false;
  const row = find(), bar = figure.querySelectorAll(".bar")[1];
  bar.style.width = `${100 * row.step_ns / rows[0].step_ns}%`;
  bar.firstElementChild.style.width = `${100 * row.busy_ns / row.step_ns}%`;
  figure.querySelector(".step").textContent = row.text;
  figure.querySelector(".without").textContent = row.without;
}

// --- Sections ---

const sections = new Map(); // by element: its data, and what is drawn

function drawSnapshot(section, drawn) {
  const devices = [...section.querySelectorAll("section[data-device]")];
  drawn.flames = drawn.flames || devices.map(() => null);
  devices.forEach((one, i) => {
    const chart = one.querySelector(".over-time"), figure = one.querySelector(".flame"), device = drawn.data.devices[i];
    if (chart) drawMemory(chart, [["snapshot", { memory: [device] }]]);
    if (drawn.flames[i]) drawn.flames[i].draw();
    else if (figure) drawn.flames[i] = new Flame(figure, device);
  });
}

function drawSection(section) {
  const drawn = sections.get(section);
  if (!drawn || !section.open || section.clientWidth === 0) return;
  if (drawn.data.devices) { drawSnapshot(section, drawn); return; }
  const traces = ["before", "after", "trace"].filter((name) => drawn.data[name])
    .map((name) => [name, drawn.data[name]]);
  const figure = section.querySelector(".timeline"), memory = section.querySelector(".chart.memory");
  const distribution = section.querySelector(".chart.distribution"), steps = section.querySelector(".chart.steps");
  if (figure && !drawn.timeline)
    drawn.timeline = new Timeline(figure, traces.map(([name, trace]) => [name, trace.timeline]));
  else if (drawn.timeline) { drawn.timeline.fillLegend(); drawn.timeline.draw(); }
  if (memory) drawMemory(memory, traces);
  if (steps) drawSteps(steps, drawn.data.steps);
  if (distribution) drawDistribution(distribution, drawn.data.samples);
}

// A section that is opened before its data are there is drawn when they are.
function openSection(section) {
  if (!sections.has(section)) return;
  drawSection(section);
  section.dataset.drawn = "yes";
}

async function load(section) {
  sections.set(section, { data: await unpackJson(section.querySelector("script.data").textContent) });
  if (section.open) openSection(section);
}

function redrawAll() {
  colours.clear();
  for (const section of sections.keys()) drawSection(section);
}

// A link to a scenario opens it.
function openTarget() {
  const section = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!section || !section.matches("details.scenario")) return;
  section.open = true;
  section.scrollIntoView();
}

async function start() {
  keepDrawn(redrawAll);
  for (const table of document.querySelectorAll("table.sortable"))
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = heading.querySelector("button");
      if (button) button.addEventListener("click", () => sortTable(table, column, button));
    });
  if (document.getElementById("filter")) {
    document.getElementById("filter").addEventListener("input", filterTable);
    document.getElementById("verdict").addEventListener("change", filterTable);
  }
  for (const figure of document.querySelectorAll(".what-if"))
    figure.addEventListener("change", (event) => showWhatIf(figure, event.target));
  window.addEventListener("hashchange", openTarget);
  const all = [...document.querySelectorAll("details.scenario")];
  for (const section of all)
    section.addEventListener("toggle", () => { if (section.open) openSection(section); });
  openTarget();
  await Promise.all(all.map(load)); // all of them at once, since a page that is printed cannot wait
  document.documentElement.dataset.ready = "yes";
}

start();
