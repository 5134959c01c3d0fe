/* Each class of instruction against values worked out by hand from "Parallel Thread Execution ISA",
 * "Instruction Set". An instruction reads the three operands in registers of its width, and writes
 * register 0. */
#include "tests/simt/ptx_machine.h"

struct instruction_case {
    const char *text; /* with $d, $a, $b and $c, whose registers `form` chooses */
    const char *form; /* of $d, $a, $b, $c: p, h, w, d */
    uint64_t a, b, c, expected;
};

#define F(x) 0x##x##u

static const struct instruction_case integers[] = {
    { "add.s32 $d, $a, $b", "www", 0x7fffffff, 1, 0, 0x80000000 },
    { "add.u16 $d, $a, $b", "hhh", 0xffff, 2, 0, 1 },
    { "add.s64 $d, $a, $b", "ddd", UINT64_MAX, 2, 0, 1 },
    { "sub.s32 $d, $a, $b", "www", 3, 5, 0, 0xfffffffe },
    { "mul.lo.s32 $d, $a, $b", "www", 0x10001, 0x10001, 0, 0x00020001 },
    { "mul.lo.s16 $d, $a, $b", "hhh", 300, 300, 0, 90000 & 0xffff },
    { "mul.hi.u32 $d, $a, $b", "www", 0xffffffff, 0xffffffff, 0, 0xfffffffe },
    { "mul.hi.s32 $d, $a, $b", "www", 0xffffffff, 2, 0, 0xffffffff },
    { "mul.hi.u64 $d, $a, $b", "ddd", UINT64_MAX, 2, 0, 1 },
    { "mul.hi.s64 $d, $a, $b", "ddd", UINT64_MAX, 2, 0, UINT64_MAX },
    { "mul.wide.u32 $d, $a, $b", "dww", 0xffffffff, 2, 0, 0x1fffffffe },
    { "mul.wide.s32 $d, $a, $b", "dww", 0xffffffff, 2, 0, (uint64_t)-2 },
    { "mul.wide.u16 $d, $a, $b", "whh", 0xffff, 2, 0, 0x1fffe },
    { "mul.wide.s16 $d, $a, $b", "whh", 0xffff, 2, 0, 0xfffffffe },
    { "mad.lo.s32 $d, $a, $b, $c", "wwww", 7, 6, 0xffffffff, 41 },
    { "mad.lo.s64 $d, $a, $b, $c", "dddd", 1000000, 1000000, 1, 1000000000001 },
    { "mad.wide.s32 $d, $a, $b, $c", "dwwd", 0xffffffff, 3, 10, 7 },
    { "div.s32 $d, $a, $b", "www", (uint32_t)-7, 2, 0, (uint32_t)-3 },
    { "div.u32 $d, $a, $b", "www", 0xfffffff9, 2, 0, 0x7ffffffc },
    { "div.s64 $d, $a, $b", "ddd", (uint64_t)-7, 2, 0, (uint64_t)-3 },
    { "div.s16 $d, $a, $b", "hhh", 0xfff9, 2, 0, 0xfffd },
    { "div.u32 $d, $a, $b", "www", 5, 0, 0, 0xffffffff },
    { "rem.s32 $d, $a, $b", "www", (uint32_t)-7, 2, 0, (uint32_t)-1 },
    { "rem.u32 $d, $a, $b", "www", 7, 4, 0, 3 },
    { "min.s32 $d, $a, $b", "www", (uint32_t)-1, 1, 0, (uint32_t)-1 },
    { "min.u32 $d, $a, $b", "www", 0xffffffff, 1, 0, 1 },
    { "max.s64 $d, $a, $b", "ddd", (uint64_t)-1, 1, 0, 1 },
    { "neg.s32 $d, $a", "ww", 5, 0, 0, 0xfffffffb },
    { "abs.s32 $d, $a", "ww", 0xfffffffb, 0, 0, 5 },
    { "and.b32 $d, $a, $b", "www", 0xff00ff, 0x0ff0f0, 0, 0x0f00f0 },
    { "or.b64 $d, $a, $b", "ddd", UINT64_C(1) << 40, 1, 0, (UINT64_C(1) << 40) | 1 },
    { "xor.b32 $d, $a, $b", "www", 0xff, 0x0f, 0, 0xf0 },
    { "not.b32 $d, $a", "ww", 0xff, 0, 0, 0xffffff00 },
    { "not.b16 $d, $a", "hh", 0xff, 0, 0, 0xff00 },
    { "shl.b32 $d, $a, $b", "www", 3, 31, 0, 0x80000000 },
    { "shl.b32 $d, $a, $b", "www", 3, 32, 0, 0 },
    { "shl.b64 $d, $a, $b", "ddw", 1, 40, 0, UINT64_C(1) << 40 },
    { "shr.s32 $d, $a, $b", "www", 0x80000000, 40, 0, 0xffffffff },
    { "shr.u32 $d, $a, $b", "www", 0x80000000, 31, 0, 1 },
    { "shr.u64 $d, $a, $b", "ddw", UINT64_C(1) << 63, 62, 0, 2 },
    { "shr.s16 $d, $a, $b", "hhw", 0x8000, 3, 0, 0xf000 },
    { "shr.u16 $d, $a, $b", "hhw", 0x8000, 3, 0, 0x1000 },
    { "popc.b32 $d, $a", "ww", 0xf0f0, 0, 0, 8 },
    { "clz.b32 $d, $a", "ww", 1, 0, 0, 31 },
    { "clz.b64 $d, $a", "wd", 0, 0, 0, 64 },
    { "brev.b32 $d, $a", "ww", 0x12345678, 0, 0, 0x1e6a2c48 },
    { "bfe.u32 $d, $a, $b, $c", "wwww", 0xabcd1234, 8, 12, 0xd12 },
    { "bfe.s32 $d, $a, $b, $c", "wwww", 0x00000f00, 8, 4, 0xffffffff },
    { "bfe.s32 $d, $a, $b, $c", "wwww", 0x80000000, 28, 8, 0xfffffff8 },
    { "prmt.b32 $d, $a, $b, $c", "wwww", 0x33221100, 0x77665544, 0x7610, 0x77661100 },
    { "prmt.b32 $d, $a, $b, $c", "wwww", 0x33221180, 0x77665544, 0x8888, 0xffffffff },
    { "lop3.b32 $d, $a, $b, $c, 0x96", "wwww", 0xf0, 0xcc, 0xaa, 0xf0 ^ 0xcc ^ 0xaa },
    { "shf.l.wrap.b32 $d, $a, $b, $c", "wwww", 0x80000000, 1, 1, 3 },
    { "shf.r.wrap.b32 $d, $a, $b, $c", "wwww", 0, 1, 1, 0x80000000 },
    { "shf.r.clamp.b32 $d, $a, $b, $c", "wwww", 7, 9, 40, 9 },
    { "bfi.b32 $d, $a, $b, 8, 4", "www", 0xfff5, 0xffffffff, 0, 0xfffff5ff },
    { "bfi.b32 $d, $a, $b, 28, 8", "www", 0x12, 0, 0, 0x20000000 },
    { "bfi.b32 $d, $a, $b, 0, 32", "www", 0x12345678, 5, 0, 0x12345678 },
    { "bfi.b32 $d, $a, $b, 40, 4", "www", 1, 7, 0, 7 },
    { "bfi.b32 $d, $a, $b, 3, 0", "www", 0xff, 7, 0, 7 },
    { "bfi.b64 $d, $a, $b, 32, 32", "ddd", 0x9abcdef0, 0x1234, 0, 0x9abcdef000001234 },
    { "bfi.b64 $d, $a, $b, 60, 64", "ddd", 0x17, 1, 0, 0x7000000000000001 },
    { "bfind.u32 $d, $a", "ww", 0x00010000, 0, 0, 16 },
    { "bfind.u32 $d, $a", "ww", 0, 0, 0, 0xffffffff },
    { "bfind.s32 $d, $a", "ww", 0xfffffff0, 0, 0, 3 },
    { "bfind.s32 $d, $a", "ww", 0xffffffff, 0, 0, 0xffffffff },
    { "bfind.u64 $d, $a", "wd", UINT64_C(1) << 40, 0, 0, 40 },
    { "bfind.s64 $d, $a", "wd", UINT64_MAX << 9, 0, 0, 8 },
    { "bfind.shiftamt.u32 $d, $a", "ww", 1, 0, 0, 31 },
    { "bfind.shiftamt.u32 $d, $a", "ww", 0, 0, 0, 0xffffffff },
    { "bfind.shiftamt.u64 $d, $a", "wd", 4, 0, 0, 61 },
    { "bmsk.clamp.b32 $d, $a, $b", "www", 4, 8, 0, 0xff0 },
    { "bmsk.clamp.b32 $d, $a, $b", "www", 28, 8, 0, 0xf0000000 },
    { "bmsk.clamp.b32 $d, $a, $b", "www", 32, 1, 0, 0 },
    { "bmsk.clamp.b32 $d, $a, $b", "www", 0, 0, 0, 0 },
    { "bmsk.clamp.b32 $d, $a, $b", "www", 1, 0xffffffff, 0, 0xfffffffe },
    { "bmsk.wrap.b32 $d, $a, $b", "www", 36, 33, 0, 0x10 },
    { "sad.u32 $d, $a, $b, $c", "wwww", 1, 0xffffffff, 3, 1 },
    { "sad.s32 $d, $a, $b, $c", "wwww", (uint32_t)-3, 4, 10, 17 },
    { "sad.s32 $d, $a, $b, $c", "wwww", 0x7fffffff, 0x80000000, 0, 0xffffffff },
    { "dp4a.u32.u32 $d, $a, $b, $c", "wwww", 0x010203ff, 0x040302ff, 5, 4 + 6 + 6 + 65025 + 5 },
    { "dp4a.s32.s32 $d, $a, $b, $c", "wwww", 0x800000ff, 0x02000003, 0, (uint32_t)(-256 - 3) },
    { "dp4a.s32.u32 $d, $a, $b, $c", "wwww", 0x000000ff, 0x000000ff, 0, (uint32_t)-255 },
    { "dp4a.u32.s32 $d, $a, $b, $c", "wwww", 0x0000ff00, 0x0000fe00, 1, (uint32_t)-509 },
    { "mov.u32 $d, WARP_SZ", "w", 0, 0, 0, 32 },
    { "add.sat.s32 $d, $a, $b", "www", 0x7fffffff, 1, 0, 0x7fffffff },
    { "sub.sat.s32 $d, $a, $b", "www", 0x80000000, 1, 0, 0x80000000 },
    { "mul.hi.s16 $d, $a, $b", "hhh", 0x8000, 4, 0, 0xfffe },
    { "mul24.lo.s32 $d, $a, $b", "www", 0x00ffffff, 3, 0, 0xfffffffd },
    { "mad.hi.u32 $d, $a, $b, $c", "wwww", 0xffffffff, 0xffffffff, 3, 1 },
    { "mad.wide.s16 $d, $a, $b, $c", "whhw", 0xffff, 3, 5, 2 },
    { "brev.b64 $d, $a", "dd", 1, 0, 0, UINT64_C(1) << 63 },
    { "cnot.b32 $d, $a", "ww", 0, 0, 0, 1 },
    { "vabsdiff4.u32.u32.u32.add $d, $a, $b, $c", "wwww", 0x01ff0305, 0x05000300, 10,
      4 + 255 + 5 + 10 },
    { "add.cc.u32 %r9, $a, $b; addc.u32 $d, $a, $b", "www", 0xffffffff, 1, 0, 1 },
    { "sub.cc.u32 %r9, $a, $b; subc.cc.u32 %r9, 0, 0; subc.u32 $d, 5, 0", "www", 1, 2, 0, 4 },
    { "mad.lo.cc.u32 %r9, $a, $a, $b; madc.hi.u32 $d, $a, $a, 0", "www", 0xffffffff, 0xffffffff, 0,
      0xffffffff },
    { "add.cc.u64 %rd9, $a, $b; addc.u64 $d, 7, 0", "ddd", UINT64_MAX, 2, 0, 8 },
    { "match.any.sync.b32 $d, $a, -1", "ww", 3, 0, 0, 0xffffffff },
    { "match.all.sync.b64 $d, $a, -1", "wd", 3, 0, 0, 0xffffffff },
    { "match.all.sync.b32 $d|%p2, %laneid, -1", "w", 3, 0, 0, 0 },
    { "redux.sync.add.s32 $d, $a, -1", "ww", 3, 0, 0, 96 },
    { "redux.sync.xor.b32 $d, $a, -1", "ww", 3, 0, 0, 0 },
    { "redux.sync.or.b32 $d, $a, -1", "ww", 0x30, 0, 0, 0x30 },
};

