// The kernel lessons of chokepoint.html, and PTX of one's own: a launch is changed by sliders, and the counts are those
// that the machine of harness/simt gives for it. A desk (desk.js) asks the functions of web_kernel.h in its worker.

// The last request wins: while one runs, those that come are left out but for the newest.
class Runner {
  constructor(desk, status) { Object.assign(this, { desk, status, running: false, next: null }); }

  async run(job) {
    this.next = job;
    if (this.running) return;
    this.running = true;
    while (this.next) {
      const now = this.next;
      this.next = null;
      await this.runOne(now);
    }
    this.running = false;
  }

  async runOne(job) {
    const cancel = h("button", { type: "button", click: () => { this.next = null; this.desk.cancel(); } }, "Cancel");
    const timer = setTimeout(() => this.status.replaceChildren("Runs ... ", cancel), 300);
    this.status.setAttribute("aria-busy", "true");
    try {
      await job();
      if (!this.next) this.status.replaceChildren();
    } catch (error) {
      this.status.replaceChildren(note(error.stopped ? "Cancelled." : error.message, "bad-note"));
    }
    clearTimeout(timer);
    this.status.removeAttribute("aria-busy");
  }
}

// --- Counts ---

// [name, value] of what a launch counted; zeros are left out where no variant has more.
function countsOf(kernel) {
  const { counts, residency } = kernel, rows = [["instructions of warps", counts.instructions],
    ["lanes per instruction", counts.instructions > 0 ? counts.lanes / counts.instructions : null],
    ["branches that part lanes", counts.diverged], ["instructions of one lane", counts.alone],
    ["barriers that blocks pass", counts.passed], ["barriers that order nothing", counts.passed - counts.needed],
    ["waits for loads", counts.waits]];
  for (const access of counts.accesses) {
    rows.push([`${access.name}: requests`, access.requests], [`${access.name}: ${access.unit}`, access.touched],
      [`${access.name}: ${access.unit} per request`, access.touched / access.requests]);
    if (access.wanted < access.touched) rows.push([`${access.name}: ${access.unit} that would do`, access.wanted]);
    if (access.conflicts > 0) rows.push([`${access.name}: lanes that meet`, access.conflicts]);
  }
  rows.push(["warps that fit on a multiprocessor", residency.warps], ["waves of blocks", residency.waves]);
  return new Map(rows);
}

function countsTable(kernels) {
  const columns = kernels.map(({ kernel }) => countsOf(kernel));
  const names = new Set(columns.flatMap((map) => [...map.keys()]));
  const rows = [...names].filter((name) => columns.some((map) => map.get(name) > 0));
  return table(rows, [{ head: "count", cell: (name) => name },
    ...kernels.map((one, i) => ({ head: one.name || "value", exact: (name) => columns[i].get(name),
      as: (value) => countedText(value) }))], { label: "counts", class: "counts parts" });
}

// Draws kernels into `root`: counts first, then what the page of `kernel` shows.
function drawKernels(kernels, root) {
  const whole = h("div", {});
  root.replaceChildren(countsTable(kernels), whole);
  showKernels({ command: "kernel", kernels }, whole);
  drawWithin(root);
}

// --- Knobs ---

// A slider and a field for each knob, which show the same; the values; and whether they are those of the lesson.
function knobControls(knobs, changed) {
  const values = Object.fromEntries(Object.entries(knobs).map(([name, [value]]) => [name, value])), fields = [];
  for (const [name, [value, least, most, step]] of Object.entries(knobs)) {
    const slider = h("input", { type: "range", min: least, max: most, step, value, "aria-label": name,
      "data-knob": name });
    const field = h("input", { type: "number", min: 0, step: 1, value, "aria-label": `${name}, a number` });
    const set = (other, from) => {
      if (!(from.value >= 0) || from.value === "") return;
      values[name] = Number(from.value);
      other.value = from.value;
      changed();
    };
    slider.addEventListener("input", () => set(field, slider));
    field.addEventListener("input", () => set(slider, field));
    fields.push(h("label", { class: "knob-field" }, name, slider, field));
  }
  const isOwn = () => Object.entries(knobs).every(([name, [value]]) => values[name] === value);
  return { fields, values, isOwn };
}

function architectureField(changed) {
  return h("select", { "aria-label": "architecture", "data-knob": "arch", change: changed },
    [["80", "A100"], ["90", "H100"], ["100", "B200"]].map(([number, gpu]) =>
      h("option", { value: number, selected: number === "90" }, `sm_${number} (${gpu})`)));
}

// --- One lesson ---

function lessonWords(lesson) {
  const ncu = lesson.section && `section ${lesson.section}${lesson.rule ? `, rule ${lesson.rule}` : ""}`;
  const rows = [["Also called", lesson.also], ["Symptom", lesson.symptom], ["Cause", lesson.cause], ["Fix", lesson.fix],
    ["Look for", lesson.look], ["Cost", lesson.cost], ["In Nsight Compute", ncu]];
  return h("div", { class: "lesson" }, h("dl", {}, rows.filter(([, text]) => text).map(([name, text]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, text)))));
}

