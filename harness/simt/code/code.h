/* The code that the reader makes of a kernel, and the machine executes. */
#pragma once

#include "harness/base/status.h"
#include "harness/simt/code/simt_types.h"

struct simt;

enum { SIMT_LANES = 32, SIMT_DESTINATIONS = 4, SIMT_SOURCES = 5, SIMT_BASE = 4 };

struct warp;
struct instruction;
typedef void simt_operation(struct warp *warp, const struct instruction *instruction);

/* How the machine goes on after an instruction; its lanes do only PLAIN ones. */
enum instruction_kind { PLAIN, BRANCH, END, BARRIER, TRAP };

enum simt_space {
    SPACE_NONE,
    SPACE_GLOBAL,
    SPACE_SHARED,
    SPACE_LOCAL,
    SPACE_PARAM,
    SPACE_CALL,  /* parameters of a call of a function; no sectors are counted */
    SPACE_CONST, /* the module's variables, as global memory has them; no sectors are counted */
    SPACE_GENERIC
};

/* Operands are numbers of registers while the reader works, then places in the register file of a
 * warp, in bytes; -1: none. Constants and special registers have places as well. */
struct instruction {
    simt_operation *run;
    uint8_t kind;
    uint8_t space, width, vector; /* of an access: bytes of an element, elements */
    bool is_signed;               /* what is loaded is widened with its sign */
    bool negated;                 /* the predicate is */
    bool helper;                  /* the reader added it: not counted */
    bool address_words;           /* the address is 32 bits */
    uint8_t mode;                 /* of a shuffle, a vote, an atomic operation */
    int32_t predicate;            /* -1: none */
    int32_t d[SIMT_DESTINATIONS], s[SIMT_SOURCES];
    int64_t offset; /* of an address */
    int32_t target,
        meet; /* of a branch; meet: where its lanes are together again; the length: at the end */
    int32_t straight; /* plain instructions without a predicate from here on, that always run
                         together */
    int32_t counted;  /* of them */
    int32_t slot;     /* of an access: its number among those of the kernel */
    bool stores;      /* of an access: it is no load and no atomic operation */
    bool waits;       /* of a load: the first of those that may be under way together */
    bool read_only;   /* nothing writes what it loads: ld.global.nc */
    bool acquires;    /* its block comes after what others did before: see struct warp_group */
    int32_t line;     /* of the source: a row of the module's lines; -1: not known */
    int32_t text_line;
    const char *text; /* in the module's, up to ';' */
};

/* The source line of an instruction: file and line, and where it was inlined. */
struct source_line {
    int file, line, at_file, at_line;
};

/* DYNAMIC: while the kernel is read, the address of dynamic shared memory; then it is a constant.
 */
enum register_kind { REGISTER_OWN, REGISTER_CONSTANT, REGISTER_SPECIAL, REGISTER_DYNAMIC };

struct simt_register {
    uint8_t bytes;   /* of a lane: 4 or 8 */
    uint8_t bits;    /* as declared: 1, 16, 32, 64 */
    uint8_t kind;    /* of register_kind */
    uint8_t special; /* of special_kind */
    uint64_t value;  /* of a constant */
    int32_t place;
};