static const struct instruction_case comparisons[] = {
    { "setp.lt.s32 $d, $a, $b", "pww", 0xffffffff, 0, 0, 1 },
    { "setp.lt.u32 $d, $a, $b", "pww", 0xffffffff, 0, 0, 0 },
    { "setp.ge.s64 $d, $a, $b", "pdd", 5, 5, 0, 1 },
    { "setp.gt.s64 $d, $a, $b", "pdd", 1, (uint64_t)-1, 0, 1 },
    { "setp.hi.u32 $d, $a, $b", "pww", 2, 1, 0, 1 },
    { "setp.eq.b16 $d, $a, $b", "phh", 0x10007, 7, 0, 1 },
    { "setp.ne.s16 $d, $a, $b", "phh", 7, 8, 0, 1 },
    { "setp.lt.f32 $d, $a, $b", "pww", F(3f800000), F(40000000), 0, 1 },
    { "setp.lt.f32 $d, $a, $b", "pww", F(7fc00000), F(40000000), 0, 0 },
    { "setp.ne.f32 $d, $a, $b", "pww", F(7fc00000), F(40000000), 0, 0 },
    { "setp.neu.f32 $d, $a, $b", "pww", F(7fc00000), F(40000000), 0, 1 },
    { "setp.equ.f32 $d, $a, $b", "pww", F(7fc00000), F(40000000), 0, 1 },
    { "setp.eq.f32 $d, $a, $b", "pww", F(00000000), F(80000000), 0, 1 },
    { "setp.geu.f32 $d, $a, $b", "pww", F(3f800000), F(40000000), 0, 0 },
    { "setp.nan.f32 $d, $a, $b", "pww", F(7fc00000), F(40000000), 0, 1 },
    { "setp.num.f32 $d, $a, $b", "pww", F(7fc00000), F(40000000), 0, 0 },
    { "setp.lt.and.s32 $d, $a, $b, !%p1", "pww", 1, 2, 0, 1 },
    { "setp.lt.or.s32 $d, $a, $b, %p1", "pww", 3, 2, 0, 0 },
    { "selp.b32 $d, $a, $b, %p1", "www", 1, 2, 0, 2 },
    { "selp.b64 $d, $a, $b, !%p1", "ddd", 1, 2, 0, 1 },
    { "and.pred $d, !%p1, !%p1", "p", 0, 0, 0, 1 },
    { "not.pred $d, %p1", "p", 0, 0, 0, 1 },
};

