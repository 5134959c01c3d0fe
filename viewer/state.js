// The state of the view, which the link's hash carries: open sections, filters, switches, ranges of pictures; never the
// data. "#t-1" leads to a section, and "#open=t-1&t-1.find=gemm" has what a reader has chosen. Fields with data-state
// are kept by that name, and one section's are apart from another's.

let view = new Map();

// Reads the hash; returns the id of the element that it leads to, "" if there is none.
function readView() {
  const hash = location.hash.slice(1), hasState = hash.includes("=");
  view = new Map(hasState ? new URLSearchParams(hash) : []);
  try { return hasState ? "" : decodeURIComponent(hash); } catch { return ""; }
}

// Choices of another document do not count.
function forgetView() {
  if (location.hash.includes("=")) history.replaceState(null, "", location.href.split("#")[0]);
}

function stateName(element, name) {
  const around = element.closest("details[id]");
  return around ? `${around.id}.${name}` : name;
}

// An empty text is not kept.
function keepState(name, text) {
  if ((view.get(name) ?? "") === text) return;
  if (text === "") view.delete(name);
  else view.set(name, text);
  history.replaceState(null, "", `#${new URLSearchParams([...view])}`);
}

function keepField(field) {
  if (!field.matches?.("[data-state]")) return;
  const isBox = field.type === "checkbox", text = isBox ? String(field.checked) : field.value;
  keepState(stateName(field, field.dataset.state), text);
}

// Gives the fields within an element what the hash has of them.
function restoreFields(root) {
  for (const field of root.querySelectorAll("[data-state]")) {
    const kept = view.get(stateName(field, field.dataset.state));
    if (kept === undefined) continue;
    if (field.type === "checkbox") field.checked = kept === "true";
    else field.value = kept;
    field.dispatchEvent(new Event(field.type === "search" ? "input" : "change", { bubbles: true }));
  }
}

// Keeps which sections are open, after one was opened or closed.
function keepOpen() {
  keepState("open", [...document.querySelectorAll("details.scenario[open]")].map((one) => one.id).join(","));
}

// Opens what was open.
function restoreOpen() {
  const open = view.get("open")?.split(",");
  for (const one of open ? document.querySelectorAll("details.scenario") : []) {
    one.open = open.includes(one.id);
    if (one.open) openSection(one);
  }
}

function listenForState() {
  document.addEventListener("input", (event) => keepField(event.target));
  document.addEventListener("change", (event) => keepField(event.target));
}
