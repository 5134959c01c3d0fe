// Starts the page: shows its document. The parts are drawn by the functions of the other files, by what the document
// has.

const ENVIRONMENT = ["date", "host_name", "cpu_model", "num_cpus", "cores_allowed", "memory_bytes", "kernel",
  "library_version", "commit", "device_name", "device_isa", "device_memory_bytes", "gemm_library", "cuda_driver",
  "cuda_runtime", "load_avg"];

function environment(context) {
  const facts = ENVIRONMENT.filter((name) => ![undefined, null, "", "unknown"].includes(context[name]));
  return facts.length > 0 && h("details", { class: "environment" }, h("summary", {}, "Environment"),
    h("dl", { class: "facts" }, facts.map((name) => h("div", {}, h("dt", {}, name.replaceAll("_", " ")),
      h("dd", {}, [context[name]].flat().join(", "))))));
}

function pageHeader(shown) {
  const context = Object(shown.result?.context);
  const facts = [shown.about, context.date && `measured ${context.date}`, context.device_name, context.library_version];
  return h("header", {},
    h("div", { class: "top" }, h("h1", {}, `chokepoint ${shown.command}`), themeButton()),
    h("p", { class: "dim wrap" }, shown.of_site && [h("a", { href: "index.html" }, "All pages"), " · "],
      facts.filter(Boolean).join(" · ")),
    (shown.troubles || []).map((sentence) => note(`Could not be read: ${sentence}`, "bad-note")),
    (shown.notes || []).map((sentence) => note(sentence)),
    environment(context));
}

function pageFooter() {
  return h("footer", { class: "dim" }, h("p", {}, "All figures are those of result.json and of ",
    h("code", {}, "chokepoint"), "’s --format=json. Colours: Okabe and Ito, “Color Universal Design” (2008), made to ",
    "be told apart by people who are colour-blind."));
}

// The parts of a document, and the functions that draw them into an element.
function partsOf(shown) {
  const chokepoint = Object(shown.result?.chokepoint), parts = [];
  if (Array.isArray(chokepoint.trial?.arms)) parts.push((main) => showTrial(shown, main));
  else if (shown.result) parts.push((main) => showResult(shown, main));
  if (shown.kernels) parts.push((main) => showKernels(shown, main));
  if (shown.job) parts.push((main) => showJob(shown.job, main));
  if (shown.diagnosis) parts.push((main) => showDiagnosis(shown.diagnosis, main));
  if (shown.history) parts.push((main) => showHistory(shown.history, main));
  if (shown.fleet) parts.push((main) => showFleet(shown.fleet, main));
  if (shown.benchmarks) parts.push((main) => showBenchmarks(shown.benchmarks, main));
  if (shown.site) parts.push((main) => showSite(shown.site, main));
  return parts;
}

// Replaces what `root` has by the page of this document.
async function show(shown, root) {
  const main = h("main", { id: "main" });
  if (root.querySelector("main")) forgetView();
  delete document.documentElement.dataset.ready;
  document.title = `chokepoint ${shown.command}: ${shown.about || ""}`;
  root.replaceChildren(pageHeader(shown), main, pageFooter());
  readView();
  for (const draw of partsOf(shown))
    try {
      await draw(main);
    } catch (error) { // a foreign file, --beside=FILE say
      console.error(error);
      main.append(note(`Could not be shown: a part is not as this version of chokepoint writes it: ${
        error.message}`, "bad-note"));
    }
  if (main.childElementCount === 0)
    main.append(note(`There is nothing to show: ${[...(shown.troubles || []), ...(shown.notes || [])].join("; ")
      || "no result and no trace was read"}`, "bad-note"));
  drawWithin(document);
  openTarget();
  restoreFields(root);
  for (const one of root.querySelectorAll("details[open]")) one.dataset.drawn = "yes";
  document.documentElement.dataset.ready = "yes";
}

async function start() {
  listenForSections();
  listenForState();
  const shown = await readDocument();
  if (shown) await show(shown, document.getElementById("root"));
  else if (typeof startDesk === "function") startDesk(document.getElementById("root")); // chokepoint.html
}

start();