/* 1 is 3f800000, 3 is 40400000; 2^-126 is 00800000. */
static const struct instruction_case reals[] = {
    { "add.f32 $d, $a, $b", "www", F(3f800000), F(33800000), 0,
      F(3f800000) }, /* a tie goes to even */
    { "add.f32 $d, $a, $b", "www", F(3f800001), F(33800000), 0, F(3f800002) },
    { "sub.f32 $d, $a, $b", "www", F(40400000), F(3f800000), 0, F(40000000) },
    { "mul.f32 $d, $a, $b", "www", F(00800000), F(3f000000), 0, F(00400000) }, /* subnormal */
    { "mul.ftz.f32 $d, $a, $b", "www", F(00800000), F(bf000000), 0, F(80000000) },
    { "add.ftz.f32 $d, $a, $b", "www", F(00400000), F(00400000), 0, 0 },
    { "fma.rn.f32 $d, $a, $b, $c", "wwww", F(3f800001), F(3f800001), F(bf800002), F(28800000) },
    { "div.rn.f32 $d, $a, $b", "www", F(3f800000), F(40400000), 0, F(3eaaaaab) },
    { "rcp.rn.f32 $d, $a", "ww", F(40400000), 0, 0, F(3eaaaaab) },
    { "sqrt.rn.f32 $d, $a", "ww", F(40000000), 0, 0, F(3fb504f3) },
    { "rcp.approx.ftz.f32 $d, $a", "ww", F(40800000), 0, 0, F(3e800000) },
    { "rcp.approx.ftz.f32 $d, $a", "ww", F(00000001), 0, 0, F(7f800000) },
    { "rcp.approx.ftz.f32 $d, $a", "ww", F(7f000000), 0, 0, 0 },
    { "ex2.approx.ftz.f32 $d, $a", "ww", F(40400000), 0, 0, F(41000000) },
    { "ex2.approx.ftz.f32 $d, $a", "ww", F(c2fe0000), 0, 0, 0 }, /* 2^-127 */
    { "ex2.approx.f32 $d, $a", "ww", F(c2fe0000), 0, 0, F(00400000) },
    { "ex2.approx.f32 $d, $a", "ww", F(43000000), 0, 0, F(7f800000) }, /* 2^128 */
    { "ex2.approx.f32 $d, $a", "ww", F(ff800000), 0, 0, 0 },
    { "min.f32 $d, $a, $b", "www", F(7fc00000), F(40000000), 0, F(40000000) },
    { "max.f32 $d, $a, $b", "www", F(bf800000), F(7fc00000), 0, F(bf800000) },
    { "min.f32 $d, $a, $b", "www", F(00000000), F(80000000), 0, F(80000000) },
    { "max.f32 $d, $a, $b", "www", F(80000000), F(00000000), 0, F(00000000) },
    { "neg.f32 $d, $a", "ww", F(3f800000), 0, 0, F(bf800000) },
    { "abs.f32 $d, $a", "ww", F(bf800000), 0, 0, F(3f800000) },
    { "copysign.f32 $d, $a, $b", "www", F(bf800000), F(40000000), 0, F(c0000000) },
    { "add.f64 $d, $a, $b", "ddd", 0x3ff0000000000000, 0x3ff0000000000000, 0, 0x4000000000000000 },
    { "fma.rn.f64 $d, $a, $b, $c", "dddd", 0x4000000000000000, 0x4008000000000000,
      0x3ff0000000000000, 0x401c000000000000 },
    /* 1 + 2^-30, which lies between 1 and the next float, and its negative. */
    { "fma.rm.f32 $d, $a, $b, $a", "www", F(3f800000), F(30800000), 0, F(3f800000) },
    { "fma.rz.f32 $d, $a, $b, $a", "www", F(3f800000), F(30800000), 0, F(3f800000) },
    { "fma.rp.f32 $d, $a, $b, $a", "www", F(3f800000), F(30800000), 0, F(3f800001) },
    { "fma.rm.f32 $d, $a, $b, $a", "www", F(bf800000), F(b0800000), 0, F(bf800000) },
    { "sub.rm.f32 $d, $a, $b", "www", F(bf800000), F(30800000), 0, F(bf800001) },
    { "sub.rz.f32 $d, $a, $b", "www", F(bf800000), F(30800000), 0, F(bf800000) },
    { "sub.rp.f32 $d, $a, $b", "www", F(bf800000), F(30800000), 0, F(bf800000) },
    { "add.rp.f32 $d, $a, $b", "www", F(3f800000), F(30800000), 0, F(3f800001) },
    { "add.rm.f32 $d, $a, $b", "www", F(3f800000), F(b0800000), 0, F(3f7fffff) },
    { "add.rz.f32 $d, $a, $b", "www", F(3f800000), F(b0800000), 0, F(3f7fffff) },
    /* Far apart: 2^100 and 2^-100, which a double holds no sum of. */
    { "add.rp.f32 $d, $a, $b", "www", F(71800000), F(0d800000), 0, F(71800001) },
    { "add.rm.f32 $d, $a, $b", "www", F(71800000), F(8d800000), 0, F(717fffff) },
    { "mul.rm.f32 $d, $a, $b", "www", F(3f800001), F(3f800001), 0, F(3f800002) },
    { "mul.rp.f32 $d, $a, $b", "www", F(3f800001), F(3f800001), 0, F(3f800003) },
    { "mul.rz.f32 $d, $a, $b", "www", F(bf800001), F(3f800001), 0, F(bf800002) },
    { "mul.rp.f32 $d, $a, $b", "www", F(00000001), F(3f000000), 0, F(00000001) },
    { "mul.rm.f32 $d, $a, $b", "www", F(80000000), F(3f000000), 0, F(80000000) },
    { "mul.rm.f32 $d, $a, $b", "www", F(00000000), F(3f000000), 0, F(00000000) },
    { "add.rz.f32 $d, $a, $b", "www", F(7f7fffff), F(7f7fffff), 0, F(7f7fffff) },
    { "add.rp.f32 $d, $a, $b", "www", F(7f7fffff), F(7f7fffff), 0, F(7f800000) },
    { "add.rm.f32 $d, $a, $b", "www", F(3f800000), F(bf800000), 0, F(80000000) },
    { "add.rz.f32 $d, $a, $b", "www", F(3f800000), F(bf800000), 0, F(00000000) },
    { "div.rz.f32 $d, $a, $b", "www", F(3f800000), F(40400000), 0, F(3eaaaaaa) },
    { "rcp.rp.f32 $d, $a", "ww", F(40400000), 0, 0, F(3eaaaaab) },
    { "sqrt.rm.f32 $d, $a", "ww", F(40000000), 0, 0, F(3fb504f3) },
    { "sqrt.rp.f32 $d, $a", "ww", F(40000000), 0, 0, F(3fb504f4) },
    { "div.rm.f64 $d, $a, $b", "ddd", 0x3ff0000000000000, 0x4008000000000000, 0,
      0x3fd5555555555555 },
    { "div.rp.f64 $d, $a, $b", "ddd", 0x3ff0000000000000, 0x4008000000000000, 0,
      0x3fd5555555555556 },
    { "fma.rz.f64 $d, $a, $b, $c", "dddd", 0x3ff0000000000000, 0x3ff0000000000000,
      0xbc90000000000000, 0x3fefffffffffffff },
    { "add.rp.f64 $d, $a, $b", "ddd", 0x3ff0000000000000, 1, 0, 0x3ff0000000000001 },
    /* Instructions that flush or hold what a row of the tables makes. */
    { "max.ftz.f32 $d, $a, $b", "www", F(80000001), F(80000001), 0, F(80000000) },
    { "setp.gt.ftz.f32 $d, $a, $b", "pww", F(00000001), 0, 0, 0 },
    { "setp.lt.and.ftz.f32 $d, $a, $b, !%p1", "pww", F(3f800000), F(40000000), 0, 1 },
    { "add.sat.f32 $d, $a, $b", "www", F(3f800000), F(3f800000), 0, F(3f800000) },
    { "fma.rn.ftz.sat.f32 $d, $a, $b, $c", "wwww", F(3f800000), F(bf800000), F(0), 0 },
    { "max.NaN.f32 $d, $a, $b", "www", F(7fc00000), F(40000000), 0, F(7fc00000) },
    { "rsqrt.approx.ftz.f64 $d, $a", "dd", 0x4010000000000000, 0, 0, 0x3fe0000000000000 },
};

