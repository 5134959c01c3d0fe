"use strict";
// The page of a job: unpacks the values, and connects the heat map with the rank that is chosen.

async function unpackJob() {
  const text = (id) => document.getElementById(id).textContent;
  const data = await unpackJson(text("numbers")), bytes = await unpackBytes(text("values"));
  const levels = new Int8Array(bytes.buffer), rows = data.ranks.length;
  let at = 0;
  data.layers = data.layers.map((about) => {
    const first = at;
    at += rows * about.columns;
    return new Layer(about, levels.subarray(first, at), rows);
  });
  data.timeline.levels = levels.subarray(at);
  data.timeline.first = new Uint32Array(rows + 1);
  for (let row = 0, i = 0; row < rows; row++) {
    data.timeline.first[row + 1] = data.timeline.first[row];
    for (let step = 0; step < data.timeline.steps; step++) data.timeline.first[row + 1] += 3 * data.timeline.counts[i++];
  }
  return data;
}

// A number is a rank, and other text the beginning of a node's name, or a part of it.
function findRow(data, text) {
  if (/^\d+$/.test(text)) return data.ranks.indexOf(Number(text));
  const begins = data.names.findIndex((name) => name.startsWith(text));
  const node = begins >= 0 ? begins : data.names.findIndex((name) => name.includes(text));
  return node < 0 ? -1 : data.nodes.indexOf(node);
}

function fillScale(figure, map) {
  const scale = isDark() ? DARK : LIGHT;
  figure.querySelector(".scale i").style.background =
    `linear-gradient(to right, ${[...scale.below].reverse().join(", ")}, ${scale.above.slice(1).join(", ")})`;
  figure.querySelector(".least").textContent = roughTime(-map.layer.most);
  figure.querySelector(".most").textContent = `+${roughTime(map.layer.most)}`;
}

async function startJob() {
  const figure = document.querySelector(".heat-map"), data = await unpackJob(), steps = new RankSteps(document.querySelector(".rank"), data);
  const map = new HeatMap(figure, data, (row) => steps.show(row)), find = figure.querySelector(".find");
  const redraw = () => { colours.clear(); fillScale(figure, map); map.draw(); steps.redraw(); };
  const show = (text) => {
    const row = text === "" ? -1 : findRow(data, text);
    figure.querySelector(".found").textContent = text === "" || row >= 0 ? "" : "not there";
    if (row >= 0) map.select(row, true);
  };
  find.addEventListener("change", () => show(find.value.trim()));
  figure.querySelector(".layer").addEventListener("change", (event) => { map.showLayer(event.target.value); fillScale(figure, map); });
  for (const button of document.querySelectorAll("button[data-show]"))
    button.addEventListener("click", () => { show(button.dataset.show); figure.scrollIntoView(); });
  keepDrawn(redraw);
  fillScale(figure, map);
  const named = data.marks.flatMap((mark) => rowsOf(data, mark));
  if (named.length > 0) map.select(named[0][0]);
  document.documentElement.dataset.ready = "yes";
}

startJob();
