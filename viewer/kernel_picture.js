// A picture of one request of each access of a kernel, and the lines of its source beside their counts, from the JSON
// of `chokepoint kernel`. scripts/common/kernel_picture.py says the same for plots.

const LANES = 32, SECTOR = 32, BANKS = 32, WORD = 4;
const CELL = 8, LANES_LEFT = 46, BAR_WIDE = 64; // of a picture, in its own pixels
const SECTORS_DRAWN = 32, HEATS = 5;

// Three digits: "0.5", "31.8", "2048".
function figureText(value) {
  const decimals = value > 0 ? Math.max(0, 2 - Math.floor(Math.log10(value))) : 0;
  return String(Number(fixedText(value, decimals)));
}

// --- Pictures of one request ---

// Rows of sectors, or of banks of shared memory, by number: the lanes that touch one, and the bytes, or words, that
// they want.
function rowsOfSample(sample) {
  const isShared = sample.space === "shared", rows = new Map();
  if (isShared) for (let bank = 0; bank < BANKS; bank++) rows.set(bank, { lanes: new Set(), wanted: new Set() });
  const touch = (row, lane, what) => {
    if (!rows.has(row)) rows.set(row, { lanes: new Set(), wanted: new Set() });
    rows.get(row).lanes.add(lane);
    rows.get(row).wanted.add(what);
  };
  Array.from({ length: LANES }, (_, lane) => lane).filter((lane) => sample.mask >>> lane & 1).forEach((lane, i) => {
    if (i >= sample.offsets.length) return;
    for (let byte = sample.offsets[i]; byte < sample.offsets[i] + sample.bytes; byte++)
      if (isShared) touch(Math.floor(byte / WORD) & BANKS - 1, lane, Math.floor(byte / WORD));
      else touch(Math.floor(byte / SECTOR), lane, byte);
  });
  return [...rows].sort(([a], [b]) => a - b);
}

// Lanes from left to right; sectors or banks from top to bottom, with how full, or how busy, each is.
function pictureOf(sample) {
  const isShared = sample.space === "shared", all = rowsOfSample(sample);
  const rows = isShared ? all : all.slice(0, SECTORS_DRAWN);
  const most = isShared ? Math.max(1, ...rows.map(([, row]) => row.wanted.size)) : SECTOR;
  const wide = CELL * LANES, right = LANES_LEFT + wide + 6, height = 18 + CELL * rows.length;
  const rectangle = (x, y, width, kind) => h("svg:rect", { x, y, width, height: CELL - 1, class: kind });
  const written = (x, y, text, kind) => h("svg:text", { x, y, class: kind }, text);
  return h("svg:svg", { viewBox: `0 0 ${right + BAR_WIDE + 4} ${height}`, role: "img",
    "aria-label": `${sample.instruction}: ${rows.length} ${isShared ? "banks" : "sectors"}` },
  written(LANES_LEFT, 10, "lane 0"), written(LANES_LEFT + wide, 10, "31", "end"),
  written(right, 10, isShared ? "words" : "of 32 B"),
  rows.map(([number, { lanes, wanted }], i) => {
    const y = 14 + CELL * i, isWaste = isShared && wanted.size > 1;
    return [i % 4 === 0 && written(LANES_LEFT - 4, y + 8, isShared ? number : SECTOR * number, "end"),
      rectangle(LANES_LEFT, y, wide, "empty"),
      [...lanes].map((lane) => rectangle(LANES_LEFT + CELL * lane, y, CELL - 1, "lane")),
      rectangle(right, y, BAR_WIDE, isShared ? "empty" : "waste"),
      wanted.size > 0 && rectangle(right, y, (BAR_WIDE * wanted.size / most).toFixed(1), isWaste ? "waste" : "used")];
  }));
}

// The accesses that waste most, and the others of their kind; one per line and access.
function samplesToShow(found, most) {
  const seen = new Set(), waste = (one) => (one.touched_mean - one.wanted_mean) * one.requests;
  return [...found.samples].sort((a, b) => waste(b) - waste(a)).filter((one) => {
    const key = JSON.stringify([one.line, one.access, one.space, one.argument]);
    return one.offsets.length > 0 && !seen.has(key) && seen.add(key);
  }).slice(0, most);
}

function captionOf(sample) {
  const isShared = sample.space === "shared", unit = isShared ? "pass" : "sector", { touched } = sample;
  const wanted = rowsOfSample(sample).reduce((sum, [, row]) => sum + row.wanted.size, 0);
  const place = isShared ? "shared memory" : sample.argument ? `argument ${sample.argument}` : "a variable";
  return [`Line ${sample.line}: ${sample.access} of ${place}, ${sample.bytes} bytes a lane: `,
    `${touched} ${touched === 1 ? unit : isShared ? "passes" : "sectors"} where ${sample.wanted} would do`,
    isShared ? "" : `; ${SECTOR * touched} bytes moved, ${wanted} wanted`,
    `. On average ${figureText(sample.touched_mean)} in ${sample.requests} requests. `,
    h("code", {}, sample.instruction)];
}

// --- The source beside its counts ---

// One of five: none, some, ... of what is wasted.
function heatOf(share) { return Math.min(HEATS - 1, Math.trunc(HEATS * Math.max(0, share))); }

// The sums over all accesses of a line to a space: touched, wanted, requests.
function accessesOf(row, space) {
  const all = row.accesses.filter((one) => one.name.startsWith(space));
  return ["touched", "wanted", "requests"].map((member) => all.reduce((sum, one) => sum + one[member], 0));
}

function accessCell(row, space) {
  const [touched, wanted, requests] = accessesOf(row, space);
  return requests ? { text: `${figureText(touched / requests)} / ${figureText(wanted / requests)}`,
    heat: heatOf(1 - (ratio(wanted, touched) ?? 0)) } : { text: "", heat: 0 };
}

function lineView(number, text, row, most) {
  if (!row) return { number, text };
  const lanes = ratio(row.lanes, row.instructions) ?? 0, local = accessesOf(row, "local")[2];
  return { number, text, row, share: ratio(row.instructions, most),
    lanes: { text: figureText(lanes), heat: heatOf(1 - lanes / LANES) },
    sectors: accessCell(row, "global"), passes: accessCell(row, "shared"),
    local: { text: local ? figureText(local) : "", heat: local ? HEATS - 1 : 0 } };
}

// The lines around those that ran; without a source those that ran.
function linesOf(found) {
  const file = (found.source || "").split("/").pop();
  const rows = new Map(found.lines.filter((row) => !file || row.file === file).map((row) => [row.line, row]));
  const most = Math.max(1, ...[...rows.values()].map((row) => row.instructions));
  if (!found.code?.length) return found.lines.map((row) => lineView(row.line, row.file, row, most));
  return found.code.map((text, i) => lineView(found.code_first + i, text, rows.get(found.code_first + i), most));
}
