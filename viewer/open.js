// chokepoint.html before and beside a document: files are dropped anywhere or chosen, the desk judges them in its worker, and
// show() draws what it says. Nothing goes over a network: the page's policy forbids it.

const tracesDesk = new Desk();
let opened = null; // {files, names}, of what tracesDesk has

const CRASH_BYTES = 1 << 16;

// --- Files ---

// Files of a folder that was dropped, with their paths in it.
async function filesOf(entry, path = "") {
  if (entry.isFile)
    return [{ name: path + entry.name, file: await new Promise((resolve, reject) => entry.file(resolve, reject)) }];
  const reader = entry.createReader(), found = [];
  for (let some = [null]; some.length > 0;) {
    some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    for (const one of some) found.push(...await filesOf(one, `${path}${entry.name}/`));
  }
  return found;
}

// {files: [{name, file}], names: of files and folders}
async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) return chosenFiles(transfer.files);
  const files = (await Promise.all(entries.map((entry) => filesOf(entry)))).flat();
  return { files, names: entries.map((entry) => entry.name) };
}

// Files that were chosen, or those of a folder that was, with their paths in it.
function chosenFiles(list) {
  const files = [...list].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
  return { files, names: [...new Set(files.map(({ name }) => name.split("/")[0]))] };
}

// --- Opening ---

function progressText({ file, bytes, of }) { return `Reading ${file}: ${shareText(bytes / of)}`; }

// A result with the traces of its run, whose places beside it are those that `run` gave them: {files, names}; null: there is
// no result. A folder has them there; traces that were chosen with a result are put there.
function withResult({ files, names }) {
  if (files.some(({ name }) => name.endsWith("/result.json")))
    return { files, names: names.filter((name) => files.some((one) => one.name === `${name}/result.json`)) };
  if (!names.includes("result.json")) return null;
  return { files: files.map(({ name, file }) => ({ name: name === "result.json" ? name : `traces/${name}`, file })),
    names: ["result.json"] };
}

// The document of what was opened.
async function openDocument(what) {
  const result = withResult(what), about = what.names.join(", ");
  if (result?.names.length === 1) {
    await tracesDesk.request("mount", result.files);
    return tracesDesk.answer("web_desk_report", result.names[0]);
  }
  const { count, troubles } = await tracesDesk.open(what.files, what.names);
  if (count === 0) return { command: "diagnose", about, troubles };
  return { command: "diagnose", about, troubles, diagnosis: parseDocument(await tracesDesk.diagnosis()) };
}

// After a crash the worker is a new one, and has nothing open.
async function openedDesk() {
  if (!tracesDesk.worker) await tracesDesk.open(opened.files, opened.names);
  return tracesDesk;
}

async function deskWhatIf(causes, which = 0) {
  return (await openedDesk()).answer("web_desk_what_if", which, causes.join(","));
}

// The timeline of so many steps of trace number `which`.
async function deskTimeline(which, steps) {
  return (await (await openedDesk()).answer("web_desk_timeline", which, steps)).timeline;
}

// A crash is a defect of chokepoint. Whoever reports it may send the beginning of the file along; the page sends nothing.
function crashNote(error, files) {
  const links = files.map(({ name, file }) => h("a", { download: `${name}.first-bytes`,
    href: URL.createObjectURL(file.slice(0, CRASH_BYTES)) }, name));
  return h("div", { class: "note bad-note", role: "alert", "data-crash": true },
    h("p", {}, `The desk has stopped while it read this, which is a defect of chokepoint: ${error.message}`),
    h("p", {}, `A report of it needs the beginning of the file. It was sent nowhere; you may save its first ${
      sizeText(CRASH_BYTES)} and look at them: `, links.map((link, i) => [i > 0 && ", ", link])));
}

class Opening {
  constructor(root) {
    this.root = root;
    this.status = h("p", { class: "dim", role: "status", "aria-live": "polite" });
    this.cancel = h("button", { type: "button", hidden: true, click: () => tracesDesk.cancel() }, "Cancel");
    const choose = (event) => { this.open(chosenFiles(event.target.files)); };
    this.quiz = h("div", { class: "controls" });
    this.bar = h("section", { class: "drop", "aria-label": "Files" },
      h("p", {}, h("label", {}, "Drop files anywhere on this page, or choose them: ",
        h("input", { type: "file", multiple: true, id: "files", class: "files", change: choose })), " ",
      h("label", {}, "or a folder: ",
        h("input", { type: "file", webkitdirectory: true, id: "folder", class: "files", change: choose })), this.cancel),
      h("p", { class: "dim small" }, "Traces of PyTorch’s profiler, of Nsight Systems (nsys export --type=sqlite) or of ",
        "chokepoint, plain or gzip, as many as are of one run; snapshots of PyTorch’s memory; digests; a result.json of run ",
        "or try, with its traces. ",
        "They are read by this page alone, on this computer: its policy forbids it every network."),
      this.status);
    root.before(this.bar, lessonButtons(root), this.quiz);
  }

  listen() {
    const target = document.documentElement;
    target.addEventListener("dragover", (event) => { event.preventDefault(); });
    target.addEventListener("drop", async (event) => {
      event.preventDefault();
      this.open(await droppedFiles(event.dataTransfer));
    });
  }

  say(text) { this.status.textContent = text; }

  async open(what) {
    if (what.files.length === 0) return;
    tracesDesk.cancel(); // of two drops the last one counts
    opened = what;
    const about = what.names.join(", ");
    delete document.documentElement.dataset.ready;
    this.cancel.hidden = false;
    tracesDesk.progress = (progress) => this.say(progressText(progress));
    this.say(`Reading ${about}`);
    try {
      const shown = await openDocument(what);
      this.say("");
      this.quiz.replaceChildren(...quizButtons(tracesDesk, this.root, what.files));
      await show(shown, this.root);
    } catch (error) {
      if (opened === what) this.failed(error, what, about);
    }
    if (opened === what) this.cancel.hidden = true;
  }

  async failed(error, { files }, about) {
    this.say(error.stopped ? `${about} was not read: you cancelled it.` : "");
    if (error.stopped) return;
    await show({ command: "diagnose", about, troubles: error.crashed ? [] : [error.message],
      notes: error.crashed ? ["the desk has stopped"] : [] }, this.root);
    if (error.crashed) this.root.prepend(crashNote(error, files));
  }
}

// Called by main.js, which has no document.
function startDesk(root) {
  const opening = new Opening(root);
  opening.listen();
  root.replaceChildren();
  tracesDesk.start();
  document.documentElement.dataset.ready = "yes";
}