function foretoldTable(lesson, arch, variants) {
  return table(lesson.foretold.filter((row) => row.arch === arch), [{ head: "predicted", cell: (row) => row.count },
    ...variants.map((variant) => ({ head: variant, class: "number",
      cell: (row) => countedText(row[variant], row.unit) })),
    { head: "meaning", class: "cause", cell: (row) => row.meaning }], { label: "predicted counts", class: "foretold" });
}

// A lesson of web_lessons(), or, if it has none of that name, a kernel of kernels/strides.
class LessonView {
  constructor(desk, name, lessons, openPtx) {
    const lesson = lessons.kernels.find((one) => one.name === name), own = lesson ? KNOBS[name] : STRIDES[name];
    Object.assign(this, { desk, name, lesson, own, strides: lessons.strides });
    this.variants = lesson ? ["before", "between", "after"].filter((variant) => lesson.launches[variant]) : [""];
    this.status = h("div", { role: "status" });
    this.shown = h("div", { class: "kernels-shown" });
    this.runner = new Runner(desk, this.status);
    const changed = () => this.run();
    this.knobs = knobControls(own.knobs, changed);
    this.arch = architectureField(changed);
    this.foretold = h("div", {});
    this.element = h("article", { "data-lesson": name },
      h("h2", {}, `${name}: ${(lesson || own).title}`), lessonWords(lesson || own), this.foretold,
      this.codeOf(), h("h3", {}, "Change the launch"),
      h("div", { class: "controls knobs" }, this.knobs.fields, h("label", {}, "counted for ", this.arch),
        this.variants.map((variant) => h("button", { type: "button", "data-ptx": variant,
          click: () => openPtx({ ...this.ptxOf(variant), ...this.launchOf(variant) }) },
        `Edit the PTX${variant && ` of ${variant}`}`))),
      this.status, this.shown);
  }

  codeOf() {
    const { cuda } = this.lesson || {};
    return cuda?.before && h("div", { class: "pair" }, ["before", "after"].map((variant) =>
      h("figure", {}, h("figcaption", {}, `${variant}: ${this.lesson[variant]}`), h("pre", {}, cuda[variant]))));
  }

  launchOf(variant) { return this.own.launch(this.knobs.values, variant); }

  ptxOf(variant) {
    if (!this.lesson) return { ...this.strides, source_path: "strides.cu", kernel: this.name };
    const { ptx, source } = this.lesson;
    return { ptx, source, source_path: `${this.name}.cu`, kernel: `${this.name}_${variant}` };
  }

  // A lesson that nobody changed has its own launch, which may be another for each architecture.
  requestOf(variant) {
    const arch = Number(this.arch.value);
    if (!this.lesson) return { file: "strides.ptx", arch, ...this.ptxOf(variant), ...this.launchOf(variant) };
    return { file: `${this.name}_${variant}`, arch, ...(this.knobs.isOwn() ? {} : this.launchOf(variant)) };
  }

  async run() {
    if (this.lesson)
      this.foretold.replaceChildren(foretoldTable(this.lesson, Number(this.arch.value), this.variants));
    const requests = this.variants.map((variant) => this.requestOf(variant));
    await this.runner.run(async () => {
      const kernels = [];
      for (const [i, request] of requests.entries())
        kernels.push({ name: this.variants[i], kernel: await this.desk.answer("web_kernel", request) });
      drawKernels(kernels, this.shown);
    });
  }
}

// --- PTX of one's own ---

// "FILE.ptx:12: unknown instruction x": the line, or null.
function lineOfError(message) {
  const found = /^[^:\s]+\.ptx:(\d+): /.exec(message);
  return found && Number(found[1]);
}

function selectLine(area, line) {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + lines[line - 1].length);
  area.scrollTop = area.scrollHeight * (line - 1) / lines.length - area.clientHeight / 2;
}

