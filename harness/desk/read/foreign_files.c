/* People try what else their tools write. Each kind is a row: the signs that tell it, what it is
 * called, and what to do instead. */
#include "harness/desk/read/foreign_files.h"

#include "harness/base/words/text.h"

#include <ctype.h>
#include <string.h>

#define RECORD                                                                                     \
    "record with torch.profiler (export_chrome_trace()) or nsys (nsys export --type=sqlite)"
#define RECORD_PYTHON "chokepoint record -- python PROGRAM records the times of steps"
#define OF_NSYS       "if nsys exported it, use --type=sqlite"
#define UNPACK        "unpack it, and give the traces that are in it"
#define PERFETTO      "a trace in Perfetto's own format"
#define PAGE          "a page of HTML or XML, in which pictures are"
#define CPROFILE      "a profile of cProfile, which has sums"
#define PSTATS        "python -m pstats shows them; " RECORD_PYTHON
#define MEMRAY        "a recording of memray, which has no times of steps"
#define FLAMEGRAPH                                                                                 \
    "memray flamegraph shows it; for a GPU's memory, torch.cuda.memory._dump_snapshot()"
#define NCU        "a table of Nsight Compute, which has single kernels"
#define NVPROF     "a table of nvprof"
#define SUCCESSOR  "record with its successor, nsys profile, and nsys export --type=sqlite"
#define NSYS_STATS "a table of nsys stats"
#define REPORT     "give the report that it was made of, or its export"
#define ROCPROF    "a table of rocprof"

/* --- Shapes that no bytes at one place tell --- */

/* The line that the file begins with; 0: it is longer than what is there, or binary. */
static size_t first_line(const char *bytes, size_t count)
{
    const char *end = memchr(bytes, '\n', count);
    size_t length = end != NULL ? (size_t)(end - bytes) : 0;

    return memchr(bytes, '\0', length) == NULL ? length : 0;
}

/* "aten::mm;forward 12": collapsed stacks. py-spy's have lines: "<module> (train.py:12) 12". */
static bool is_stacks(const char *bytes, size_t count)
{
    size_t length = first_line(bytes, count), digits = 0;

    while (digits < length && isdigit((unsigned char)bytes[length - 1 - digits])) digits++;
    return digits > 0 && digits < length && bytes[length - 1 - digits] == ' ' && bytes[0] != '{' &&
           bytes[0] != '[' &&
           (memchr(bytes, ';', length) != NULL || memmem(bytes, length, ".py:", 4) != NULL);
}

/* Names of columns between two commas or more, and nothing that lines of JSON have. */
static bool is_table(const char *bytes, size_t count)
{
    size_t length = first_line(bytes, count), commas = 0;

    for (size_t i = 0; i < length; i++) {
        if (strchr(":{}<>", bytes[i]) != NULL || bytes[0] == '[')
            return false;
        commas += bytes[i] == ',' || bytes[i] == '\t';
    }
    return commas >= 2;
}

/* Python writes protocols 2 to 5. */
static bool is_pickle(const char *bytes, size_t count)
{
    return count > 2 && (unsigned char)bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
}

static bool has_word(const char *bytes, size_t count, const char *word)
{
    return memmem(bytes, count, word, strlen(word)) != NULL;
}

bool file_is_snapshot(const char *bytes, size_t count)
{
    return is_pickle(bytes, count) &&
           (has_word(bytes, count, "segments") || has_word(bytes, count, "device_traces"));
}

/* --- The table --- */

