// Two of the traces that chokepoint.html has open beside each other: why a step of one takes longer than a step of the other, as
// `compare --explain` says it.

const PARTS_SHOWN = 20;

// Nothing is compared before it is asked for, since both files are read again.
function comparePart(traces) {
  const files = [...new Set(traces.map((trace) => trace.file))];
  const side = (name, chosen) => h("select", { "data-side": name },
    files.map((file, i) => h("option", { selected: i === chosen }, file)));
  const base = side("base", 0), other = side("new", 1), said = h("div", { role: "status" }), shown = h("div", {});
  const compare = async () => {
    shown.replaceChildren();
    said.replaceChildren("Comparing");
    button.disabled = true;
    try {
      const changes = await (await openedDesk()).compare(base.value, other.value);
      shown.replaceChildren(...changes.flatMap((change) => changeOf(change)));
      said.replaceChildren();
    } catch (error) {
      said.replaceChildren(note(error.message, "bad-note"));
    } finally { button.disabled = false; }
  };
  const button = h("button", { type: "button", "data-compare": true, click: compare }, "Compare");
  return files.length < 2 ? [] : [h("section", { "aria-labelledby": "compare-title" },
    h("h2", { id: "compare-title" }, "Why a step takes longer"),
    h("div", { class: "controls" }, h("label", {}, "In ", other), h("label", {}, "than in ", base), button), said, shown)];
}

function changedTime(ns) { return `${ns < 0 ? "−" : "+"}${timeText(Math.abs(ns))}`; }

function relativeChange([base, now]) {
  if (base === 0 || now === 0) return base === now ? UNKNOWN : base === 0 ? "new" : "gone";
  return changeText(now / base - 1);
}

function changedPart({ kind, name }) { return ["idle", "host"].includes(kind) ? `${kind}: ${name}` : name; }

function changeOf(change) {
  const [base, now] = change.step_ns;
  const named = (words, ids) => ids.length > 0
    && h("p", {}, `Findings that are ${words}: `, ids.map((id, i) => [i > 0 && ", ", h("code", {}, id)]));
  return [h("p", {}, h("strong", {}, `A ${change.per} takes ${timeText(now)}, and took ${timeText(base)}: ${
    changedTime(change.change_ns)}, ${relativeChange(change.step_ns)}.`)),
  h("p", {}, change.because ? `Why: ${change.because}.` : change.differs ? "No part stands out from the noise of steps."
    : "The step did not change enough for a cause to be named."),
  change.doubts && note(change.doubts), changedParts(change.parts), named("new", change.findings_new),
  named("gone", change.findings_gone), change.differences.length > 0 && table(change.differences, [
    { head: "what differs", cell: (row) => row.name },
    { head: "in the earlier", class: "wrap", cell: (row) => row.base ?? UNKNOWN },
    { head: "in the later", class: "wrap", cell: (row) => row.new ?? UNKNOWN }], { label: "What differs" })]
    .flat(Infinity).filter(Boolean);
}

// They sum to the step.
function changedParts(parts) {
  const time = (head, side) => ({ head, exact: ({ ns }) => ns[side], as: timeText });
  return longTable(parts.filter((part, i) => part.stands_out || i < PARTS_SHOWN), parts, [
    time("took", 0), time("takes", 1),
    { head: "change", class: "number", cell: ({ change_ns: ns, stands_out: isBold }) =>
      h(isBold ? "strong" : "span", {}, changedTime(ns)) },
    { head: "relative", class: "number", cell: ({ ns }) => relativeChange(ns) },
    { head: "95% interval", class: "number", cell: ({ interval_ns: [low, high] }) =>
      (isKnown(low) ? `${changedTime(low)} to ${changedTime(high)}` : UNKNOWN) },
    { head: "part", class: "name", cell: changedPart }],
  { class: "names", name: "changed", text: changedPart, label: "Parts of a step, which sum to it" });
}
