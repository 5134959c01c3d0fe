/* The folder of a recording: made ready before the program runs, and summed up after it.
 *
 * The processes of `record` that srun or mpirun starts for the ranks of one launch share a folder:
 * the first makes it ready, and the last to end sums up. Two locks in record.lock tell who is
 * there. Another launch is refused meanwhile.
 *
 * An older recording in the folder is removed first. Whoever may write to the folder could plant
 * links in it, so files are removed by descriptors of this folder only, which follow no link, and
 * only traces that the recording itself names: in record.json, or in the notes of processes if
 * `record` was killed before it wrote that. */
#include "harness/cli/traces/record_folder.h"

#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/system/files.h"
#include "harness/base/words/text.h"
#include "harness/desk/files/record_file.h"
#include "harness/text/json.h"
#include "harness/text/result_traces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char NOTES[] = "notes";

enum { SCHEMA = 1 };

/* --- Folders by descriptor --- */

static int is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int is_trace(const struct dirent *entry)
{
    return ends_in(entry->d_name, ".pt.trace.json.gz");
}

static int is_note(const struct dirent *entry)
{
    return ends_in(entry->d_name, ".json");
}

static int is_note_or_half(const struct dirent *entry)
{
    return is_note(entry) || ends_in(entry->d_name, ".json.new");
}

