// The knobs of the launch of a lesson's kernels, and the launch that follows: sizes of arrays and of the grid
// depend on each other. A knob is [value of the lesson, least and most of its slider, step]. `launch` gives the options
// of `kernel`.

const BLOCKS = [64, 1, 256, 1], THREADS = [256, 32, 1024, 32];

// An input and a result of so many floats, and then numbers.
function floats(read, written, ...numbers) {
  return [`f32[${read}]:small`, `f32[${written}]:zero`, ...numbers.map((number) => `i32:${number}`)].join(",");
}

function sameFloats(count, ...numbers) { return floats(count, count, ...numbers); }

// Blocks of 256 threads, a float for each.
function blocksLaunch(blocks, args) { return { grid: `${blocks}`, block: "256", args }; }

const KNOBS = {
  uncoalesced_access: { knobs: { rows: [256, 32, 512, 32], columns: [256, 32, 512, 32] },
    launch: ({ rows, columns }) => blocksLaunch(Math.ceil(rows * columns / 256),
      sameFloats(rows * columns, rows, columns)) },
  misaligned_rows: { knobs: { rows: [512, 8, 1024, 8], threads: [128, 32, 128, 32] },
    launch: ({ rows, threads }, variant) => ({ grid: `${rows}`, block: `${threads}`,
      args: sameFloats(rows * (variant === "before" ? 129 : 136)) }) },
  scalar_access: { knobs: { blocks: BLOCKS, threads: THREADS },
    launch: ({ blocks, threads }) => ({ grid: `${blocks}`, block: `${threads}`,
      args: sameFloats(4 * blocks * threads) }) },
  tensor_core_shapes: { knobs: { rows: [256, 8, 512, 8] },
    launch: ({ rows }, variant) => {
      const length = variant === "before" ? 1001 : 1008;
      return { grid: `${Math.ceil(rows / 8)}`, block: "256",
        args: `f16[${rows * length}]:small,f16[${length}]:small,f32[${rows}]:zero` };
    } },
  few_loads_in_flight: { knobs: { rows: [64, 8, 128, 8], blocks: [16, 1, 64, 1], threads: THREADS },
    launch: ({ rows, blocks, threads }) => ({ grid: `${blocks}`, block: `${threads}`,
      args: floats(4 * rows * blocks * threads, 4 * blocks * threads, rows) }) },
  no_reuse: { knobs: { size: [128, 128, 384, 128] },
    launch: ({ size }) => ({ grid: `${Math.ceil(size / 128)},${Math.ceil(size / 8)}`, block: "32,8",
      args: `f32[${size * size}]:small,${sameFloats(size * size, size)}` }) },
  register_spills: { knobs: { steps: [96, 48, 480, 48], blocks: BLOCKS, threads: [256, 32, 256, 32] },
    launch: ({ steps, blocks, threads }) => ({ grid: `${blocks}`, block: `${threads}`,
      args: sameFloats(blocks * threads, steps) }) },
  bank_conflicts: { knobs: { size: [256, 32, 512, 32] },
    launch: ({ size }) => ({ grid: `${Math.ceil(size / 32)},${Math.ceil(size / 32)}`, block: "32,32",
      args: sameFloats(size * size, size) }) },
  redundant_barriers: { knobs: { rounds: [8, 1, 64, 1], blocks: BLOCKS },
    launch: ({ rounds, blocks }) => blocksLaunch(blocks, sameFloats(blocks * 256, rounds)) },
  divergent_branches: { knobs: { blocks: [256, 2, 512, 2], threads: THREADS },
    launch: ({ blocks, threads }, variant) => ({ grid: `${variant === "before" ? blocks : Math.ceil(blocks / 2)}`,
      block: `${threads}`, args: sameFloats(blocks * threads) }) },
  serial_reduction: { knobs: { blocks: BLOCKS },
    launch: ({ blocks }) => blocksLaunch(blocks, floats(blocks * 256, blocks)) },
  contended_atomics: { knobs: { blocks: BLOCKS },
    launch: ({ blocks }) => blocksLaunch(blocks, floats(blocks * 256, 1)) },
  low_occupancy: { knobs: { blocks: [256, 1, 1024, 1] },
    launch: ({ blocks }) => ({ grid: `${blocks}`, block: "128", args: sameFloats(blocks * 128) }) },
  tail_effect: { knobs: { blocks: [1064, 8, 2112, 8] },
    launch: ({ blocks }, variant) => ({ grid: `${variant === "before" ? blocks : 4 * blocks}`, block: "256",
      args: sameFloats(4096 * blocks) }) },
};

// The kernels of kernels/strides, in the words of a lesson.
const STRIDES = {
  strided_copy: { title: "Lanes that are so many floats apart",
    cause: "a warp's request is served in sectors of 32 bytes, whose other floats nobody wants; `begin` moves the "
      + "first float into a sector",
    knobs: { stride: [2, 1, 33, 1], begin: [0, 0, 31, 1], blocks: [16, 1, 256, 1], threads: THREADS },
    launch: ({ stride, begin, blocks, threads }) => ({ grid: `${blocks}`, block: `${threads}`,
      args: sameFloats((blocks * threads - 1) * stride + begin + 1, stride, begin) }) },
  padded_tile: { title: "Rows of a tile that are so many floats apart in shared memory",
    cause: "shared memory has 32 banks of a float; lanes whose addresses differ by a multiple of 32 floats meet in "
      + "one, and the request takes a pass for each",
    knobs: { pitch: [32, 32, 64, 1], width: [32, 8, 32, 8], blocks: [4, 1, 64, 1] },
    launch: ({ pitch, width, blocks }) => ({ grid: `${blocks}`, block: `${width},${width}`, shared: 4 * pitch * width,
      args: sameFloats(blocks * width * width, pitch) }) },
};