const struct foreign_file foreign_files[] = {
    { "a snapshot of PyTorch's memory", "diagnose FILE shows it, if FILE is a regular file",
      .shape = file_is_snapshot },
    { "a pickle, which is data of a Python program", RECORD, .shape = is_pickle },
    { "a report of Nsight Compute, which has single kernels", RECORD, .ending = ".ncu-rep" },
    { "a file of HDF5", OF_NSYS, .begin = "\211HDF" },
    { "a file of Parquet", OF_NSYS, .begin = "PAR1" },
    { "a file of torch.save(), which has tensors", RECORD, .begin = "PK\003\004",
      .word = "/data.pkl" },
    { "a zip archive", UNPACK, .begin = "PK\003\004" },
    { "a tar archive", UNPACK, .begin = "ustar", .at = 257 },
    { "compressed by zstd", "unpack it (unzstd)", .begin = "\050\265\057\375" },
    { "compressed by xz", "unpack it (unxz)", .begin = "\3757zXZ" },
    { "compressed by bzip2", "unpack it (bunzip2)", .begin = "BZh" },
    { "a pointer of Git LFS, not the file itself", "fetch that with git lfs pull",
      .begin = "version https://git-lfs" },
    { PERFETTO, "ui.perfetto.dev shows it; " RECORD, .ending = ".pftrace" },
    { PERFETTO, "ui.perfetto.dev shows it; " RECORD, .ending = ".perfetto-trace" },
    { "an XPlane of JAX or TensorFlow", "XProf (pip install xprof) shows it; " RECORD,
      .ending = ".xplane.pb" },
    { "a log of TensorBoard, which has values of steps",
      "traces are files of their own beside it, such as worker0.pt.trace.json",
      .begin = "brain.Event:", .at = 23 },
    { "a recording of perf", "perf report shows it; " RECORD_PYTHON, .begin = "PERFILE2" },
    { MEMRAY, FLAMEGRAPH, .begin = "memray" },
    { MEMRAY, FLAMEGRAPH, .begin = "\004\"M\030", .word = "memray" },
    { "compressed by lz4", "unpack it (unlz4)", .begin = "\004\"M\030" },
    { CPROFILE, PSTATS, .begin = "\373)\003" },
    { CPROFILE, PSTATS, .begin = "{)\003" },
    { "a list of stacks and how often they were seen, as py-spy and export_stacks() write it",
      RECORD_PYTHON, .shape = is_stacks },
    { "a profile for speedscope, as py-spy writes it", "speedscope.app shows them; " RECORD_PYTHON,
      .begin = "{", .word = "speedscope.app" },
    { "a profile of Scalene, which has shares of lines", "scalene view shows it; " RECORD_PYTHON,
      .begin = "{", .word = "\"alloc_samples\"" },
    { PAGE, RECORD, .begin = "<!" },
    { PAGE, RECORD, .begin = "<html" },
    { PAGE, RECORD, .begin = "<?xml" },
    { PAGE, RECORD, .begin = "<svg" },
    { "an execution trace of PyTorch, which has no times", RECORD, .begin = "{",
      .word = "\"nodes\"" },
    { "JSON of rocprofv3, which is no Chrome trace",
      "record with PyTorch's profiler, or let rocprofv3 write --output-format pftrace and look at "
      "that in Perfetto",
      .begin = "{", .word = "\"rocprofiler-sdk-tool\"" },
    { "a result of benchmarks", "compare reads it", .begin = "{", .word = "\"benchmarks\"" },
    { "a list of numbers, as export_memory_timeline() writes them",
      "record with profile_memory=True, and export_chrome_trace() has the blocks of memory too",
      .begin = "[[" },
    { "the table of key_averages(), which has sums",
      "export_chrome_trace() of the same profiler writes what diagnose reads", .begin = "---",
      .word = "Self CPU" },
    { NCU, RECORD, .begin = "==PROF==" },
    { NCU, RECORD, .begin = "\"ID\",\"Process ID\"" },
    { NVPROF, SUCCESSOR, .begin = "==", .word = "= Profiling" },
    { NVPROF, SUCCESSOR, .begin = "\"Type\",\"Time(%)\"" },
    { NVPROF, SUCCESSOR, .begin = "\"Start\",\"Duration\"" },
    { NSYS_STATS, REPORT, .word = "Total Time (ns)" },
    { NSYS_STATS, REPORT, .begin = "Start (ns),Duration (ns)" },
    { ROCPROF, RECORD, .word = "\"TotalDurationNs\"" },
    { ROCPROF, RECORD, .word = "\"Start_Timestamp\"" },
    { ROCPROF, RECORD, .begin = "\"Index\",\"KernelName\"" },
    { "a table of VTune", RECORD, .begin = "Function", .word = "CPU Time" },
    { "a table of values, which has no events of a trace", RECORD, .shape = is_table },
    { NULL },
};

/* The words stand near the beginning, and every trace is asked for all of them. */
enum { HEAD_BYTES = 1 << 16 };

/* All signs that a row has must be there. */
static bool is_one(const struct foreign_file *one, const char *bytes, size_t count,
                   const char *path)
{
    size_t length = one->begin != NULL ? strlen(one->begin) : 0;

    if (length > 0 &&
        (count < one->at + length || memcmp(bytes + one->at, one->begin, length) != 0))
        return false;
    if (one->word != NULL && !has_word(bytes, count < HEAD_BYTES ? count : HEAD_BYTES, one->word))
        return false;
    if (one->shape != NULL && !one->shape(bytes, count))
        return false;
    return one->ending == NULL || ends_in(path, one->ending);
}

const struct foreign_file *foreign_file(const char *bytes, size_t count, const char *path)
{
    const struct foreign_file *one = foreign_files;

    while (one->name != NULL && !is_one(one, bytes, count, path)) one++;
    return one->name != NULL ? one : NULL;
}
