// Makes elements. All text becomes text nodes: no name of a trace can become markup.

const SVG = "http://www.w3.org/2000/svg";

// `attributes`: those that are null, undefined or false are left out, true is an empty value, and a function listens
// to the event of its name ("click"). `children`: elements, text, numbers and arrays of them; null and false are left
// out. A name that begins with "svg:" is an element of SVG.
function h(name, attributes, ...children) {
  const element = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

function note(text, kind = "") { return h("p", { class: `note ${kind}`.trim() }, text); }
function dim(...children) { return h("p", { class: "dim small" }, ...children); }
function swatch(name) { return h("i", { class: `swatch c-${name}` }); }

// --- Tables ---

// A table in a region of its own, which scrolls where it has no room.
// `columns` (null and false are left out), each:
//   head      the words of its heading
//   cell      (row) => text, element or array; or `exact`: (row) => a number, and `as`: how it is written
//   class     of its cells and its heading; a column with `exact` is "number"
//   sort      (row) => what it is sorted by, null if that is unknown: the heading becomes a button
//   data      (row) => more attributes of a cell
// `options`: label (of the region), class, id, row: (row) => attributes of its tr, top: a heading over all columns,
// empty: what stands for no rows. The cells of a table of class "cards" have their headings as labels, except the
// first.
function table(rows, columns, options) {
  columns = columns.filter(Boolean);
  const isCards = (options.class || "").split(" ").includes("cards");
  const head = h("tr", {}, columns.map((column, i) => headingOf(column, i)));
  const top = options.top
    && h("tr", {}, h("th", { scope: "colgroup", colspan: columns.length }, h("h4", {}, options.top)));
  const body = rows.map((row) => h("tr", options.row && options.row(row),
    columns.map((column, i) => cellOf(row, column, isCards && i > 0))));
  if (rows.length === 0 && options.empty)
    body.push(h("tr", {}, h("td", { colspan: columns.length }, options.empty)));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": options.label },
    h("table", { class: options.class, id: options.id }, h("thead", {}, top, head), h("tbody", {}, body)));
}

// A table of the rows that are `shown` at first, above it a field that finds others among `rows`, and a button for all.
// `options` as above, and: name (of the field's state), text: (row) => what is searched.
function longTable(shown, rows, columns, options) {
  const region = table(shown, columns, options);
  if (rows.length <= shown.length) return region;
  let isWhole = false;
  const fill = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = rows.filter((row) => words.every((word) => options.text(row).toLowerCase().includes(word)));
    const next = words.length > 0 || isWhole ? fits : shown;
    region.querySelector("tbody").replaceWith(table(next, columns, { ...options, empty: "No row has this." })
      .querySelector("tbody"));
    said.textContent = words.length > 0 ? `${fits.length} of ${rows.length}` : "";
  };
  const field = h("input", { type: "search", autocomplete: "off", placeholder: "filter", "data-state": options.name,
    "aria-label": `Filter: ${options.label}`, input: fill });
  const said = h("span", { class: "dim small", role: "status" });
  const button = h("button", { type: "button", "aria-pressed": "false", click: () => {
    isWhole = !isWhole;
    button.setAttribute("aria-pressed", isWhole);
    fill();
  } }, `All ${rows.length}`);
  return [h("div", { class: "controls" }, field, button, said), region];
}

function classOf(column) { return column.class || (column.exact ? "number" : null); }

function headingOf(column, i) {
  // Where there is no room, a name has a line of its own.
  const name = (classOf(column) || "").replace(/\bname( second)?\b/, "line") || null;
  if (!column.sort) return h("th", { scope: "col", class: name }, column.head);
  const sort = () => sortTable(button.closest("table"), i, button);
  const button = h("button", { type: "button", click: sort }, column.head);
  return h("th", { scope: "col", class: name, "aria-sort": "none" }, button);
}

function cellOf(row, column, isLabelled) {
  const exact = column.exact && column.exact(row), sort = column.sort && (column.sort(row) ?? "");
  const content = column.cell ? column.cell(row) : column.as(exact);
  return h("td", { class: classOf(column), "data-label": isLabelled ? column.head : null, "data-sort": sort,
    "data-exact": exact, title: classOf(column)?.startsWith("name") ? content : null,
    ...(column.data && column.data(row)) }, content);
}

function sortTable(whole, column, button) {
  const heading = button.closest("th"), rows = [...whole.tBodies[0].rows];
  const down = heading.getAttribute("aria-sort") !== "descending" && heading.classList.contains("number")
    || heading.getAttribute("aria-sort") === "ascending";
  for (const other of whole.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => row.cells[column].dataset.sort;
  rows.sort((a, b) => {
    const left = value(a), right = value(b);
    if (left === "" || right === "") return (left === "") - (right === ""); // unknown ones last
    const order = Number.isNaN(Number(left)) ? left.localeCompare(right) : Number(left) - Number(right);
    return down ? -order : order;
  });
  whole.tBodies[0].append(...rows);
}
