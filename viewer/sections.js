// Sections that open and close, and pictures in them: a section is made when it is opened, and a picture is drawn
// when it is seen, and again when colours or sizes change. Paper has no sections to open, and is light.

const unmade = new WeakMap(); // by section: what makes its content
let pictures = []; // [element, draw]

// A section that is made when it is first opened. `attributes.open`: it is open from the start.
function section(attributes, summary, make) {
  const element = h("details", { toggle: () => { if (element.open) openSection(element); }, ...attributes },
    h("summary", { click: () => setTimeout(keepOpen) }, summary));
  unmade.set(element, make);
  if (element.open) makeSection(element);
  return element;
}

function makeSection(element) {
  const make = unmade.get(element);
  unmade.delete(element);
  if (!make) return;
  element.append(...[make()].flat(Infinity).filter(Boolean));
  restoreFields(element);
}

function openSection(element) {
  makeSection(element);
  drawWithin(element);
  element.dataset.drawn = "yes";
}

// `draw` is called whenever the element can be seen and its picture may be old.
function keepDrawn(element, draw) {
  pictures.push([element, draw]);
  return element;
}

function drawWithin(root) {
  for (const [element, draw] of pictures.filter(([one]) => root.contains(one) && one.clientWidth > 0))
    try {
      draw();
    } catch (error) { // the others are drawn
      console.error(error);
      element.replaceChildren(note(`Could not be drawn: ${error.message}`, "bad-note"));
    }
}

function redrawAll() {
  colours.clear();
  pictures = pictures.filter(([element]) => element.isConnected);
  drawWithin(document);
}

// Opens what the link's hash has: what was open, or the section around what it leads to.
function openTarget() {
  const id = readView(), target = id && document.getElementById(id);
  restoreOpen();
  const element = target && target.closest("details.scenario");
  if (!element) return;
  element.open = true;
  openSection(element);
  target.scrollIntoView();
}

function listenForSections() {
  let closed = [];
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  window.addEventListener("resize", redrawAll);
  window.addEventListener("hashchange", openTarget);
  window.addEventListener("beforeprint", () => {
    closed = [];
    for (let more; (more = [...document.querySelectorAll("details:not([open])")]).length > 0; closed.push(...more))
      for (const one of more) { one.open = true; openSection(one); }
    document.documentElement.dataset.theme = "light";
    redrawAll();
  });
  window.addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
    setTheme(theme);
  });
}