static const struct instruction_case conversions[] = {
    { "cvt.u32.u64 $d, $a", "wd", 0x123456789, 0, 0, 0x23456789 },
    { "cvt.s64.s32 $d, $a", "dw", 0xffffffff, 0, 0, UINT64_MAX },
    { "cvt.u64.u32 $d, $a", "dw", 0xffffffff, 0, 0, 0xffffffff },
    { "cvt.u16.u32 $d, $a", "hw", 0x12345, 0, 0, 0x2345 },
    { "cvt.s8.s32 $d, $a", "ww", 0x180, 0, 0, 0xffffff80 },
    { "cvt.s16.s8 $d, $a", "hh", 0x80, 0, 0, 0xff80 },
    { "cvt.u32.u8 $d, $a", "wd", 0x1ff, 0, 0, 0xff },
    { "cvt.rn.f32.s32 $d, $a", "ww", 0xffffffff, 0, 0, F(bf800000) },
    { "cvt.rn.f32.u32 $d, $a", "ww", 0xffffffff, 0, 0, F(4f800000) },
    { "cvt.rn.f32.u16 $d, $a", "wh", 3, 0, 0, F(40400000) },
    { "cvt.rzi.s32.f32 $d, $a", "ww", F(c0200000), 0, 0, (uint32_t)-2 }, /* -2.5 */
    { "cvt.rni.s32.f32 $d, $a", "ww", F(40200000), 0, 0, 2 },
    { "cvt.rmi.s32.f32 $d, $a", "ww", F(c0200000), 0, 0, (uint32_t)-3 },
    { "cvt.rpi.s32.f32 $d, $a", "ww", F(40200000), 0, 0, 3 },
    { "cvt.rzi.s32.f32 $d, $a", "ww", F(4f000000), 0, 0, 0x7fffffff }, /* 2^31 */
    { "cvt.rzi.u32.f32 $d, $a", "ww", F(bf800000), 0, 0, 0 },
    { "cvt.rzi.s32.f32 $d, $a", "ww", F(7fc00000), 0, 0, 0 },
    { "cvt.rni.f32.f32 $d, $a", "ww", F(3fc00000), 0, 0, F(40000000) }, /* 1.5 */
    { "cvt.sat.f32.f32 $d, $a", "ww", F(40000000), 0, 0, F(3f800000) },
    { "cvt.f64.f32 $d, $a", "dw", F(3f800000), 0, 0, 0x3ff0000000000000 },
    { "cvt.rn.f32.f64 $d, $a", "wd", 0x3ff0000010000000, 0, 0, F(3f800000) },
    { "cvt.f32.f16 $d, $a", "wh", 0x3c00, 0, 0, F(3f800000) },
    { "cvt.f32.f16 $d, $a", "wh", 0x0001, 0, 0, F(33800000) },
    { "cvt.f32.bf16 $d, $a", "wh", 0x3f80, 0, 0, F(3f800000) },
    { "cvt.rn.f16.f32 $d, $a", "hw", F(477ff000), 0, 0, 0x7c00 }, /* 65520 */
    { "cvt.rn.f16.f32 $d, $a", "hw", F(7fffffff), 0, 0, 0x7fff },
    { "cvt.rn.bf16.f32 $d, $a", "hw", F(3f808000), 0, 0, 0x3f80 }, /* a tie */
    { "cvt.rn.f16x2.f32 $d, $a, $b", "www", F(3f800000), F(40000000), 0, 0x3c004000 },
    { "cvt.rn.bf16x2.f32 $d, $a, $b", "www", F(3f800000), F(7f800001), 0, 0x3f807fff },
    /* Those that have no row: 2049 is a tie, and -5 is c500. */
    { "cvt.rn.f16.s32 $d, $a", "hw", 2049, 0, 0, 0x6800 },
    { "cvt.rp.f16.s32 $d, $a", "hw", 2049, 0, 0, 0x6801 },
    { "cvt.rzi.s32.f16 $d, $a", "wh", 0xc500, 0, 0, (uint32_t)-5 },
    { "cvt.rzi.u64.bf16 $d, $a", "dh", 0x5f00, 0, 0, UINT64_C(1) << 63 },
    { "cvt.rn.bf16.s64 $d, $a", "hd", INT64_MAX, 0, 0, 0x5f00 },
    { "cvt.rna.tf32.f32 $d, $a", "ww", F(3f801000), 0, 0, F(3f802000) },
    { "cvt.rm.f32.f64 $d, $a", "wd", 0x3fb999999999999a, 0, 0, F(3dcccccc) },
    { "cvt.rp.f32.f64 $d, $a", "wd", 0x3fb999999999999a, 0, 0, F(3dcccccd) },
    { "cvt.rz.f32.f64 $d, $a", "wd", 0x7fe0000000000000, 0, 0, F(7f7fffff) },
    { "cvt.rn.f32.f64 $d, $a", "wd", 0x3690000000000001, 0, 0, F(00000001) },
    { "cvt.sat.u8.s32 $d, $a", "ww", 300, 0, 0, 255 },
    { "cvt.sat.s16.s32 $d, $a", "ww", 0xffff0000, 0, 0, 0xffff8000 },
    { "cvt.rni.f64.f64 $d, $a", "dd", 0x4004000000000000, 0, 0, 0x4000000000000000 },
    { "cvt.rzi.ftz.s32.f32 $d, $a", "ww", F(c0200000), 0, 0, (uint32_t)-2 },
    { "cvt.ftz.f64.f32 $d, $a", "dw", 1, 0, 0, 0 },
    { "cvt.rn.relu.bf16x2.f32 $d, $a, $b", "www", F(bf800000), F(3f800000), 0, 0x3f80 },
    { "cvt.rn.satfinite.e4m3x2.f32 $d, $a, $b", "hww", F(3f800000), F(447a0000), 0, 0x387e },
    { "cvt.rn.satfinite.e4m3x2.f32 $d, $a, $b", "hww", F(ffc00000), F(b7000000), 0, 0x7f80 },
    { "cvt.rn.satfinite.e4m3x2.f32 $d, $a, $b", "hww", F(3b000000), F(43e80001), 0, 0x017e },
    { "cvt.rn.satfinite.e5m2x2.f32 $d, $a, $b", "hww", F(3f800000), F(bf000000), 0, 0x3cb8 },
    { "cvt.rn.satfinite.e4m3x2.f16x2 $d, $a", "hw", 0x3c004000, 0, 0, 0x3840 },
    { "cvt.rn.f16x2.e4m3x2 $d, $a", "wh", 0x387e, 0, 0, 0x3c005f00 },
    { "cvt.rn.f16x2.e5m2x2 $d, $a", "wh", 0x017c, 0, 0, 0x01007c00 },
};

