/* A scan goes down a table's tree with a page per level, and through the pages that hold the rest
 * of long rows. */
#include "harness/desk/read/sqlite/database.h"

#include "harness/base/rows.h"
#include "harness/desk/read/sqlite/table_columns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 100,
    PAGE_LEAST = 512,
    PAGE_MOST = 65536,
    USABLE_LEAST = 480,
    LEVELS = 20, /* as in SQLite */
    TABLES_MOST = 10000,
    INNER_PAGE = 5,
    LEAF_PAGE = 13,
    WAL_VERSION = 2,
    UTF_8 = 1,
};

/* More are no export's, and the marks of visited pages stay small. */
#define PAGES_MOST (INT64_C(1) << 28)

struct table {
    char *name, *sql;
    int64_t root;
};

/* A page on the way down. */
struct level {
    unsigned char *bytes;
    int64_t number;
    int cell, cells;
};

struct database {
    int file;
    const char *path;
    int64_t bytes, page_count;
    int page, usable;
    struct table *tables;
    int64_t table_count, table_room;

    /* The scan under way: */
    unsigned char *visited; /* a bit per page */
    struct level levels[LEVELS];
    unsigned char *long_row; /* [DATABASE_ROW_BYTES] */
    unsigned char *overflow; /* a page */
};

/* A scan: what it is asked for. */
struct scan {
    const char *const *columns;
    int count;
    database_visit *visit;
    void *context;
    int *wanted; /* by column of the table: the number in `columns`; -1: not wanted */
    int64_t wanted_room;
    int wanted_count; /* columns up to the last wanted one */
    int row_number;   /* the number in `columns` of the INTEGER PRIMARY KEY; -1: not wanted */
    enum status status;
    struct database_value values[DATABASE_COLUMNS];
};

