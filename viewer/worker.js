// Runs in a worker, after the script that emscripten wrote: answers one request after the other, so that the page itself
// answers clicks meanwhile. A file is read from the browser piece by piece, as the desk asks for it.

let module = null; // emscripten's, once it is there
let asked = Promise.resolve();

// --- Files ---

const PIECE = 1 << 20, PIECES_KEPT = 16, reader = new FileReaderSync();
const FILE_MOST = 2 ** 31; // emscripten's places in a file have 31 bits

// Its memory is given back at once, not when the browser next collects garbage: it is sent where nobody listens.
const { port1: nowhere, port2: closed } = new MessageChannel();
closed.close();

function dropFirst(kept) {
  const [number, piece] = kept.entries().next().value;
  kept.delete(number);
  nowhere.postMessage(null, [piece.buffer]);
}

// A piece of a file of the browser's, which is read when it is first asked for. Once the desk has gone back in a file, as SQLite
// does, some are kept.
function pieceOf(node, number) {
  const kept = node.pieces || (node.pieces = new Map());
  let piece = kept.get(number);
  if (!piece) {
    node.goesBack ||= number < node.last;
    node.last = number;
    if (kept.size === (node.goesBack ? PIECES_KEPT : 1)) dropFirst(kept);
    const part = node.contents.slice(number * PIECE, (number + 1) * PIECE);
    piece = new Uint8Array(reader.readAsArrayBuffer(part));
    kept.set(number, piece);
    postMessage({ progress: { file: node.name, bytes: number * PIECE + piece.length, of: node.size } });
  }
  return piece;
}

// In the place of emscripten's, which asks the browser at each call.
function readPieces({ node }, buffer, offset, length, position) {
  const most = Math.min(length, Math.max(node.size - position, 0));
  for (let done = 0; done < most;) {
    const at = position + done, piece = pieceOf(node, Math.floor(at / PIECE));
    const some = piece.subarray(at % PIECE, Math.min(at % PIECE + most - done, piece.length));
    if (some.length === 0) return done;
    buffer.set(some, offset + done);
    done += some.length;
  }
  return most;
}

// Makes these the files that the desk sees, [{name, file}], in place of the ones before. Returns those that are left
// out, [{name, why}].
function mount(files) {
  const { FS, WORKERFS } = module, fit = files.filter(({ file }) => file.size < FILE_MOST);
  if (!FS.analyzePath("/files").exists) FS.mkdir("/files");
  else {
    FS.chdir("/");
    FS.unmount("/files");
  }
  WORKERFS.stream_ops.read = readPieces;
  FS.mount(WORKERFS, { blobs: fit.map(({ name, file }) => ({ name, data: file })) }, "/files");
  FS.chdir("/files");
  return files.filter((one) => !fit.includes(one)).map(({ name }) => ({ name,
    why: `${name} has 2 GB or more, which a page cannot read: compress it, or give it to the program` }));
}

// --- Requests ---

const PRINTED_MOST = 1000;
let printed = 0; // lines, by this request

// Only kernels print.
function passPrinted(line) { if (printed++ < PRINTED_MOST) postMessage({ printed: line }); }

// The text that a function of the program returns, of texts and numbers.
function call(name, values) {
  const given = values.map((value) => (typeof value === "number" ? value : module.allocateUTF8(value)));
  printed = 0;
  const at = module[`_${name}`](...given);
  values.forEach((value, i) => { if (typeof value !== "number") module._free(given[i]); });
  if (at === 0) throw new Error("there is no memory left");
  const text = module.UTF8ToString(at);
  module._free(at);
  return text;
}

const requests = {
  // `program`: the bytes of the program as gzip; null: it lies beside this script
  async start(program) {
    const options = { thisProgram: "chokepoint", print: passPrinted, printErr() {} };
    if (program) {
      const stream = new Blob([program]).stream().pipeThrough(new DecompressionStream("gzip"));
      options.wasmBinary = new Uint8Array(await new Response(stream).arrayBuffer());
    }
    module = await chokepointModule(options);
  },
  mount,
  call(name, ...values) { return call(name, values); },
  memory() { return module.HEAPU8.length; },
};

async function answer({ id, name, values }) {
  try {
    postMessage({ id, value: await requests[name](...values) });
  } catch (error) {
    // A program that has stopped midway cannot go on: the page starts another worker.
    postMessage({ id, crash: String(error.message || error) });
  }
}

onmessage = ({ data }) => { asked = asked.then(() => answer(data)); };