/* f16: 1 is 3c00, 2048 is 6800, 2^-24 is 0001; bf16: 1 is 3f80, 256 is 4380. */
static const struct instruction_case halves[] = {
    { "add.f16 $d, $a, $b", "hhh", 0x6800, 0x3c00, 0, 0x6800 },
    { "add.rn.f16x2 $d, $a, $b", "www", 0x3c003c00, 0x3c004000, 0, 0x40004200 },
    { "sub.f16x2 $d, $a, $b", "www", 0x40004200, 0x3c003c00, 0, 0x3c004000 },
    { "mul.f16x2 $d, $a, $b", "www", 0x40000001, 0x42003c00, 0, 0x46000001 },
    { "fma.rn.f16 $d, $a, $b, $c", "hhhh", 0x3c01, 0x3c01, 0xbc02, 0x0010 }, /* 2^-20 */
    { "fma.rn.f16x2 $d, $a, $b, $c", "wwww", 0x40003c00, 0x42004000, 0x3c003c00, 0x47004200 },
    { "min.f16 $d, $a, $b", "hhh", 0x7e00, 0x3c00, 0, 0x3c00 },
    { "max.f16x2 $d, $a, $b", "www", 0x3c00bc00, 0x40004000, 0, 0x40004000 },
    { "set.eq.f16.f16 $d, $a, $b", "hhh", 0x3c00, 0x3c00, 0, 0x3c00 },
    { "set.neu.f16.f16 $d, $a, $a", "hh", 0x7e00, 0, 0, 0x3c00 },
    { "set.lt.bf16.bf16 $d, $a, $b", "hhh", 0x3f80, 0x4000, 0, 0x3f80 },
    { "set.gt.f16x2.f16x2 $d, $a, $b", "www", 0x3c004000, 0x40003c00, 0, 0x00003c00 },
    { "set.nan.bf16x2.bf16x2 $d, $a, $b", "www", 0x7fff3f80, 0x3f803f80, 0, 0x3f800000 },
    { "set.le.u32.f16x2 $d, $a, $b", "www", 0x3c004000, 0x40003c00, 0, 0xffff0000 },
    { "set.ge.u32.bf16 $d, $a, $b", "whh", 0x4000, 0x3f80, 0, 0xffffffff },
    { "neg.f16x2 $d, $a", "ww", 0x3c00bc00, 0, 0, 0xbc003c00 },
    { "abs.bf16x2 $d, $a", "ww", 0xbf80bf80, 0, 0, 0x3f803f80 },
    { "add.bf16 $d, $a, $b", "hhh", 0x4380, 0x3f80, 0, 0x4380 },
    { "fma.rn.bf16 $d, $a, $b, $c", "hhhh", 0x3f81, 0x3f81, 0xbf82, 0x3880 }, /* 2^-14 */
    { "mul.bf16x2 $d, $a, $b", "www", 0x3f804000, 0x40004000, 0, 0x40004080 },
};

