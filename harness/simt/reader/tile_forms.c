/* Instructions of many registers: copies to shared memory, matrices, textures. Registers of
 * matrices pass through the stage of a warp, by helpers before and after the instruction. */
#include "harness/simt/lanes/tiles.h"
#include "harness/simt/reader/statement.h"

#include <stdio.h>
#include <string.h>

enum { TILE_REGISTERS = 32 };

/* --- Copies --- */

/* "cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;" as a load and a store. */
static enum status copy_bytes(struct reader *reader, struct statement *statement)
{
    struct instruction store = statement_row(reader, statement), load = store;
    uint64_t bytes;

    store.space = SPACE_SHARED;
    load.space = SPACE_GLOBAL;
    TRY(reader_memory(reader, &store));
    TRY(reader_want(reader, ","));
    TRY(reader_memory(reader, &load));
    TRY(reader_want(reader, ","));
    TRY(reader_number(reader, &bytes));
    if (bytes != 4 && bytes != 8 && bytes != 16)
        READER_FAIL(reader, "%s of %llu bytes", statement->name, (unsigned long long)bytes);
    if (reader_accept(reader, ",")) /* how many are read, or how the cache keeps them */
        if (!statement_has(statement, "L2::cache_hint") ||
            (reader->at + 1 < reader->count && word_is(reader->words[reader->at + 1], ",")))
            TRY(reader_source(reader, statement, 'w', &load.s[0]));
    if (statement_has(statement, "L2::cache_hint")) {
        reader_accept(reader, ",");
        reader_take(reader);
    }
    load.run = lanes_copy_read;
    store.run = lanes_copy_write;
    store.helper = store.stores = true;
    load.width = store.width = (uint8_t)bytes;
    load.vector = store.vector = 1;
    load.slot = reader->kernel->slots++;
    store.slot = reader->kernel->slots++;
    TRY(reader_emit(reader, &load));
    return reader_emit(reader, &store);
}

enum status form_copy(struct reader *reader, struct statement *statement)
{
    struct instruction row = statement_row(reader, statement);
    uint64_t groups = 0;

    if (strcmp(statement->name, "cp.async.commit_group") == 0) {
        row.run = lanes_copy_commit;
        return reader_emit(reader, &row);
    }
    if (strcmp(statement->name, "cp.async.wait_all") == 0 ||
        strcmp(statement->name, "cp.async.wait_group") == 0) {
        row.run = lanes_copy_wait;
        row.mode = strcmp(statement->parts[2], "wait_all") == 0;
        if (!row.mode)
            TRY(reader_number(reader, &groups));
        row.offset = (int64_t)(groups & 0xffff);
        return reader_emit(reader, &row);
    }
    TRY(statement_parts(reader, statement, " async "));
    return copy_bytes(reader, statement);
}

/* --- Matrices --- */

/* Registers that go to the stage, or come from it, from word `first` on. */
static enum status pass(struct reader *reader, const struct statement *statement, bool in,
                        const int32_t *numbers, int count, int first, bool wide)
{
    reader->kernel->has_tiles = true;
    for (int i = 0; i < count; i += SIMT_DESTINATIONS) {
        struct instruction row = statement_row(reader, statement);
        row.helper = true;
        row.run = in ? lanes_stage : lanes_unstage;
        row.width = wide ? 8 : 4;
        row.mode = (uint8_t)(first + i * (wide ? 2 : 1));
        row.vector = (uint8_t)(count - i < SIMT_DESTINATIONS ? count - i : SIMT_DESTINATIONS);
        for (int k = 0; k < row.vector; k++) (in ? row.s : row.d)[k] = numbers[i + k];
        TRY(reader_emit(reader, &row));
    }
    return STATUS_OK;
}

/* The register of an address with its offset. */
static enum status whole_address(struct reader *reader, const struct statement *statement,
                                 struct instruction *row)
{
    int32_t sum, offset;
    struct instruction add = statement_row(reader, statement);

    TRY(reader_memory(reader, row));
    if (row->s[SIMT_BASE] < 0) {
        row->address_words = false;
        TRY(reader_constant(reader, (uint64_t)row->offset, 64, &row->s[SIMT_BASE]));
    } else if (row->offset != 0) {
        int bits = row->address_words ? 32 : 64;
        TRY(reader_temporary(reader, bits, &sum));
        TRY(reader_constant(reader, (uint64_t)row->offset, bits, &offset));
        add.run = opcode_find(row->address_words ? "add.s32" : "add.s64")->run;
        add.helper = true;
        add.d[0] = sum;
        add.s[0] = row->s[SIMT_BASE];
        add.s[1] = offset;
        TRY(reader_emit(reader, &add));
        row->s[SIMT_BASE] = sum;
    }
    row->offset = 0;
    return STATUS_OK;
}

