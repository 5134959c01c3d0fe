// The index of a site: a row per page, and what has none. And the page of files of benchmarks.

const SITE_TONES = { bad: "▲", doubtful: "…", plain: "", good: "✓" }; // those that matter most come first

function showSite(site, main) {
  const order = Object.keys(SITE_TONES), text = (name) => ({ head: name, sort: (page) => page[name] });
  const pages = [...site.pages].sort((a, b) => order.indexOf(a.tone) - order.indexOf(b.tone)
    || b.date.localeCompare(a.date));
  const columns = [
    { head: "page", class: "wrap", sort: (page) => page.name,
      cell: (page) => (page.page ? h("a", { href: page.page }, page.name) : page.name) },
    { ...text("kind"), cell: (page) => page.kind },
    { ...text("verdict"), class: "twice", sort: (page) => order.indexOf(page.tone),
      cell: (page) => h("span", { class: `verdict ${page.tone}` }, `${SITE_TONES[page.tone]} ${page.verdict}`) },
    { ...text("sentence"), head: "in a sentence", class: "whole wrap", cell: (page) => page.sentence || UNKNOWN },
    { ...text("date"), class: "day", cell: (page) => page.date.slice(0, 16).replace("T", " ") || UNKNOWN },
    { ...text("commit"), cell: (page) => h("code", {}, page.commit.slice(0, 12) || UNKNOWN) },
    { ...text("machine"), class: "whole wrap", cell: (page) => page.machine || UNKNOWN }];
  main.append(h("h2", {}, "Pages"),
    filterControls(main, "Kind", [...new Set(pages.map((page) => page.kind))].sort(), "name, commit, machine"),
    table(pages, columns, { label: "Pages", class: "cards pages", empty: "There is none.",
      row: (page) => ({ "data-kind": page.kind, "data-text": Object.values(page).join(" ") }) }));
  if (site.left_out.length > 0)
    main.append(section({ id: "left-out" }, `Without a page: ${plural(site.left_out.length, "file")}`, () =>
      h("ul", {}, site.left_out.map((one) => h("li", { class: "wrap" }, `${one.name}: ${one.reason}`)))));
}

// Medians of each file's rows, as `compare` reads them.
function showBenchmarks(files, main) {
  for (const file of files)
    main.append(h("h2", { class: "wrap" }, file.file), h("p", { class: "dim wrap" },
      [file.date, file.commit, file.machine].filter(Boolean).join(" · ")),
    table(file.rows, [{ head: "row", class: "wrap", sort: (row) => row.name, cell: (row) => row.name },
      { head: "median", class: "number", sort: (row) => row.median_us,
        cell: (row) => quantityText(row.median_us, "us") },
      { head: "deviation", class: "number", sort: (row) => row.deviation, cell: (row) => shareText(row.deviation) },
      { head: "repetitions", class: "number", sort: (row) => row.repetitions,
        cell: (row) => countText(row.repetitions) },
      { head: "", class: "wrap", cell: (row) => row.reason }], { label: `Rows of ${file.file}` }));
}
