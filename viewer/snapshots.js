// Snapshots of PyTorch's memory: over time by line, the calls that lead to the peak, and what is reserved.

const RESERVED = [["live", "live", "end_bytes"], ["rounding", "lost to rounding", "rounding_bytes"],
  ["pieces", "free in pieces", "free_pieces_bytes"], ["whole", "in segments that hold nothing", "free_whole_bytes"]];

function showSnapshots(snapshots, main) {
  main.append(...snapshots.map((snapshot, i) => section(
    { class: "scenario snapshot", id: `m-${i + 1}`, "data-snapshot": snapshot.file, open: i === 0 },
    [h("h2", { class: "wrap" }, snapshot.file), h("span", { class: "dim title" }, "a snapshot of PyTorch's memory, "
      + `${sizeText(snapshot.bytes)}; ${plural(snapshot.devices.length, "device")} with memory`)],
    () => snapshot.devices.map((device) => deviceSection(device, snapshot)))));
}

function deviceSection(device, snapshot) {
  return h("section", { "data-device": device.device, "aria-label": `device ${device.device}` },
    snapshot.devices.length > 1 && h("h3", {}, `Device ${device.device}`),
    h("h3", {}, "Findings"), snapshotFindings(device, snapshot.is_joined),
    h("h3", {}, "Memory over time, by the line that asked for it"), memoryOverTime(device),
    device.out_of_memory.length > 0 && outOfMemory(device), device.events > 0 && atPeak(device), reserved(device));
}

function snapshotFindings(device, isJoined) {
  if (isJoined)
    return h("p", { class: "dim" }, "They stand among those of ", h("a", { href: "#t-1" }, "the trace"), ".");
  return device.findings.length === 0 ? h("p", { class: "dim" }, "None.")
    : device.findings.map((finding) => findingOf(finding, "snapshot", {}));
}

// As the picture of a trace's memory has it. Without times, events stand for them.
function drawnDevice(device) {
  const curve = device.curve, hasTimes = curve.has_times;
  return { ...device, has_times: hasTimes, until_ns: hasTimes ? 1000 * (curve.end_us - curve.start_us) : device.events,
    categories: device.sites.filter((site) => site.bytes).map((site) => ({ name: site.line, bytes: site.bytes })),
    curve: { at_ns: hasTimes ? curve.at_us.map((at) => 1000 * at) : curve.event, allocated_bytes: curve.live_bytes },
    marks: device.out_of_memory.map((one) => ({ at_ns: hasTimes ? 1000 * one.at_us : one.event,
      text: `${sizeText(one.asked_bytes)} were asked for, and the device had ${
        sizeText(one.device_free_bytes)} free` })) };
}

function exactSize(bytes) { return h("span", { "data-exact": bytes }, sizeText(bytes)); }

function memoryOverTime(device) {
  if (!device.events) return note("It has no history: call torch.cuda.memory._record_memory_history() first.");
  const chart = h("div", { class: "chart over-time" }), curve = device.curve;
  keepDrawn(chart, () => drawMemory(chart, [["snapshot", { memory: [drawnDevice(device)] }]]));
  return [chart, dim(`${countText(device.events)} events${
    curve.has_times ? ` in ${timeText(1000 * (curve.end_us - curve.start_us))}` : ""}: `,
  exactSize(device.start_bytes), " are live at the start, ", exactSize(device.peak_bytes), " at the peak, ",
  exactSize(device.end_bytes), ` at the end. Segments: ${countText(device.segments_taken)} taken from the driver, ${
    countText(device.segments_given_back)} given back.`)];
}

function outOfMemory(device) {
  const hasTimes = device.curve.has_times;
  const size = (head, member) => ({ head, class: "number", cell: (oom) => sizeText(oom[member]) });
  return [h("h3", {}, "Out of memory"), table(device.out_of_memory, [
    { head: hasTimes ? "at" : "event", class: "number",
      cell: (oom) => (hasTimes ? timeText(1000 * oom.at_us) : oom.event) },
    { head: "asked for", exact: (oom) => oom.asked_bytes, as: sizeText },
    size("the device had free", "device_free_bytes"), size("live", "live_bytes"), size("reserved", "reserved_bytes")],
  { class: "parts", label: "Out of memory", row: (oom) => ({ "data-oom": oom.event }) })];
}

function peakFigure(device) {
  const parts = device.calls.map(({ line: name, depth, start_bytes: start, bytes: size }) => ({ name, depth, start, size }));
  return flameFigure(parts, { name: "the peak", size: device.peak_bytes }, roundSize,
    "The calls that lead to what is live at the peak", "calls from the outermost down, as wide as what they hold");
}

function atPeak(device) {
  const rows = device.sites.filter((site) => site.at_peak_bytes).slice(0, ROWS_SHOWN)
    .map(({ line, at_peak_bytes: bytes, allocations }) => ({ line, name: line, bytes, count: countText(allocations) }));
  if (device.before_bytes)
    rows.unshift({ line: "", name: "from before the history", bytes: device.before_bytes, count: UNKNOWN });
  return [h("h3", {}, "Live at the peak"), device.calls.length > 0 && peakFigure(device), table(rows, [
    { head: "live", exact: (row) => row.bytes, as: sizeText },
    { head: "share", class: "number", cell: (row) => shareText(ratio(row.bytes, device.peak_bytes)) },
    { head: "allocations", class: "number", cell: (row) => row.count },
    { head: "line", class: "name", cell: (row) => row.name }],
  { class: "names", label: "Live at the peak, by line", row: (row) => ({ "data-line": row.line }) })];
}

function reserved(device) {
  const parts = RESERVED.map(([id, name, member]) => ({ id, name, bytes: device[member],
    words: sizeText(device[member]), share: ratio(device[member], device.reserved_bytes) }))
    .filter((part) => part.bytes);
  return [h("h3", {}, "Reserved at the end"),
    bar(parts, 100, `reserved at the end: ${sizeText(device.reserved_bytes)}`),
    table(parts, [{ head: "part", cell: (part) => [swatch(part.id), part.name] },
      { head: "bytes", exact: (part) => part.bytes, as: sizeText },
      { head: "share", class: "number", cell: (part) => shareText(part.share) }],
    { class: "parts", label: "Reserved at the end", row: (part) => ({ "data-part": part.id }) }),
    dim(plural(device.segments, "segment"),
      device.largest_piece_bytes > 0 && `; the largest free piece has ${sizeText(device.largest_piece_bytes)}`,
      device.pool_bytes > 0 && `; ${sizeText(device.pool_bytes)} are in pools of CUDA graphs`, ".")];
}