/* -1 and errno: ENOENT if there is none, ENOTDIR for a link. */
static int open_folder(int above, const char *name)
{
    return openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void close_folder(int folder)
{
    if (folder >= 0)
        close(folder);
}

/* scandir() for an open folder; 0 entries if `folder` is -1. `versionsort`, so that rank 2 comes
 * before rank 10. */
static int list_folder(int folder, struct dirent ***entries,
                       int (*wanted)(const struct dirent *entry))
{
    *entries = NULL;
    return folder < 0 ? 0 : scandirat(folder, ".", entries, wanted, versionsort);
}

static void free_entries(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
}

/* --- Who records here --- */

static const char LOCK[] = "record.lock";

/* Bytes of record.lock. Whoever begins or ends a recording holds ENTRY; all that record share
 * PRESENCE. These locks belong to the open file, not to the process, and work on NFS (fcntl(2),
 * "Open file description locks"). */
enum { ENTRY, PRESENCE };

static bool lock_byte(int lock, int byte, short type, bool wait)
{
    struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
    int result;

    do result = fcntl(lock, wait ? F_OFD_SETLKW : F_OFD_SETLK, &range);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

/* The launch that this process is a rank of, as launchers say it. */
struct launch {
    char id[256]; /* "": the launcher gives none */
    int rank;     /* -1: this process is no rank */
};

static struct launch launch_here(void)
{
    static const char *const ranks[] = { "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
                                         "PMI_RANK" };
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID"),
               *names = getenv("PMIX_NAMESPACE");
    struct launch launch = { .rank = -1 };

    for (size_t i = 0; i < ARRAY_SIZE(ranks) && launch.rank < 0; i++) {
        const char *text = getenv(ranks[i]);
        if (text != NULL && text[0] >= '0' && text[0] <= '9')
            launch.rank = atoi(text);
    }
    if (job != NULL && step != NULL)
        snprintf(launch.id, sizeof launch.id, "slurm %s.%s", job, step);
    else if (names != NULL)
        snprintf(launch.id, sizeof launch.id, "%s", names);
    return launch;
}

/* Whether a recording that states `launch` is of the same launch, and lacks this rank. Without an
 * id only those that record at the same time are. */
static bool joins(const struct launch *ours, const cJSON *launch, bool others_record)
{
    const cJSON *rank;

    if (ours->rank < 0 || launch == NULL || strcmp(json_text_of(launch, "id"), ours->id) != 0 ||
        (ours->id[0] == '\0' && !others_record))
        return false;
    cJSON_ArrayForEach(rank, cJSON_GetObjectItemCaseSensitive(launch, "ranks"))
    {
        if (cJSON_GetNumberValue(rank) == ours->rank)
            return false;
    }
    return true;
}

/* --- An older recording --- */

struct recording {
    const char *path;
    int folder, stacks, notes; /* descriptors; -1: not there */
    cJSON *documents;          /* an array: record.json, and notes that are left */
    cJSON *record;             /* the first of them */
};

static enum status open_recording(struct recording *recording)
{
    const char *const below[] = { RECORD_STACKS, NOTES };
    int *const descriptors[] = { &recording->stacks, &recording->notes };

    recording->folder = open_folder(AT_FDCWD, recording->path);
    if (recording->folder < 0)
        FAIL(STATUS_IO,
             "the folder %s cannot be opened: %s; name a folder that is no link with --traces",
             recording->path, strerror(errno));
    for (int i = 0; i < 2; i++) {
        *descriptors[i] = open_folder(recording->folder, below[i]);
        if (*descriptors[i] < 0 && errno != ENOENT)
            FAIL(STATUS_BAD_USAGE,
                 "%s/%s is no folder of a recording: %s; name another folder with --traces",
                 recording->path, below[i], strerror(errno));
    }
    return STATUS_OK;
}

/* A file that is no JSON names nothing. */
static enum status keep_document(cJSON *documents, int folder, const char *name)
{
    cJSON *document = NULL;

    if (!result_json_read(&document, folder, name))
        FAIL(STATUS_IO, "%s cannot be read: %s", name, strerror(errno));
    if (document != NULL && !cJSON_AddItemToArray(documents, document)) {
        cJSON_Delete(document);
        FAIL(STATUS_OUT_OF_MEMORY, "out of memory for the older recording");
    }
    return STATUS_OK;
}

/* NULL documents: the folder is empty but for our lock. A folder that holds anything else is
 * refused: nothing of a user's is ever taken for an older recording. */
static enum status read_recording(struct recording *recording)
{
    enum status status = STATUS_OK;
    struct dirent **entries;
    int count;

    if (faccessat(recording->folder, RECORD_FILE, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
        count = list_folder(recording->folder, &entries, is_entry);
        for (int i = 0; i < count && status == STATUS_OK; i++)
            if (strcmp(entries[i]->d_name, LOCK) != 0)
                status = status_fail(STATUS_BAD_USAGE, __FILE__, __LINE__,
                                     "the folder %s holds other files than a recording: name "
                                     "another one with --traces",
                                     recording->path);
        free_entries(entries, count);
        return status;
    }
    recording->documents = cJSON_CreateArray();
    if (recording->documents == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "out of memory for the older recording");
    TRY(keep_document(recording->documents, recording->folder, RECORD_FILE));
    recording->record = recording->documents->child;
    count = list_folder(recording->notes, &entries, is_note);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = keep_document(recording->documents, recording->notes, entries[i]->d_name);
    free_entries(entries, count);
    return status;
}

static bool recording_names(const struct recording *recording, const char *trace)
{
    const cJSON *document, *process;

    cJSON_ArrayForEach(document, recording->documents)
    {
        if (record_file_names(document, trace)) /* a note is a process */
            return true;
        cJSON_ArrayForEach(process, cJSON_GetObjectItemCaseSensitive(document, "processes"))
        {
            if (record_file_names(process, trace))
                return true;
        }
    }
    return false;
}

/* Looks at the traces in `folder`, whose names in the recording begin with `below`, or removes
 * them. A trace that the recording does not name would be taken for one of the next: BAD_USAGE. */
static enum status go_through_traces(const struct recording *recording, int folder,
                                     const char *below, bool remove)
{
    enum status status = STATUS_OK;
    char name[NAME_MAX + sizeof RECORD_STACKS + 1];
    struct dirent **entries;
    int count = list_folder(folder, &entries, is_trace);

    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s%s", below, entries[i]->d_name);
        if (!recording_names(recording, name))
            FAIL_OUT(STATUS_BAD_USAGE,
                     "%s/%s is a trace of no recording of this folder: move it, or name another "
                     "folder with --traces",
                     recording->path, name);
        if (remove)
            unlinkat(folder, entries[i]->d_name, 0);
    }

out:
    free_entries(entries, count);
    return status;
}

static void remove_notes(int folder, int notes)
{
    struct dirent **entries;
    int count = list_folder(notes, &entries, is_note_or_half);

    for (int i = 0; i < count; i++) unlinkat(notes, entries[i]->d_name, 0);
    free_entries(entries, count);
    unlinkat(folder, NOTES, AT_REMOVEDIR);
}

/* --- The beginning --- */

static enum status write_record(const char *folder, const struct json *json, const cJSON *root)
{
    enum status status = STATUS_OK;
    char path[PATH_MAX], *text = NULL;

    TRY_OUT(json_print(json, root, &text));
    if (snprintf(path, sizeof path, "%s/%s", folder, RECORD_FILE) >= PATH_MAX)
        FAIL_OUT(STATUS_BAD_USAGE, "%.60s... is too long a path", folder);
    TRY_OUT(atomic_file_write(path, text, strlen(text)));

out:
    free(text);
    return status;
}

/* Marks the folder as a recording, if this one is cut off, and says who is in it. */
static enum status write_launch(const char *folder, cJSON *record, const struct launch *ours)
{
    struct json json = { .out_of_memory = false };
    cJSON *root = record != NULL ? record : json_object(&json, NULL, NULL);
    cJSON *launch = cJSON_GetObjectItemCaseSensitive(root, "launch");
    enum status status;

    if (launch == NULL && ours->rank >= 0) {
        launch = json_object(&json, root, "launch");
        json_text(&json, launch, "id", ours->id);
        json_array(&json, launch, "ranks");
    }
    if (launch != NULL)
        json_integer(&json, cJSON_GetObjectItemCaseSensitive(launch, "ranks"), NULL, ours->rank);
    status = write_record(folder, &json, root);
    if (record == NULL)
        cJSON_Delete(root);
    return status;
}

/* Joins the recording that is in the folder, or begins a new one. */
static enum status enter(struct recording *recording, bool others_record)
{
    struct launch ours = launch_here();
    cJSON *launch;

    TRY(read_recording(recording));
    launch = cJSON_GetObjectItemCaseSensitive(recording->record, "launch");
    if (joins(&ours, launch, others_record))
        return write_launch(recording->path, recording->record, &ours);
    if (others_record)
        FAIL(STATUS_BAD_USAGE,
             "another recording is under way in %s; wait for its end, or name another folder with "
             "--traces",
             recording->path);
    for (int remove = 0; remove < 2; remove++) { /* nothing goes before all was looked at */
        TRY(go_through_traces(recording, recording->folder, "", remove));
        TRY(go_through_traces(recording, recording->stacks, RECORD_STACKS "/", remove));
    }
    unlinkat(recording->folder, RECORD_STACKS, AT_REMOVEDIR);
    remove_notes(recording->folder, recording->notes);
    return write_launch(recording->path, NULL, &ours);
}

/* With ENTRY locked. Another process may have removed the file between the opening and the lock:
 * then a new one is opened. */
static enum status open_lock(const struct recording *recording, int *lock)
{
    for (;;) {
        *lock = own_file_open(recording->folder, LOCK, O_RDWR);
        if (*lock < 0)
            FAIL(STATUS_IO, "cannot write %s/%s: %s; %s", recording->path, LOCK, strerror(errno),
                 atomic_file_advice(errno));
        lock_byte(*lock, ENTRY, F_WRLCK, true);
        if (own_file_is_there(recording->folder, LOCK, *lock))
            return STATUS_OK;
        close(*lock);
    }
}

enum status record_folder_begin(const char *folder, int *lock)
{
    enum status status = STATUS_OK;
    struct recording recording = { .path = folder, .folder = -1, .stacks = -1, .notes = -1 };
    bool others_record;

    *lock = -1;
    TRY(atomic_file_create_folder(folder));
    TRY_OUT(open_recording(&recording));
    TRY_OUT(open_lock(&recording, lock));
    /* Not every file system has locks: there, nobody else is seen. */
    others_record =
        !lock_byte(*lock, PRESENCE, F_WRLCK, false) && (errno == EAGAIN || errno == EACCES);
    TRY_OUT(enter(&recording, others_record));
    lock_byte(*lock, PRESENCE, F_RDLCK, false);
    lock_byte(*lock, ENTRY, F_UNLCK, false);

out:
    if (status != STATUS_OK) {
        close_folder(*lock);
        *lock = -1;
    }
    cJSON_Delete(recording.documents);
    close_folder(recording.notes);
    close_folder(recording.stacks);
    close_folder(recording.folder);
    return status;
}

/* --- The notes --- */

/* 0 if it is no number, or one that no count can be: notes may be damaged. */
static int int_of(const cJSON *object, const char *name)
{
    double value = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, name));

    return value > -1e9 && value < 1e9 ? (int)value : 0;
}

