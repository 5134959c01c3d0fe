// Words and a kind that rows of tables must have: those that have them not are hidden, and so are their sections. A row
// has its text as data-text, its kind as data-kind and, if it has a section, that one's id as data-section.

function filterControls(root, label, kinds, placeholder) {
  const words = h("input", { type: "search", id: "filter", placeholder, autocomplete: "off", input: apply });
  const kind = h("select", { id: "kind", change: apply }, h("option", { value: "" }, "all"),
    kinds.map((one) => h("option", {}, one)));
  const shown = h("span", { id: "shown", class: "dim", role: "status" });
  function apply() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...root.querySelectorAll("tr[data-text]")];
    for (const row of rows) {
      row.hidden = !((kind.value === "" || row.dataset.kind === kind.value)
        && wanted.every((word) => row.dataset.text.toLowerCase().includes(word)));
      const part = row.dataset.section && document.getElementById(row.dataset.section);
      if (part) part.hidden = row.hidden;
    }
    shown.textContent = `shown: ${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  }
  setTimeout(apply); // when the rows are there
  return h("div", { class: "controls" }, h("label", {}, "Filter ", words), h("label", {}, `${label} `, kind), shown);
}