/* Name in PTX, and the value in a lane, in the words of special_value(). */
#define SIMT_SPECIALS(X)                                                                           \
    X(TID_X, "%tid.x", thread % threads[0])                                                        \
    X(TID_Y, "%tid.y", thread / threads[0] % threads[1])                                           \
    X(TID_Z, "%tid.z", thread / threads[0] / threads[1])                                           \
    X(CTAID_X, "%ctaid.x", block[0])                                                               \
    X(CTAID_Y, "%ctaid.y", block[1])                                                               \
    X(CTAID_Z, "%ctaid.z", block[2])                                                               \
    X(NTID_X, "%ntid.x", threads[0])                                                               \
    X(NTID_Y, "%ntid.y", threads[1])                                                               \
    X(NTID_Z, "%ntid.z", threads[2])                                                               \
    X(NCTAID_X, "%nctaid.x", blocks[0])                                                            \
    X(NCTAID_Y, "%nctaid.y", blocks[1])                                                            \
    X(NCTAID_Z, "%nctaid.z", blocks[2])                                                            \
    X(LANEID, "%laneid", lane)                                                                     \
    X(WARPID, "%warpid", warp->number)                                                             \
    X(LANEMASK_EQ, "%lanemask_eq", bit)                                                            \
    X(LANEMASK_LT, "%lanemask_lt", bit - 1)                                                        \
    X(LANEMASK_LE, "%lanemask_le", bit | (bit - 1))                                                \
    X(LANEMASK_GT, "%lanemask_gt", ~(bit | (bit - 1)))                                             \
    X(LANEMASK_GE, "%lanemask_ge", ~(bit - 1))                                                     \
    X(NWARPID, "%nwarpid", 64)                                                                     \
    X(SMID, "%smid", (warp->group->place - 1) % 132) /* as an H100 has them */                     \
    X(NSMID, "%nsmid", 132)                                                                        \
    X(DYNAMIC_SMEM, "%dynamic_smem_size", (uint32_t)warp->launch->grid->shared_bytes)              \
    X(TOTAL_SMEM, "%total_smem_size", (uint32_t)warp->group->shared_bytes)                         \
    X(AGGR_SMEM, "%aggr_smem_size", (uint32_t)warp->group->shared_bytes)                           \
    X(RESERVED_BEGIN, "%reserved_smem_offset_begin", (uint32_t)warp->group->reserved)              \
    X(RESERVED_0, "%reserved_smem_offset_0", (uint32_t)warp->group->reserved)                      \
    X(RESERVED_1, "%reserved_smem_offset_1", (uint32_t)warp->group->reserved)                      \
    X(ENVREG1, "%envreg1", 0) /* the grid's, of a cooperative launch, which this is not */         \
    X(ENVREG2, "%envreg2", 0)                                                                      \
    X(CLUSTER_X, "%clusterid.x", block[0]) /* each block is a cluster */                           \
    X(CLUSTER_Y, "%clusterid.y", block[1])                                                         \
    X(CLUSTER_Z, "%clusterid.z", block[2])                                                         \
    X(NCLUSTER_X, "%nclusterid.x", blocks[0])                                                      \
    X(NCLUSTER_Y, "%nclusterid.y", blocks[1])                                                      \
    X(NCLUSTER_Z, "%nclusterid.z", blocks[2])                                                      \
    X(CLUSTER_CTA_X, "%cluster_ctaid.x", 0)                                                        \
    X(CLUSTER_CTA_Y, "%cluster_ctaid.y", 0)                                                        \
    X(CLUSTER_CTA_Z, "%cluster_ctaid.z", 0)                                                        \
    X(CLUSTER_NCTA_X, "%cluster_nctaid.x", 1)                                                      \
    X(CLUSTER_NCTA_Y, "%cluster_nctaid.y", 1)                                                      \
    X(CLUSTER_NCTA_Z, "%cluster_nctaid.z", 1)                                                      \
    X(CLUSTER_RANK, "%cluster_ctarank", 0)                                                         \
    X(CLUSTER_NRANK, "%cluster_nctarank", 1)

enum special_kind {
#define SIMT_SPECIAL_KIND(name, text, value) SPECIAL_##name,
    SIMT_SPECIALS(SIMT_SPECIAL_KIND)
#undef SIMT_SPECIAL_KIND
        SPECIAL_COUNT
};

/* A run of straight instructions, or one other: what is counted. */
struct step_counts {
    uint64_t times, lanes, alone, diverged;
};
enum { COUNTED_GLOBAL, COUNTED_SHARED, COUNTED_LOCAL, COUNTED_SPACES };
struct access_counts {
    struct simt_accesses of[COUNTED_SPACES];
    struct {
        uint64_t address[SIMT_LANES];
        uint32_t mask;
        unsigned touched, wanted, bytes;
        bool shared;
    } sample;
};
struct barrier_counts {
    uint64_t passed, needed;
};