static bool is_phase(const cJSON *note, const char *phase)
{
    return strcmp(json_text_of(note, "phase"), phase) == 0;
}

/* A process that imported PyTorch. Others are helpers: pip, a launcher, a compiler. */
static bool used_torch(const cJSON *note)
{
    return json_text_of(note, "torch")[0] != '\0';
}

/* It stepped, or something went wrong. Workers of a loader import PyTorch and do neither. */
static bool trained(const cJSON *note)
{
    return int_of(note, "optimizer_steps") > 0 || int_of(note, "fetches") > 0 ||
           int_of(note, "calls") > 0 || is_phase(note, "failed") || is_phase(note, "own profiler");
}

static int count_parts(const cJSON *note)
{
    return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(note, "parts"));
}

static bool is_ours(const cJSON *note)
{
    return int_of(note, "recorder") == (int)getpid();
}

/* Notes by name, which is the process. True: one is of the program that this process has
 * started. */
static bool take_notes(struct json *json, cJSON *processes, int notes)
{
    bool any_ours = false;
    struct dirent **entries;
    int count = list_folder(notes, &entries, is_note);

    for (int i = 0; i < count; i++) {
        cJSON *note = NULL;
        if (!result_json_read(&note, notes, entries[i]->d_name) || note == NULL)
            continue;
        any_ours |= is_ours(note);
        if (!used_torch(note)) {
            cJSON_Delete(note);
        } else if (!cJSON_AddItemToArray(processes, note)) {
            cJSON_Delete(note);
            json->out_of_memory = true;
        }
    }
    free_entries(entries, count);
    return any_ours;
}

