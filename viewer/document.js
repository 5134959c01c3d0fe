// The document that the page shows: JSON in zlib's format, as base64, in which no markup can hide.

async function readDocument() {
  const text = document.getElementById("document").textContent.trim();
  if (text === "") return null;
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return parseDocument(await new Response(stream).text());
}

// Moments of a file may have more digits than a number holds, so they stay text. Within a string a quote has a
// backslash before it, so the pattern fits members only.
function parseDocument(text) {
  return JSON.parse(text.replace(/"(start_ns|end_ns)"(\s*:\s*)(-?\d{16,})(?=\s*[,}])/g, '"$1"$2"$3"'));
}

// From one moment to another, in ns.
function nsBetween(start, end) { return Number(BigInt(end) - BigInt(start)); }