/* "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];" */
enum status form_rows(struct reader *reader, struct statement *statement)
{
    static const char *const counts[] = { "x1", "x2", "", "x4" };
    struct instruction row = statement_row(reader, statement);
    bool store = strcmp(statement->parts[0], "stmatrix") == 0;
    int place = statement_which(statement, counts, (int)ARRAY_SIZE(counts)), count;
    int32_t registers[TILE_REGISTERS];

    TRY(statement_parts(reader, statement, " sync aligned m8n8 x1 x2 x4 trans b16 "));
    if (place < 0)
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.run = lanes_rows;
    row.space = statement_has(statement, "shared") ? SPACE_SHARED : SPACE_GENERIC;
    row.width = 16;
    row.vector = 1;
    row.stores = store;
    row.mode = (uint8_t)((place + 1) | (statement_has(statement, "trans") ? ROWS_TRANSPOSED : 0) |
                         (store ? ROWS_STORE : 0));
    row.slot = reader->kernel->slots++;
    if (store) {
        TRY(reader_memory(reader, &row));
        TRY(reader_want(reader, ","));
    }
    TRY(reader_list(reader, statement, 'w', store, registers, 4, &count));
    if (!store) {
        TRY(reader_want(reader, ","));
        TRY(reader_memory(reader, &row));
    }
    if (count != place + 1)
        READER_FAIL(reader, "%s with %d registers", statement->name, count);
    if (store)
        TRY(pass(reader, statement, true, registers, count, 0, false));
    reader->kernel->has_tiles = true;
    TRY(reader_emit(reader, &row));
    return store ? STATUS_OK : pass(reader, statement, false, registers, count, 0, false);
}

/* "m16n8k16", and up to four types at the end of the name; how many there are. */
static int shape_of(const struct statement *statement, struct tile *tile, int types[4])
{
    int count = 0, found[4];

    *tile = (struct tile){ 0 };
    for (int i = 1; i < statement->count; i++) {
        char end;
        int type = number_find(statement->parts[i]);
        if (sscanf(statement->parts[i], "m%dn%dk%d%c", &tile->m, &tile->n, &tile->k, &end) == 3)
            continue;
        if (type >= 0 && count < 4)
            found[count++] = type;
    }
    memcpy(types, found, (size_t)count * sizeof *types);
    return count;
}

/* Whether a part of a tile can be spread over 32 lanes as lanes/tiles.c has it, and its words are
 * within the stage's. */
static bool has_place(const struct tile *tile, enum tile_part part)
{
    int bits = number_types[tile->types[part]].bits;

    return tile->m >= 8 && tile->m <= 32 && tile->m % 8 == 0 && tile->n >= 8 && tile->n <= 32 &&
           tile->n % 8 == 0 && tile->k >= 4 && tile->k <= 64 &&
           (part > TILE_B || tile->k % (4 * tile_each(tile, part)) == 0) &&
           tile_registers(tile, part) * (bits == 64 ? 2 : 1) <= (part > TILE_B ? 32 : 16);
}

/* Whether PTX has such types. */
static bool is_tile(const struct tile *tile)
{
    static const int inputs[] = { NUMBER_f16, NUMBER_bf16, NUMBER_tf32, NUMBER_f64,  NUMBER_u8,
                                  NUMBER_s8,  NUMBER_u4,   NUMBER_s4,   NUMBER_e4m3, NUMBER_e5m2 };
    int type = tile->types[TILE_D], kind = number_types[tile->types[TILE_A]].exponent;
    bool known[2] = { false };

    for (size_t i = 0; i < ARRAY_SIZE(inputs); i++)
        for (int p = TILE_A; p <= TILE_B; p++) known[p] |= tile->types[p] == inputs[i];
    if (!known[0] || !known[1] ||
        number_types[tile->types[TILE_A]].bits != number_types[tile->types[TILE_B]].bits)
        return false;
    for (int p = TILE_A; p <= TILE_D; p++)
        if (!has_place(tile, (enum tile_part)p))
            return false;
    if (tile->types[TILE_A] == NUMBER_f64)
        return type == NUMBER_f64 && tile->types[TILE_C] == type;
    return (kind == 0 ? type == NUMBER_s32 : type == NUMBER_f32 || type == NUMBER_f16) &&
           (kind == 0 ? tile->types[TILE_C] == type
                      : tile->types[TILE_C] == NUMBER_f32 || tile->types[TILE_C] == NUMBER_f16);
}