bool database_begins(const char *bytes, size_t count)
{
    static const char magic[16] = "SQLite format 3";

    return count >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

static int64_t big_endian(const unsigned char *bytes, int count)
{
    uint64_t value = (bytes[0] & 0x80) != 0 ? UINT64_MAX : 0;

    for (int i = 0; i < count; i++) value = value << 8 | bytes[i];
    return (int64_t)value;
}

static int two(const unsigned char *bytes)
{
    return bytes[0] << 8 | bytes[1];
}

static int64_t four(const unsigned char *bytes)
{
    return (int64_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

/* Behind a number of 1 to 9 bytes; NULL: it is cut. */
static const unsigned char *varint(const unsigned char *at, const unsigned char *end,
                                   int64_t *number)
{
    uint64_t value = 0;

    for (int i = 0; i < 8 && at < end; i++, at++) {
        value = value << 7 | (*at & 0x7f);
        if ((*at & 0x80) == 0) {
            *number = (int64_t)value;
            return at + 1;
        }
    }
    if (at == end)
        return NULL;
    *number = (int64_t)(value << 8 | *at);
    return at + 1;
}

/* --- Pages --- */

static enum status damaged(const struct database *database, int64_t page, const char *reason)
{
    FAIL(STATUS_BAD_INPUT, "the database is damaged at byte %lld: %s",
         (long long)((page - 1) * database->page), reason);
}

/* A page that was not read in this scan. */
static enum status read_page(struct database *database, int64_t page, unsigned char *bytes)
{
    unsigned char *mark;
    ssize_t got;

    if (page < 1 || page > database->page_count)
        FAIL(STATUS_BAD_INPUT,
             "the database is damaged or cut: it points to page %lld, and there are %lld",
             (long long)page, (long long)database->page_count);
    mark = &database->visited[(page - 1) / 8];
    if ((*mark >> (page - 1) % 8 & 1) != 0)
        return damaged(database, page, "two places point to this page");
    *mark |= (unsigned char)(1 << (page - 1) % 8);
    do {
        got = pread(database->file, bytes, (size_t)database->page,
                    (off_t)((page - 1) * database->page));
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        FAIL(STATUS_IO, "%s cannot be read: %s", database->path, strerror(errno));
    if (got < database->page)
        return damaged(database, page, "the file ends in this page");

    return STATUS_OK;
}

/* --- Rows --- */

/* Fetches a row that goes on in other pages: `local` bytes are at `at`, then the number of the next
 * page. */
static enum status fetch_long(struct database *database, int64_t page, const unsigned char *at,
                              int64_t local, int64_t size)
{
    int64_t have = local, next = four(at + local);

    memcpy(database->long_row, at, (size_t)local);
    while (have < size) {
        int64_t piece = database->usable - 4;
        if (piece > size - have)
            piece = size - have;
        if (next == 0)
            return damaged(database, page, "a long row ends too early");
        TRY(read_page(database, next, database->overflow));
        memcpy(database->long_row + have, database->overflow + 4, (size_t)piece);
        have += piece;
        next = four(database->overflow);
    }
    return STATUS_OK;
}

/* How many bytes of a row of `size` are in its own page. */
static int64_t local_bytes(const struct database *database, int64_t size)
{
    int64_t most = database->usable - 35, least = (database->usable - 12) * 32 / 255 - 23, local;

    if (size <= most)
        return size;
    local = least + (size - least) % (database->usable - 4);
    return local <= most ? local : least;
}

static int64_t content_bytes(int64_t type)
{
    static const int64_t sizes[] = { 0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0 };

    return type < 12 ? sizes[type] : (type - 12) / 2;
}

static void take_value(struct database_value *value, int64_t type, const unsigned char *at)
{
    *value = (struct database_value){ .type = DATABASE_NULL };
    if (type == 0 || type == 10 || type == 11)
        return;
    if (type >= 12) {
        value->type = type % 2 == 1 ? DATABASE_TEXT : DATABASE_BYTES;
        value->bytes = (const char *)at;
        value->length = (size_t)content_bytes(type);
    } else if (type == 7) {
        uint64_t bits = (uint64_t)big_endian(at, 8);
        value->type = DATABASE_REAL;
        memcpy(&value->real, &bits, sizeof bits);
    } else {
        value->type = DATABASE_INTEGER;
        value->integer = type == 8 ? 0 : type == 9 ? 1 : big_endian(at, (int)content_bytes(type));
    }
}

/* False: the row is no row. If the row was cut to DATABASE_ROW_BYTES, values beyond are cut or
 * absent. */
static bool take_values(struct scan *scan, const unsigned char *row, int64_t size, bool cut)
{
    const unsigned char *end = row + size, *head_end, *at, *content;
    int64_t head;

    for (int i = 0; i < scan->count; i++) scan->values[i].type = DATABASE_NULL;
    at = varint(row, end, &head);
    if (at == NULL || head < at - row || head > size)
        return false;
    head_end = content = row + head;
    for (int column = 0; column < scan->wanted_count && at < head_end; column++) {
        int64_t type, bytes;
        at = varint(at, head_end, &type);
        if (at == NULL || type < 0)
            return false;
        bytes = content_bytes(type);
        if (bytes > end - content) {
            if (!cut)
                return false;
            if (type < 12)
                return true;
            bytes = end - content;
            type = 12 + 2 * bytes + type % 2;
        }
        if (scan->wanted[column] >= 0)
            take_value(&scan->values[scan->wanted[column]], type, content);
        content += bytes;
    }
    return true;
}

static enum status take_row(struct database *database, struct scan *scan, const struct level *leaf,
                            const unsigned char *cell)
{
    const unsigned char *page_end = leaf->bytes + database->usable, *row;
    int64_t size, number, local, offset;
    bool cut = false;

    row = varint(cell, page_end, &size);
    row = row != NULL ? varint(row, page_end, &number) : NULL;
    if (row == NULL || size < 0)
        return damaged(database, leaf->number, "a row in this page is cut");
    local = local_bytes(database, size);
    if (local + (local < size ? 4 : 0) > page_end - row)
        return damaged(database, leaf->number, "a row is longer than this page");
    if (local < size) {
        cut = size > DATABASE_ROW_BYTES;
        size = cut ? DATABASE_ROW_BYTES : size;
        TRY(fetch_long(database, leaf->number, row, local, size));
        row = database->long_row;
    }
    if (!take_values(scan, row, size, cut))
        return damaged(database, leaf->number, "a row in this page is none");
    offset = (leaf->number - 1) * database->page + (cell - leaf->bytes);
    if (scan->row_number >= 0)
        scan->values[scan->row_number] =
            (struct database_value){ .type = DATABASE_INTEGER, .integer = number };
    return scan->visit(scan->context, &(struct database_row){ number, offset, scan->values });
}

/* --- Trees --- */

static int head_of(const struct level *level)
{
    return level->number == 1 ? HEADER_BYTES : 0;
}

static bool is_leaf(const struct level *level)
{
    return level->bytes[head_of(level)] == LEAF_PAGE;
}

static enum status enter_page(struct database *database, struct level *level, int64_t page)
{
    int head, type;

    if (level->bytes == NULL)
        TRY(rows_make(&level->bytes, database->page));
    TRY(read_page(database, page, level->bytes));
    level->number = page;
    level->cell = 0;
    head = head_of(level);
    type = level->bytes[head];
    level->cells = two(level->bytes + head + 3);
    if (type != INNER_PAGE && type != LEAF_PAGE)
        return damaged(database, page, "this page is of no table");
    if (head + (type == LEAF_PAGE ? 8 : 12) + 2 * level->cells > database->usable)
        return damaged(database, page, "this page has too many rows");

    return STATUS_OK;
}

/* Cell `number` of a page; NULL: it is beyond. */
static const unsigned char *cell_of(const struct database *database, const struct level *level,
                                    int number)
{
    int head = head_of(level) + (is_leaf(level) ? 8 : 12);
    int at = two(level->bytes + head + 2 * number);

    return at >= head && at + 4 <= database->usable ? level->bytes + at : NULL;
}

static enum status take_leaf(struct database *database, struct scan *scan, struct level *leaf)
{
    for (; leaf->cell < leaf->cells; leaf->cell++) {
        const unsigned char *cell = cell_of(database, leaf, leaf->cell);
        if (cell == NULL)
            return damaged(database, leaf->number, "a row is beyond this page");
        TRY(take_row(database, scan, leaf, cell));
    }
    return STATUS_OK;
}

static enum status walk(struct database *database, struct scan *scan, int64_t root)
{
    int depth = 0;

    memset(database->visited, 0, (size_t)(database->page_count / 8 + 1));
    TRY(enter_page(database, &database->levels[0], root));
    while (depth >= 0) {
        struct level *level = &database->levels[depth];
        const unsigned char *cell;
        int64_t child;
        if (is_leaf(level)) {
            TRY(take_leaf(database, scan, level));
            depth--;
            continue;
        }
        if (level->cell > level->cells) {
            depth--;
            continue;
        }
        if (level->cell < level->cells) {
            cell = cell_of(database, level, level->cell);
            if (cell == NULL)
                return damaged(database, level->number, "a branch is beyond this page");
            child = four(cell);
        } else {
            child = four(level->bytes + head_of(level) + 8);
        }
        level->cell++;
        if (++depth == LEVELS)
            return damaged(database, level->number, "its tree is too deep");
        TRY(enter_page(database, &database->levels[depth], child));
    }
    return STATUS_OK;
}

/* --- Tables --- */

static void want(void *context, int number, const struct table_column *column)
{
    struct scan *scan = context;

    if (scan->status == STATUS_OK)
        scan->status = rows_grow(&scan->wanted, number + 1, &scan->wanted_room);
    if (scan->status != STATUS_OK)
        return;
    scan->wanted[number] = -1;
    for (int i = 0; i < scan->count && scan->wanted[number] < 0; i++)
        if (table_column_is(column, scan->columns[i])) {
            scan->wanted[number] = i;
            scan->wanted_count = number + 1;
            if (column->is_row_number)
                scan->row_number = i;
        }
}

static const struct table *find_table(const struct database *database, const char *name)
{
    for (int64_t i = 0; i < database->table_count; i++)
        if (strcasecmp(database->tables[i].name, name) == 0)
            return &database->tables[i];
    return NULL;
}

bool database_has(const struct database *database, const char *table)
{
    return find_table(database, table) != NULL;
}

const char *database_table(const struct database *database, int64_t number)
{
    return number < database->table_count ? database->tables[number].name : NULL;
}

int64_t database_bytes(const struct database *database)
{
    return database->bytes;
}

enum status database_scan(struct database *database, const char *table, const char *const *columns,
                          int count, database_visit *visit, void *context)
{
    enum status status = STATUS_OK;
    const struct table *found = find_table(database, table);
    struct scan scan = { .columns = columns,
                         .count = count < DATABASE_COLUMNS ? count : DATABASE_COLUMNS,
                         .visit = visit,
                         .context = context,
                         .row_number = -1 };

    if (found == NULL)
        return STATUS_OK;
    table_columns(found->sql, strlen(found->sql), want, &scan);
    TRY_OUT(scan.status);
    TRY_OUT(walk(database, &scan, found->root));

out:
    if (status != STATUS_OK)
        status_context("table %s", table);
    free(scan.wanted);
    return status;
}

int64_t database_integer(const struct database_value *value, int64_t otherwise)
{
    const double most = 9e18;

    if (value->type == DATABASE_INTEGER)
        return value->integer;
    return value->type == DATABASE_REAL && value->real > -most && value->real < most
               ? (int64_t)value->real
               : otherwise;
}

bool database_text_is(const struct database_value *value, const char *text)
{
    return value->type == DATABASE_TEXT && value->length == strlen(text) &&
           memcmp(value->bytes, text, value->length) == 0;
}

/* --- The file --- */

enum { MASTER_TYPE, MASTER_NAME, MASTER_ROOT, MASTER_SQL, MASTER_COUNT };

/* A text with its end, which a value has not. NULL: no memory. */
static char *text_copied(const struct database_value *value)
{
    char *text = malloc(value->length + 1);

    if (text != NULL) {
        memcpy(text, value->bytes, value->length);
        text[value->length] = '\0';
    }
    return text;
}

/* Views and virtual tables have no page. */
static enum status add_table(void *context, const struct database_row *row)
{
    struct database *database = context;
    const struct database_value *values = row->values, *name = &values[MASTER_NAME],
                                *sql = &values[MASTER_SQL];
    int64_t root = database_integer(&values[MASTER_ROOT], 0);
    struct table *table;

    if (!database_text_is(&values[MASTER_TYPE], "table") || name->type != DATABASE_TEXT ||
        sql->type != DATABASE_TEXT || root <= 0)
        return STATUS_OK;
    if (database->table_count == TABLES_MOST)
        FAIL(STATUS_BAD_INPUT, "the database has more than %d tables", TABLES_MOST);
    TRY(rows_grow(&database->tables, database->table_count + 1, &database->table_room));
    table = &database->tables[database->table_count];
    *table = (struct table){ text_copied(name), text_copied(sql), root };
    database->table_count++;
    if (table->name == NULL || table->sql == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the tables of a database");

    return STATUS_OK;
}

static enum status read_tables(struct database *database)
{
    static const char *const columns[MASTER_COUNT] = { "type", "name", "rootpage", "sql" };
    int wanted[] = { MASTER_TYPE, MASTER_NAME, -1, MASTER_ROOT, MASTER_SQL };
    struct scan scan = { .columns = columns,
                         .count = MASTER_COUNT,
                         .visit = add_table,
                         .context = database,
                         .wanted = wanted,
                         .wanted_count = (int)ARRAY_SIZE(wanted),
                         .row_number = -1 };

    return walk(database, &scan, 1);
}

/* Whether the file of that name and ending holds something: a journal that is done with is empty,
 * or begins with zeros. */
static bool has_beside(const char *path, const char *ending)
{
    char name[4096], first = 0;
    int file = snprintf(name, sizeof name, "%s%s", path, ending) < (int)sizeof name
                   ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                   : -1;

    if (file < 0)
        return false;
    if (read(file, &first, 1) != 1)
        first = 0;
    close(file);
    return first != 0;
}

static enum status take_header(struct database *database, const char *path)
{
    unsigned char header[HEADER_BYTES];
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;

    if (pread(database->file, header, sizeof header, 0) != (ssize_t)sizeof header ||
        !database_begins((const char *)header, sizeof header))
        FAIL(STATUS_BAD_INPUT, "%s is no database of SQLite, or is compressed: unpack it", path);
    database->page = two(header + 16) == 1 ? PAGE_MOST : two(header + 16);
    database->usable = database->page - header[20];
    if (database->page < PAGE_LEAST || (database->page & (database->page - 1)) != 0 ||
        database->usable < USABLE_LEAST)
        FAIL(STATUS_BAD_INPUT, "the database %s is damaged: it has pages of %d bytes", path,
             database->page);
    if (four(header + 56) > UTF_8)
        FAIL(STATUS_BAD_INPUT, "the database %s is in UTF-16, and only UTF-8 is read", path);
    if (header[19] == WAL_VERSION && has_beside(path, "-wal"))
        FAIL(STATUS_BAD_INPUT,
             "%s-wal stands beside %s: it has changes that are not in the database yet. Close the "
             "program that has it open, or run: sqlite3 %s \"PRAGMA journal_mode=DELETE\"",
             name, name, path);
    if (has_beside(path, "-journal"))
        FAIL(STATUS_BAD_INPUT,
             "%s-journal stands beside %s: the database is being written, or was not finished. "
             "Export it again",
             name, name);
    database->page_count = database->bytes / database->page;
    if (database->page_count > PAGES_MOST)
        FAIL(STATUS_BAD_INPUT, "the database %s has more than %lld pages", path,
             (long long)PAGES_MOST);

    return STATUS_OK;
}

enum status database_open(struct database **opened, const char *path)
{
    enum status status = STATUS_OK;
    struct database *database;
    struct stat about;

    *opened = NULL;
    TRY(rows_make(&database, 1));
    database->path = path;
    database->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (database->file < 0 || fstat(database->file, &about) != 0)
        FAIL_OUT(STATUS_IO, "cannot open %s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        FAIL_OUT(STATUS_BAD_INPUT,
                 "%s is no regular file, and a database is not read in its order: give a file",
                 path);
    database->bytes = about.st_size;
    TRY_OUT(take_header(database, path));
    TRY_OUT(rows_make(&database->visited, database->page_count / 8 + 1));
    TRY_OUT(rows_make(&database->long_row, DATABASE_ROW_BYTES));
    TRY_OUT(rows_make(&database->overflow, database->page));
    TRY_OUT(read_tables(database));
    *opened = database;
    database = NULL;

out:
    database_close(database);
    return status;
}

void database_close(struct database *database)
{
    if (database == NULL)
        return;
    if (database->file >= 0)
        close(database->file);
    for (int64_t i = 0; i < database->table_count; i++) {
        free(database->tables[i].name);
        free(database->tables[i].sql);
    }
    free(database->tables);
    for (int i = 0; i < LEVELS; i++) free(database->levels[i].bytes);
    free(database->visited);
    free(database->long_row);
    free(database->overflow);
    free(database);
}