static const struct instruction_case moves[] = {
    { "mov.b32 $d, $a", "ww", 7, 0, 0, 7 },
    { "mov.b64 $d, $a", "dd", UINT64_MAX, 0, 0, UINT64_MAX },
    { "mov.f32 $d, 0f3F800000", "w", 0, 0, 0, F(3f800000) },
    { "mov.u32 $d, -2", "w", 0, 0, 0, 0xfffffffe },
    { "mov.b32 $d, {%h1, %h2}", "w", 0x1111, 0x2222, 0, 0x22221111 },
    { "mov.b32 {_, $d}, %r1", "h", 0x22221111, 0, 0, 0x2222 },
    { "mov.b64 $d, {%r1, %r2}", "d", 1, 2, 0, 0x200000001 },
    { "mov.b64 {$d, %r9}, %rd1", "w", 0x200000001, 0, 0, 1 },
    { "mov.b64 $d, {%h1, %h2, %h3, %h2}", "d", 0x1111, 0x2222, 0x3333, 0x2222333322221111 },
    { "mov.b64 {_, $d, _, %h7}, %rd1", "h", 0x4444333322221111, 0, 0, 0x2222 },
    { "mov.u32 $d, %nsmid", "w", 0, 0, 0, 132 },
    { "mov.u32 $d, %total_smem_size", "w", 0, 0, 0, 0 },
    { "mov.u32 $d, %reserved_smem_offset_1", "w", 0, 0, 0, 0 },
    { "mov.u64 $d, %gridid", "d", 0, 0, 0, 0 },
    { "mov.u32 $d, %clock_hi", "w", 0, 0, 0, 0 },
    { "cvta.to.global.u64 $d, $a", "dd", 16, 0, 0, 16 },
    { "mov.u32 $d, %ntid.x", "w", 0, 0, 0, 32 },
    { "@%p1 mov.u32 $d, 1", "w", 0, 0, 0, 0 },
    { "@!%p1 mov.u32 $d, 1", "w", 0, 0, 0, 1 },
};