/* A part's registers, of which wmma may want more than there are elements: they repeat. */
static enum status part_of(struct reader *reader, const struct statement *statement,
                           const struct tile *tile, enum tile_part part, bool in, int32_t *numbers,
                           int *own)
{
    static const int first[] = { STAGE_A, STAGE_B, STAGE_C, STAGE_D };
    bool wide = number_types[tile->types[part]].bits == 64;
    int count;

    *own = tile_registers(tile, part);
    TRY(reader_list(reader, statement, wide ? 'd' : 'w', in, numbers, TILE_REGISTERS, &count));
    if (*own == 0 || count % *own != 0)
        READER_FAIL(reader, "%s with %d registers", statement->name, count);
    if (in)
        return pass(reader, statement, true, numbers, *own, first[part], wide);
    *own = count;
    return STATUS_OK;
}

/* Takes a result out of the stage, after the instruction that makes it. */
static enum status part_back(struct reader *reader, const struct statement *statement,
                             const struct tile *tile, enum tile_part part, int first,
                             const int32_t *numbers, int count)
{
    bool wide = number_types[tile->types[part]].bits == 64;
    int own = tile_registers(tile, part);

    for (int i = 0; i < count; i += own)
        TRY(pass(reader, statement, false, numbers + i, own, first, wide));
    return STATUS_OK;
}

/* "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c;" of four lists. Without types of A
 * and B, as wmma.mma has it, they are f16. */
enum status form_product(struct reader *reader, struct statement *statement)
{
    static const char known[] = " mma sync aligned row col rn satfinite ";
    struct instruction row = statement_row(reader, statement);
    struct tile tile;
    int32_t results[TILE_REGISTERS], numbers[TILE_REGISTERS];
    int types[4] = { NUMBER_f16, NUMBER_f16, NUMBER_f16, NUMBER_f16 }, count, own, result_count;
    int given = shape_of(statement, &tile, types), parts = 1 + given;

    for (int i = 1; i < statement->count; i++) {
        char part[OPCODE_SIZE + 2];
        snprintf(part, sizeof part, " %s ", statement->parts[i]);
        parts += strstr(known, part) != NULL;
    }
    if (given == 2)
        memcpy(tile.types, (int[]){ NUMBER_f16, NUMBER_f16, types[1], types[0] },
               sizeof tile.types);
    else
        memcpy(tile.types, (int[]){ types[1], types[2], types[3], types[0] }, sizeof tile.types);
    if ((given != 2 && given != 4) || parts != statement->count - 1 || !is_tile(&tile))
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    TRY(part_of(reader, statement, &tile, TILE_D, false, results, &result_count));
    for (int p = TILE_A; p <= TILE_C; p++) {
        TRY(reader_want(reader, ","));
        TRY(part_of(reader, statement, &tile, (enum tile_part)p, true, numbers, &own));
    }
    count = result_count;
    row.run = lanes_product;
    row.mode = statement_has(statement, "satfinite");
    row.offset = tile_pack(&tile);
    TRY(reader_emit(reader, &row));
    return part_back(reader, statement, &tile, TILE_D, STAGE_D, results, count);
}

/* "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {...}, [%rd1], %r1;" */
enum status form_tiles(struct reader *reader, struct statement *statement)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    static const int first[] = { STAGE_A, STAGE_B, STAGE_C, STAGE_C };
    struct instruction row = statement_row(reader, statement);
    bool store = statement_has(statement, "store");
    int part = statement_which(statement, names, 4), types[4], count, own;
    int32_t numbers[TILE_REGISTERS];
    struct tile tile;

    if (statement->count > 1 && strcmp(statement->parts[1], "mma") == 0)
        return form_product(reader, statement);
    if (part < 0 || shape_of(statement, &tile, types) != 1)
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    for (int p = 0; p < 4; p++) tile.types[p] = types[0];
    if (!has_place(&tile, (enum tile_part)part) || number_types[types[0]].bits < 8)
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.space = statement_has(statement, "global")   ? SPACE_GLOBAL
                : statement_has(statement, "shared") ? SPACE_SHARED
                                                     : SPACE_GENERIC;
    row.run = lanes_tile_access;
    row.stores = store;
    row.slot = reader->kernel->slots++;
    row.mode = (uint8_t)((part == TILE_D ? TILE_C : part) |
                         (statement_has(statement, "col") ? TILE_BY_COLUMNS : 0) |
                         (store ? TILE_STORES : 0));
    if (store) {
        TRY(whole_address(reader, statement, &row));
        TRY(reader_want(reader, ","));
        TRY(part_of(reader, statement, &tile, TILE_C, true, numbers, &own));
    } else {
        TRY(part_of(reader, statement, &tile, (enum tile_part)part, false, numbers, &count));
        TRY(reader_want(reader, ","));
        TRY(whole_address(reader, statement, &row));
    }
    if (reader_accept(reader, ",")) {
        TRY(reader_source(reader, statement, 'w', &row.s[0]));
    } else {
        bool by_columns = row.mode & TILE_BY_COLUMNS;
        int rows = part == TILE_B ? tile.k : tile.m, columns = part == TILE_A ? tile.k : tile.n;
        TRY(reader_constant(reader, (uint64_t)(by_columns ? rows : columns), 32, &row.s[0]));
    }
    reader->kernel->has_tiles = true;
    row.offset = tile_pack(&tile);
    TRY(reader_emit(reader, &row));
    if (store)
        return STATUS_OK;
    return part_back(reader, statement, &tile, (enum tile_part)(part == TILE_D ? TILE_C : part),
                     first[part], numbers, count);
}

