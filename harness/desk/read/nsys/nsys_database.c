/* A scan of a table is one query: an aggregate function gets all of its rows, which takes half of
 * the time of fetching them one by one. SQLite walks the table's tree once, without an index, in
 * the order of the rows' numbers. Columns that a version of the export lacks are NULL in the query.
 *
 * SQLite gets at the file through functions of this one. Its own follow links by themselves and so
 * cannot open standard input, and would look for other files beside the database. */
#include "harness/desk/read/nsys/nsys_database.h"

#include "harness/base/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if SQLITE_VERSION_NUMBER < 3031000
#error "SQLite 3.31 or newer is needed: older ones run functions that the file names"
#endif

/* SQLite calls back after so many of its instructions. A row takes 4 and 1 per column, and has 6
 * bytes at least: the bound is out of reach of every table that is a tree. */
enum { WORK_PIECE = 1000, PIECES_LEAST = 1000, BYTES_PER_PIECE = 64 };

struct database {
    sqlite3 *sql;
    int64_t bytes;
    int64_t pieces; /* of work, in the query under way */
    bool scans;     /* it reads a table; a schema takes PIECES_LEAST at most */

    /* The scan under way: */
    database_visit *visit;
    void *context;
    int64_t row; /* the number of the latest; -1: there was none */
    enum status status;
};