class PtxView {
  constructor(desk) {
    this.desk = desk;
    this.status = h("div", { role: "status" });
    this.shown = h("div", { class: "kernels-shown" });
    this.runner = new Runner(desk, this.status);
    this.area = h("textarea", { rows: 16, spellcheck: "false", "aria-label": "PTX", class: "ptx" });
    this.file = h("input", { type: "file", accept: ".ptx", "aria-label": "a file of PTX",
      change: () => this.readFile() });
    this.arch = architectureField(null);
    const field = (name, value, size) => {
      this[name] = h("input", { type: "text", name, value, size });
      return h("label", {}, `${name} `, this[name]);
    };
    this.element = h("article", { "data-lesson": "ptx" }, h("h2", {}, "PTX of your own"),
      dim("nvcc -ptx -lineinfo -arch=compute_80 FILE.cu writes PTX. It is executed here, in your browser; nothing ",
        "leaves it. Arguments are as those of kernel --args: f32[1024]:random,f32[1024],i32:1024. Registers are those ",
        "that the PTX has in use, since ptxas is not here."),
      h("div", { class: "controls" }, this.file), this.area,
      h("div", { class: "controls" }, field("kernel", "", 24), field("grid", "1", 8), field("block", "32", 8),
        field("shared", "0", 6)),
      h("div", { class: "controls" }, field("args", "", 60), h("label", {}, "counted for ", this.arch),
        h("button", { type: "button", "data-run": "ptx", click: () => this.run() }, "Run")),
      this.status, this.shown);
  }

  async readFile() { if (this.file.files[0]) this.open({ ptx: await this.file.files[0].text() }); }

  // The text shows the kernel, if the request names one.
  open(request) {
    Object.assign(this, { source: request.source, path: request.source_path });
    this.area.value = request.ptx;
    for (const name of ["kernel", "grid", "block", "args"]) this[name].value = request[name] ?? this[name].value;
    this.shared.value = request.shared ?? 0;
    this.status.replaceChildren();
    this.shown.replaceChildren();
    const line = request.ptx.split("\n").findIndex((text) => text.includes(`.entry ${request.kernel}(`)) + 1;
    if (line > 0) setTimeout(() => selectLine(this.area, line));
  }

  request() {
    const text = (name) => this[name].value.replaceAll(/\s/g, "");
    return { file: "pasted.ptx", ptx: this.area.value, kernel: text("kernel") || null, grid: text("grid"),
      block: text("block"), args: text("args"), shared: Number(text("shared")), arch: Number(this.arch.value),
      source: this.source, source_path: this.path };
  }

  async run() {
    await this.runner.run(async () => {
      const printed = h("pre", { class: "printed", hidden: true });
      this.desk.printed = (line) => { printed.append(`${line}\n`); printed.hidden = false; };
      this.shown.replaceChildren();
      try {
        drawKernels([{ name: "", kernel: await this.desk.answer("web_kernel", this.request()) }], this.shown);
        this.shown.prepend(printed);
      } catch (error) {
        const line = lineOfError(error.message);
        if (line) selectLine(this.area, line);
        throw error;
      }
    });
  }
}

// --- All of them ---

// Draws the list of lessons into `root`, and beside it the one of that name, or the first one.
async function showLessons(desk, root, first) {
  const lessons = await desk.answer("web_lessons", {});
  const shown = h("div", { class: "lesson-shown" }), ptx = new PtxView(desk);
  const openPtx = (request) => { ptx.open(request); open("ptx"); };
  const open = async (name) => {
    for (const button of list.querySelectorAll("button"))
      button.setAttribute("aria-current", button.dataset.open === name);
    const view = name === "ptx" ? ptx : new LessonView(desk, name, lessons, openPtx);
    shown.replaceChildren(view.element);
    if (view !== ptx) await view.run();
  };
  const item = (name, title, words = name.replaceAll("_", " ")) => h("li", {},
    h("button", { type: "button", "data-open": name, title, click: () => open(name) }, words));
  const list = h("nav", { class: "lesson-list", "aria-label": "lessons" }, h("ul", {},
    lessons.kernels.map((lesson) => item(lesson.name, lesson.title)),
    Object.entries(STRIDES).map(([name, { title }]) => item(name, title)), item("ptx", null, "PTX of your own")));
  root.replaceChildren(h("div", { class: "lessons" }, list, shown));
  await open(first || lessons.kernels[0].name);
}

// Buttons that show lessons or the quiz about kernels in `root`, in place of what it has. They have a desk of their
// own, so that what is open in another one stays there.
function lessonButtons(root) {
  const desk = new Desk();
  const lessons = (name) => showInstead(root, "kernel lessons", (main) => showLessons(desk, main, name));
  const quiz = () => showInstead(root, "quiz", (main) => showQuiz(desk, main, null, lessons));
  return h("nav", { class: "controls", "aria-label": "lessons and quiz" },
    h("button", { type: "button", "data-show": "lessons", click: () => lessons() }, "Kernel lessons"),
    h("button", { type: "button", "data-show": "quiz", click: quiz }, "Quiz about kernels"));
}

// Shows what `draw` appends to a main element, in place of what the page shows.
async function showInstead(root, title, draw) {
  const main = h("main", { id: "main" });
  delete document.documentElement.dataset.ready;
  root.replaceChildren(h("header", { class: "top" }, h("h1", {}, `chokepoint: ${title}`), themeButton()), main);
  await draw(main).catch((error) => main.append(note(error.message, "bad-note")));
  document.documentElement.dataset.ready = "yes";
}
