"use strict";
// Reads zlib's format (RFC 1950 and 1951), which is what the page's data is packed in. Browsers have a reader too, but
// only one that answers later.

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
  163, 195, 227, 258];
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049,
  3073, 4097, 6145, 8193, 12289, 16385, 24577];
const DISTANCE_EXTRA = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const LENGTHS_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

// The symbols in the order of their codes, and how many codes each length has.
function codeOf(lengths) {
  const counts = new Uint16Array(16), offsets = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  for (let i = 1; i < 16; i++) offsets[i] = offsets[i - 1] + counts[i - 1];
  lengths.forEach((length, symbol) => { if (length > 0) symbols[offsets[length]++] = symbol; });
  return { counts, symbols };
}

class Bits {
  constructor(bytes) { this.bytes = bytes; this.at = 2; this.bit = 0; } // behind zlib's header

  read(count) {
    let value = 0;
    for (let i = 0; i < count; i++) {
      value |= (this.bytes[this.at] >> this.bit & 1) << i;
      this.bit = (this.bit + 1) % 8;
      if (this.bit === 0) this.at++;
    }
    return value;
  }

  symbol({ counts, symbols }) {
    let code = 0, first = 0, index = 0;
    for (let length = 1; length < 16; length++) {
      code |= this.read(1);
      if (code - first < counts[length]) return symbols[index + code - first];
      index += counts[length];
      first = (first + counts[length]) << 1;
      code <<= 1;
    }
    throw new Error("the data of the page are damaged");
  }
}

// The two codes of a block of kind 2.
function statedCodes(bits) {
  const literals = bits.read(5) + 257, distances = bits.read(5) + 1, count = bits.read(4) + 4;
  const own = new Array(19).fill(0), lengths = [];
  for (let i = 0; i < count; i++) own[LENGTHS_ORDER[i]] = bits.read(3);
  const code = codeOf(own);
  while (lengths.length < literals + distances) {
    const symbol = bits.symbol(code);
    if (symbol < 16) { lengths.push(symbol); continue; }
    const value = symbol === 16 ? lengths.at(-1) : 0;
    const times = symbol === 16 ? 3 + bits.read(2) : symbol === 17 ? 3 + bits.read(3) : 11 + bits.read(7);
    for (let i = 0; i < times; i++) lengths.push(value);
  }
  return [codeOf(lengths.slice(0, literals)), codeOf(lengths.slice(literals))];
}

const FIXED = [codeOf([...new Array(144).fill(8), ...new Array(112).fill(9), ...new Array(24).fill(7),
  ...new Array(8).fill(8)]), codeOf(new Array(30).fill(5))];

class Output {
  constructor() { this.bytes = new Uint8Array(1 << 16); this.count = 0; }

  push(byte) {
    if (this.count === this.bytes.length) {
      const more = new Uint8Array(2 * this.count);
      more.set(this.bytes);
      this.bytes = more;
    }
    this.bytes[this.count++] = byte;
  }
}

function inflateBlock(bits, output, [literals, distances]) {
  for (;;) {
    const symbol = bits.symbol(literals);
    if (symbol === 256) return;
    if (symbol < 256) { output.push(symbol); continue; }
    const length = LENGTH_BASE[symbol - 257] + bits.read(LENGTH_EXTRA[symbol - 257]);
    const which = bits.symbol(distances), back = DISTANCE_BASE[which] + bits.read(DISTANCE_EXTRA[which]);
    for (let i = 0; i < length; i++) output.push(output.bytes[output.count - back]);
  }
}

function inflateStored(bits, output) {
  if (bits.bit > 0) { bits.bit = 0; bits.at++; }
  const length = bits.bytes[bits.at] | bits.bytes[bits.at + 1] << 8;
  for (let i = 0; i < length; i++) output.push(bits.bytes[bits.at + 4 + i]);
  bits.at += 4 + length;
}

function inflate(bytes) {
  const bits = new Bits(bytes), output = new Output();
  for (let last = 0; last === 0;) {
    last = bits.read(1);
    const kind = bits.read(2);
    if (kind === 0) inflateStored(bits, output);
    else inflateBlock(bits, output, kind === 1 ? FIXED : statedCodes(bits));
  }
  return output.bytes.subarray(0, output.count);
}