bool database_begins(const char *bytes, size_t count)
{
    static const char magic[16] = "SQLite format 3";

    return count >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* --- The file --- */

/* "file:" and the path, in which SQLite reads %XX as a byte. An immutable file is not locked, and
 * SQLite looks for no other file beside it. */
static void write_uri(char *uri, size_t size, const char *path)
{
    size_t length = (size_t)snprintf(uri, size, "file:");

    for (; *path != '\0' && length < size; path++)
        length +=
            (size_t)snprintf(uri + length, size - length,
                             strchr("%?#", *path) != NULL ? "%%%02x" : "%c", (unsigned char)*path);
    if (length < size)
        snprintf(uri + length, size - length, "?immutable=1");
}

/* Byte `at` of the file of that name and ending; 0: there is none. */
static int byte_of(const char *path, const char *ending, off_t at)
{
    unsigned char byte = 0;
    char name[PATH_MAX];
    int file = snprintf(name, sizeof name, "%s%s", path, ending) < (int)sizeof name
                   ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                   : -1;

    if (file < 0)
        return 0;
    if (pread(file, &byte, 1, at) != 1)
        byte = 0;
    close(file);
    return byte;
}

/* Changes in a log or a journal belong to the database, but SQLite would have to write to apply
 * them. A journal that is no longer needed is empty or begins with zeros. */
static enum status check_beside(const char *path)
{
    enum { VERSION_AT = 19, WAL_VERSION = 2 };
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;

    if (byte_of(path, "", VERSION_AT) == WAL_VERSION && byte_of(path, "-wal", 0) != 0)
        FAIL(STATUS_BAD_INPUT,
             "%s-wal stands beside %s: it has changes that are not in the database yet. Close the "
             "program that has it open, or run: sqlite3 %s \"PRAGMA journal_mode=DELETE\"",
             name, name, path);
    if (byte_of(path, "-journal", 0) != 0)
        FAIL(STATUS_BAD_INPUT,
             "%s-journal stands beside %s: the database is being written, or was not finished. "
             "Export it again",
             name, name);

    return STATUS_OK;
}

/* --- Opening --- */

static enum status failed(const struct database *database, int code)
{
    const char *reason =
        database->sql != NULL ? sqlite3_errmsg(database->sql) : sqlite3_errstr(code);

    switch (code & 0xff) {
    case SQLITE_NOMEM:
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for a database");
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        FAIL(STATUS_IO, "the database cannot be read: %s", reason);
    case SQLITE_INTERRUPT:
        FAIL(STATUS_BAD_INPUT, "the database is damaged: reading it would not end");
    default:
        FAIL(STATUS_BAD_INPUT, "the database is damaged or cut: %s", reason);
    }
}

static int count_piece(void *context)
{
    struct database *database = context;

    return ++database->pieces >
           PIECES_LEAST + (database->scans ? database->bytes / BYTES_PER_PIECE : 0);
}

static enum status take_row(struct database *database, int64_t number, sqlite3_value **values)
{
    if (database->row != -1 && number <= database->row)
        FAIL(STATUS_BAD_INPUT,
             "the database is damaged: rows are out of order, or two places point to them");
    database->row = number;
    return database->visit(database->context, values);
}

static void on_row(sqlite3_context *call, int count, sqlite3_value **values)
{
    struct database *database = sqlite3_user_data(call);

    database->status = take_row(database, sqlite3_value_int64(values[count - 1]), values);
    if (database->status != STATUS_OK)
        sqlite3_result_error_code(call, SQLITE_ABORT);
}

static void on_end(sqlite3_context *call)
{
    (void)call;
}

/* SQLite reads the rest of a file that is cut, or of a damaged schema, if the schema may be
 * written, which it cannot be in a file that is opened read only. */
static int set_up(struct database *database)
{
    enum { SQL_BYTES = 1 << 17, FLAGS = SQLITE_UTF8 | SQLITE_DIRECTONLY };
    sqlite3 *sql = database->sql;

    sqlite3_db_config(sql, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
    sqlite3_db_config(sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(sql, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(sql, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(sql, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_drop_modules(sql, NULL);
    sqlite3_limit(sql, SQLITE_LIMIT_LENGTH, DATABASE_VALUE_BYTES);
    sqlite3_limit(sql, SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES);
    sqlite3_limit(sql, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_progress_handler(sql, WORK_PIECE, count_piece, database);
    return sqlite3_create_function(sql, "visit", -1, FLAGS, database, NULL, on_row, on_end);
}

enum status database_open(struct database **opened, const char *path)
{
    enum { FLAGS = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX };
    enum status status = STATUS_OK;
    struct database *database;
    struct stat about;
    char uri[3 * PATH_MAX];
    int code;

    *opened = NULL;
    TRY(rows_make(&database, 1));
    if (stat(path, &about) != 0)
        FAIL_OUT(STATUS_IO, "cannot open %s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        FAIL_OUT(STATUS_BAD_INPUT,
                 "%s is no regular file, and a database is not read in its order: give a file",
                 path);
    database->bytes = about.st_size;
    TRY_OUT(check_beside(path));
    write_uri(uri, sizeof uri, path);
    code = sqlite3_open_v2(uri, &database->sql, FLAGS, NULL);
    if (code == SQLITE_OK)
        code = set_up(database);
    if (code != SQLITE_OK)
        TRY_OUT(failed(database, code));
    if (sqlite3_exec(database->sql, "SELECT 1 FROM sqlite_master", NULL, NULL, NULL) ==
        SQLITE_NOTADB)
        FAIL_OUT(STATUS_BAD_INPUT, "%s is no database of SQLite, or is compressed: unpack it",
                 path);
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
    sqlite3_close(database->sql);
    free(database);
}

int64_t database_bytes(const struct database *database)
{
    return database->bytes;
}

/* --- Queries --- */

/* `text` is released here; NULL: there was no memory for it. */
static enum status prepare_query(struct database *database, char *text, sqlite3_stmt **query)
{
    int code = text != NULL ? SQLITE_OK : SQLITE_NOMEM;

    database->pieces = 0;
    *query = NULL;
    if (text != NULL)
        code = sqlite3_prepare_v2(database->sql, text, -1, query, NULL);
    sqlite3_free(text);
    return code == SQLITE_OK ? STATUS_OK : failed(database, code);
}

/* Whether there is a row more. */
static enum status next_row(struct database *database, sqlite3_stmt *query, bool *more)
{
    int code = sqlite3_step(query);

    *more = code == SQLITE_ROW;
    return *more || code == SQLITE_DONE ? STATUS_OK : failed(database, code);
}

enum status database_has(struct database *database, const char *pattern, bool *has)
{
    static const char text[] = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name GLOB %Q";
    enum status status = STATUS_OK;
    sqlite3_stmt *query = NULL;

    TRY_OUT(prepare_query(database, sqlite3_mprintf(text, pattern), &query));
    TRY_OUT(next_row(database, query, has));

out:
    sqlite3_finalize(query);
    return status;
}

/* A bit for each of `columns` that the table stores: a generated one could compute for ever. */
static enum status find_columns(struct database *database, const char *table,
                                const char *const *columns, int count, uint64_t *stored)
{
    enum { NAME = 1 };
    enum status status = STATUS_OK;
    sqlite3_stmt *query = NULL;
    bool more;

    *stored = 0;
    TRY_OUT(prepare_query(database, sqlite3_mprintf("PRAGMA table_info(\"%w\")", table), &query));
    for (;;) {
        TRY_OUT(next_row(database, query, &more));
        if (!more)
            break;
        for (int i = 0; i < count; i++)
            if (sqlite3_stricmp((const char *)sqlite3_column_text(query, NAME), columns[i]) == 0)
                *stored |= UINT64_C(1) << i;
    }

out:
    sqlite3_finalize(query);
    return status;
}

static enum status scan_table(struct database *database, const char *table,
                              const char *const *columns, int count)
{
    enum status status = STATUS_OK;
    sqlite3_stmt *query = NULL;
    sqlite3_str *text;
    uint64_t stored;
    int code;

    TRY(find_columns(database, table, columns, count, &stored));
    text = sqlite3_str_new(database->sql);
    sqlite3_str_appendall(text, "SELECT visit(");
    for (int i = 0; i < count; i++)
        sqlite3_str_appendf(text, (stored >> i & 1) != 0 ? "\"%w\", " : "NULL, ", columns[i]);
    sqlite3_str_appendf(text, "rowid) FROM \"%w\" NOT INDEXED", table);
    TRY_OUT(prepare_query(database, sqlite3_str_finish(text), &query));
    database->scans = true;
    code = sqlite3_step(query);
    database->scans = false;
    TRY_OUT(database->status);
    if (code != SQLITE_ROW)
        TRY_OUT(failed(database, code));

out:
    sqlite3_finalize(query);
    return status;
}

enum status database_scan(struct database *database, const char *table, const char *const *columns,
                          int count, database_visit *visit, void *context)
{
    enum status status = STATUS_OK;
    bool has;

    database->visit = visit;
    database->context = context;
    database->row = -1;
    database->status = STATUS_OK;
    TRY_OUT(database_has(database, table, &has));
    if (has)
        TRY_OUT(scan_table(database, table, columns, count));

out:
    if (status != STATUS_OK)
        status_context("table %s", table);
    return status;
}

/* --- Values --- */

int64_t database_row(const struct database *database)
{
    return database->row;
}

int64_t database_integer(sqlite3_value *value, int64_t otherwise)
{
    const double most = 9e18;
    double real;

    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return sqlite3_value_int64(value);
    case SQLITE_FLOAT:
        real = sqlite3_value_double(value);
        return real > -most && real < most ? (int64_t)real : otherwise;
    default:
        return otherwise;
    }
}

const char *database_text(sqlite3_value *value, size_t *length)
{
    const char *text = NULL;

    if (sqlite3_value_type(value) == SQLITE_TEXT)
        text = (const char *)sqlite3_value_text(value);
    if (length != NULL)
        *length = text != NULL ? (size_t)sqlite3_value_bytes(value) : 0;
    return text;
}