/* --- Textures --- */

/* "[%rd1, {%f1, %f2}]", with as many coordinates as there are dimensions, and some that nobody
 * looks at. */
static enum status coordinates(struct reader *reader, const struct statement *statement,
                               int dimensions, int32_t *numbers, int32_t *handle)
{
    int count;

    TRY(reader_want(reader, "["));
    TRY(reader_source(reader, statement, 'd', handle));
    TRY(reader_want(reader, ","));
    TRY(reader_list(reader, statement, 'w', true, numbers, 4, &count));
    if (count < dimensions)
        READER_FAIL(reader, "%s with %d coordinates", statement->name, count);
    return reader_want(reader, "]");
}

/* "tex.2d.v4.f32.f32 {...}, [handle, {x, y}];", "suld.b.2d.v4.b8.trap {...}, [handle, {x, y}];" or
 * "sust.b.2d.b32.trap [handle, {x, y}], {...};" */
enum status form_texture(struct reader *reader, struct statement *statement)
{
    static const char *const shapes[] = { "1d", "2d", "3d" };
    struct instruction row = statement_row(reader, statement);
    bool is_texture = strcmp(statement->parts[0], "tex") == 0;
    bool store = strcmp(statement->parts[0], "sust") == 0;
    int dimensions = 1 + statement_which(statement, shapes, 3);
    int32_t numbers[4];

    if (dimensions == 0 || strcmp(statement->parts[0], "tld4") == 0 ||
        statement_has(statement, "level") || statement_has(statement, "grad") ||
        (!is_texture && (!statement_has(statement, "b") || !statement_has(statement, "trap"))))
        READER_FAIL(reader,
                    "unknown instruction %s: only textures of one level in 1 to 3 "
                    "dimensions are known, and surfaces that trap",
                    statement->name);
    if (is_texture) {
        const char *to = statement->parts[statement->count - 2],
                   *by = statement->parts[statement->count - 1];
        row.run = lanes_texture;
        row.mode = (uint8_t)(dimensions | (strcmp(to, "f32") == 0 ? TEXTURE_REAL : 0) |
                             (strcmp(by, "s32") == 0 ? TEXTURE_WHOLE : 0));
        row.width = 4;
        row.vector = 4;
        TRY(reader_elements(reader, statement, &row, false, row.d));
        TRY(reader_want(reader, ","));
        TRY(coordinates(reader, statement, dimensions, numbers, &row.s[SIMT_BASE]));
        memcpy(row.s, numbers, (size_t)dimensions * sizeof *numbers);
        return reader_emit(reader, &row);
    }
    statement->count--; /* .trap */
    TRY(reader_access(reader, statement, &row));
    row.space = SPACE_GLOBAL;
    row.run = lanes_surface;
    row.mode = (uint8_t)dimensions;
    row.stores = store;
    if (!store) {
        TRY(reader_elements(reader, statement, &row, false, row.d));
        TRY(reader_want(reader, ","));
    }
    TRY(coordinates(reader, statement, dimensions, numbers, &row.s[SIMT_BASE]));
    if (store) {
        TRY(reader_want(reader, ","));
        TRY(reader_elements(reader, statement, &row, true, row.s));
    }
    TRY(pass(reader, statement, true, numbers, dimensions, 0, false));
    return reader_emit(reader, &row);
}