static void put_operand(char *to, size_t size, char form, int number)
{
    snprintf(to, size, "%%%s%d",
             form == 'p'   ? "p"
             : form == 'h' ? "h"
             : form == 'd' ? "rd"
                           : "r",
             number);
}

/* The instruction with the names of registers in it. */
static void write_instruction(char *to, size_t size, const struct instruction_case *row)
{
    size_t length = 0;

    for (const char *at = row->text; *at != '\0'; at++) {
        int number = at[1] == 'd' ? 0 : at[1] - 'a' + 1;
        if (*at != '$') {
            to[length++] = *at;
            continue;
        }
        assert_true(strlen(row->form) > (size_t)number);
        put_operand(to + length, size - length, row->form[number], number);
        length += strlen(to + length);
        at++;
    }
    to[length] = '\0';
}

static void check(const struct instruction_case *row)
{
    static const char store[][64] = { ['p'] = "selp.b64 %rd0, 1, 0, %p0;",
                                      ['h'] = "cvt.u64.u16 %rd0, %h0;",
                                      ['w'] = "cvt.u64.u32 %rd0, %r0;",
                                      ['d'] = "" };
    char body[2048], text[256];
    uint64_t memory[40] = { row->a, row->b, row->c };
    struct ptx_machine machine;

    write_instruction(text, sizeof text, row);
    snprintf(body, sizeof body,
             "mov.u64 %%rd0, 0; mov.u32 %%r0, 0; mov.pred %%p1, 0; ld.param.u64 %%rd4, [p];"
             "ld.global.u64 %%rd1, [%%rd4]; ld.global.u64 %%rd2, [%%rd4+8]; ld.global.u64 %%rd3, "
             "[%%rd4+16];"
             "cvt.u32.u64 %%r1, %%rd1; cvt.u32.u64 %%r2, %%rd2; cvt.u32.u64 %%r3, %%rd3;"
             "cvt.u16.u64 %%h1, %%rd1; cvt.u16.u64 %%h2, %%rd2; cvt.u16.u64 %%h3, %%rd3;"
             "%s;\n %s mov.u32 %%r10, %%tid.x; mul.wide.u32 %%rd5, %%r10, 8; add.s64 %%rd6, %%rd4, "
             "%%rd5;"
             "st.global.u64 [%%rd6+64], %%rd0;",
             text, store[(unsigned char)row->form[0]]);
    ptx_machine_open(&machine, "", body);
    ptx_machine_memory(&machine, memory, sizeof memory, sizeof memory);
    if (!ptx_machine_run(&machine, 1, 32, memory))
        fail_msg("%s: %s", row->text, status_last()->text);
    for (int lane = 0; lane < 32; lane += 31)
        if (memory[8 + lane] != row->expected)
            fail_msg("%s of 0x%llx, 0x%llx, 0x%llx is 0x%llx in lane %d, should be 0x%llx",
                     row->text, (unsigned long long)row->a, (unsigned long long)row->b,
                     (unsigned long long)row->c, (unsigned long long)memory[8 + lane], lane,
                     (unsigned long long)row->expected);
    ptx_machine_close(&machine);
}