/* --- Sentences --- */

/* False: all is there. */
static bool print_why(FILE *to, const cJSON *note, const struct recorded_program *program)
{
    const char *why = json_text_of(note, "why");

    if (is_phase(note, "done") || (is_phase(note, "timing") && count_parts(note) > 0))
        return false;
    fprintf(to, "chokepoint record: process %d: ", int_of(note, "pid"));
    if (why[0] != '\0') {
        fputs(why, to);
    } else {
        fputs("the process was ", to);
        if (WIFSIGNALED(program->wait_status))
            fprintf(to, "ended by signal %d (%s)", WTERMSIG(program->wait_status),
                    strsignal(WTERMSIG(program->wait_status)));
        else
            fprintf(to, "ended with exit code %d", WEXITSTATUS(program->wait_status));
        fprintf(to, " %s, without Python's usual end",
                is_phase(note, "recording") ? "during the recording" : "before the recording");
    }
    fputs("\n", to);
    return true;
}

/* `note`: of a process of the program that imported PyTorch, or NULL. */
static void print_nothing(FILE *to, const cJSON *note, const struct recorded_program *command,
                          bool any_note)
{
    fputs("chokepoint record: nothing was recorded: ", to);
    if (any_note && note == NULL)
        fputs("the program imported no PyTorch", to);
    else if (any_note)
        fputs(json_text_of(note, "why"), to);
    else
        fprintf(to,
                "%s ran without the recorder: it is no Python of 3.8 or later, or Python was "
                "started with -I, -E, -S or a new PYTHONPATH, or it ended at once",
                command->words[0]);
    fputs("\n", to);
}