enum { SIMT_PARAMETERS = SIMT_PARAMETERS_MOST };

/* The most that a kernel may have: what works on all pairs of them still ends, whoever wrote the
 * text. */
enum {
    SIMT_MOST_INSTRUCTIONS = 32768,
    SIMT_MOST_REGISTERS = 32768,
    SIMT_MOST_NAMES = 4096, /* declarations, labels, variables */
    SIMT_MOST_RUNS = 4096,  /* straight runs of instructions */
    SIMT_MOST_SHARED = 1 << 20,
    SIMT_MOST_LOCAL = 1 << 17,   /* bytes of a thread */
    SIMT_MOST_TABLE = 1 << 26,   /* bytes of a variable in global memory */
    SIMT_MOST_CALL = 1 << 15,    /* bytes of the parameters of calls */
    SIMT_MOST_PARAMETERS = 32764 /* bytes */
};
#define SIMT_MOST_STEPS                                                                            \
    INT64_C(4000000000) /* of an analysis that goes round until nothing changes */

struct simt_kernel {
    char *name;
    const struct module *module;
    struct instruction *code;
    int64_t count, room;
    struct simt_register *registers;
    int64_t register_count, register_room;
    int parameters, parameter_bytes;
    int parameter_offset[SIMT_PARAMETERS], parameter_size[SIMT_PARAMETERS];
    char parameter_type[SIMT_PARAMETERS][16];
    int shared_bytes, local_bytes; /* local: of a lane */
    int call_bytes;                /* of a lane: parameters of calls */
    int most_threads;              /* .maxntid; 0: not given */
    bool barriers, has_tiles;      /* tiles: matrix instructions */
    int slots;                     /* accesses */
    struct {
        uint8_t special; /* of special_kind */
        int32_t place;
    } specials[SPECIAL_COUNT]; /* that it reads */
    int special_count;
    int file_bytes;
    unsigned char *file;       /* the register file as a warp begins with it, aligned to 64 bytes */
    struct step_counts *steps; /* [count] */
    struct access_counts *accesses;        /* [slots] */
    struct barrier_counts *barrier_counts; /* [count]; NULL: it has none */
    bool shares_global; /* blocks read or write again what they wrote or read in global memory */
    int live_words;     /* of registers, at most */
    uint64_t launches, warps;
    struct simt_kernel *next;
};

struct module {
    char *name, *text;
    char **files;
    int64_t file_count, file_room;
    struct source_line *lines;
    int64_t line_count, line_room;
    struct module_variable *variables;
    struct simt_kernel *kernels;
    struct module *next;
};

/* A table of the module, in memory of its own. */
struct module_variable {
    char *name;
    void *memory;
    size_t bytes;
    struct module_variable *next;
};

/* Generic addresses of shared and local memory lie in windows, which are no host's addresses. */
#define SIMT_SHARED_WINDOW (UINT64_C(1) << 60)
#define SIMT_LOCAL_WINDOW  (UINT64_C(1) << 61)
#define SIMT_PARAM_WINDOW  (UINT64_C(1) << 62)

/* reader/ptx_reader.c: the module of a text; on failure *module is NULL. If it picks, only the
 * kernel `wanted` is read, or the only one if that is NULL, and the others are there by name alone.
 */
enum status module_read(struct module **module, const char *text, size_t bytes, const char *name,
                        bool picks, const char *wanted);
void module_free(struct module *module);

/* The kernel of that name: the whole one, or as the source has it, if only one is called so. */
struct simt_kernel *kernel_of_name(struct simt_kernel *kernels, const char *name);

/* flow.c: finds straight runs and where lanes meet. */
enum status flow_find(struct simt_kernel *kernel);

/* loads.c: finds the loads that wait for each other. */
enum status loads_find(struct simt_kernel *kernel);

/* places.c: gives registers their places, several the same if they are never in use together. */
enum status places_give(struct simt_kernel *kernel);