#define ROWS(rows)                                                                                 \
    TEST(rows##_are_as_the_reference_says)                                                         \
    {                                                                                              \
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) check(&rows[i]);                             \
    }
ROWS(integers)
ROWS(comparisons)
ROWS(reals)
ROWS(conversions)
ROWS(halves)
ROWS(moves)

/* Anything that the machine does not know is an error with its line, and the machine is as
 * before. */
TEST(what_is_unknown_is_refused_with_its_line)
{
    static const char *const bodies[] = {
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1}, {%r2}, {%r3}, {%r4};",
        "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r1}, {%r2}, {%r3}, {%r4};",
        /* Tiles that 32 lanes, or the stage of their registers, have no place for. */
        "mma.sync.aligned.m32n32k4.row.col.f64.f64.f64.f64 {%rd1}, {%rd2}, {%rd3}, {%rd4};",
        "mma.sync.aligned.m16n8.row.col.f32.f16.f16.f32 {%r1}, {%r2}, {%r3}, {%r4};",
        "wmma.load.b.sync.aligned.row.m8n32k4.f16 {%r1, %r2}, [%rd1];",
        "mov.b32 {%r1, %r2}, %r3",
        "tex.cube.v4.f32.f32 {%r1,%r2,%r3,%r4}, [%rd1, {%r1,%r2,%r3,%r4}];",
        "cvt.rs.f16x2.f32 %r1, %r2, %r3, %r4;",
        "atom.global.min.f32 %r1, [%rd1], %r2;",
        "call nobody;",
        "call %rd1, prototype;",
        "add.s33 %r0, %r1, %r2;",
        "ld.global.strange.u32 %r0, [%rd1];",
        "ld.shared::cluster.u32 %r0, [%rd1];",
        "add.s32 %r0, %rd1, %r2;",
        "add.s32 %r0, %r1, %r99;",
        "bra NOWHERE;",
        "bar.sync 1, 64;",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        char text[512];
        struct simt *simt;

        snprintf(text, sizeof text,
                 ".version 8.0\n.visible .entry k()\n{\n.reg .b32 %%r<9>;.reg .b64 "
                 "%%rd<9>;\n%s\nret;\n}\n",
                 bodies[i]);
        assert_ok(simt_open(&simt));
        assert_int_equal(simt_read(simt, text, strlen(text), "odd.ptx"), STATUS_BAD_INPUT);
        assert_non_null(strstr(status_last()->text, "odd.ptx:"));
        assert_null(simt_find(simt, "k"));
        simt_close(simt);
    }
}