/* --- The end --- */

/* Says why processes of this program have no trace. Those that other ranks' `record` started are
 * for these to tell. */
static void say(FILE *to, const cJSON *processes, const struct recorded_program *command,
                bool any_note)
{
    const cJSON *note, *first = NULL;
    bool said = false, any_trace = false;

    cJSON_ArrayForEach(note, processes)
    {
        if (!is_ours(note))
            continue;
        first = first != NULL ? first : note;
        any_trace |= count_parts(note) > 0;
        if (trained(note))
            said |= print_why(to, note, command);
    }
    if (!any_trace && !said)
        print_nothing(to, first, command, any_note);
}

/* The processes of a recording that this one has joined, which go on in the new record.json. */
static void keep_processes(struct json *json, cJSON *root, cJSON *processes, cJSON *older)
{
    cJSON *launch = cJSON_DetachItemFromObjectCaseSensitive(older, "launch"),
          *all = cJSON_GetObjectItemCaseSensitive(older, "processes"), *process;

    if (launch != NULL && !cJSON_AddItemToObject(root, "launch", launch)) {
        cJSON_Delete(launch);
        json->out_of_memory = true;
    }
    while ((process = cJSON_DetachItemFromArray(all, 0)) != NULL)
        cJSON_AddItemToArray(processes, process);
}

static int count_traces(const cJSON *processes)
{
    const cJSON *process;
    int traces = 0;

    cJSON_ArrayForEach(process, processes) traces += count_parts(process) > 0;
    return traces;
}

enum status record_folder_end(const char *folder, int lock, const struct recorded_program *command,
                              FILE *to, int *traces)
{
    enum status status = STATUS_OK;
    struct json json = { .out_of_memory = false };
    cJSON *root = json_object(&json, NULL, NULL), *processes, *older = NULL;
    int descriptor = open_folder(AT_FDCWD, folder), notes = open_folder(descriptor, NOTES);
    bool is_last, any_note;

    *traces = 0;
    /* From here to the end of the function no other recording can begin or end: each takes ENTRY
     * for that. */
    lock_byte(lock, ENTRY, F_WRLCK, true);
    is_last = lock_byte(lock, PRESENCE, F_WRLCK, false) || (errno != EAGAIN && errno != EACCES);
    json_integer(&json, root, "schema", SCHEMA);
    cJSON *words = json_array(&json, root, "command");
    for (int i = 0; command->words[i] != NULL; i++)
        json_text(&json, words, NULL, command->words[i]);
    if (WIFSIGNALED(command->wait_status))
        json_integer(&json, root, "signal", WTERMSIG(command->wait_status));
    else
        json_integer(&json, root, "exit_code", WEXITSTATUS(command->wait_status));
    processes = json_array(&json, root, "processes");
    any_note = take_notes(&json, processes, notes);
    say(to, processes, command, any_note);
    if (!is_last)
        goto out;
    if (result_json_read(&older, descriptor, RECORD_FILE))
        keep_processes(&json, root, processes, older);
    *traces = count_traces(processes);
    TRY_OUT(write_record(folder, &json, root));
    remove_notes(descriptor, notes);
    unlinkat(descriptor, LOCK, 0); /* while ENTRY is ours */

out:
    close_folder(lock);
    close_folder(notes);
    close_folder(descriptor);
    cJSON_Delete(older);
    cJSON_Delete(root);
    return status;
}
