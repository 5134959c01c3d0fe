"use strict";
// The page's data, which page.py packs in zlib's format and writes as base64. The browser inflates them by itself, but only
// answers later: whoever needs them has to wait.

function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}

async function unpackBytes(text) { return new Uint8Array(await unpacked(text).arrayBuffer()); }

function unpackJson(text) { return unpacked(text).json(); }
