/* What other tools write is told for what it is: each kind by bytes as its tool writes them, and
 * docs/other-files.md lists all of them. */
#include "harness/base/status.h"
#include "harness/desk/read/foreign_files.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/documents/document_list.h"

#define BYTES(text) text, sizeof text - 1

/* A file of tar begins with a name of 100 bytes and other members before its magic. */
static const char tar[512] = { 't', 'r', 'a', 'c', 'e', [257] = 'u', 's', 't', 'a', 'r', '\0' };

static const struct {
    const char *name; /* how it begins; NULL: nothing that is known */
    const char *bytes;
    size_t count;
    const char *path;
} cases[] = {
    { "a snapshot of", BYTES("\200\004\225\0\0\0\0\0\0\0\0\214\010segments"), "a.pickle" },
    { "a pickle", BYTES("\200\004\225\0\0\0\0\0\0\0\0}"), "a.pkl" },
    { "a report of Nsight Compute", BYTES("NVR\0"), "a.ncu-rep" },
    { "a file of HDF5", BYTES("\211HDF\r\n\032\n"), "a.h5" },
    { "a file of Parquet", BYTES("PAR1\025\004"), "a.parquet" },
    { "a file of torch.save()", BYTES("PK\003\004\0\0\010\010\0\0\0\0model/data.pkl"), "a.pt" },
    { "a zip archive", BYTES("PK\003\004\024\0\0\0\010\0trace.json"), "a.zip" },
    { "a tar archive", tar, sizeof tar, "a.tar.gz" },
    { "compressed by zstd", BYTES("\050\265\057\375\0\1"), "a.json.zst" },
    { "compressed by xz", BYTES("\3757zXZ\0\0"), "a.json.xz" },
    { "compressed by bzip2", BYTES("BZh91AY&SY"), "a.json.bz2" },
    { "a pointer of Git LFS", BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
      "a.json" },
    { "a trace in Perfetto's", BYTES("\n\003\0"), "a.pftrace" },
    { "a trace in Perfetto's", BYTES("\n\003\0"), "a.perfetto-trace" },
    { "an XPlane", BYTES("\n\003\0"), "host.xplane.pb" },
    { "a log of TensorBoard",
      BYTES("\030\0\0\0\0\0\0\0\243\177K\"\t\0\0\300\247\316\343\331A\032\rbrain.Event:2"),
      "events.out.tfevents.1" },
    { "a recording of perf", BYTES("PERFILE2h\0\0\0\0\0\0\0"), "perf.data" },
    { "a recording of memray", BYTES("memray\0\014\0\0\0"), "memray-train.py.1.bin" },
    { "a recording of memray", BYTES("\004\"M\030@@\300\2118\0\0\372\004memray\0\015"),
      "memray-train.py.1.bin" },
    { "compressed by lz4", BYTES("\004\"M\030@@\300"), "a.json.lz4" },
    { "a profile of cProfile", BYTES("\373)\003\372\001~\351\0\0\0\0\372"), "a.prof" },
    { "a profile of cProfile", BYTES("{)\003\372\001~\351\0\0\0\0\372"), "a.pstats" },
    { "a list of stacks", BYTES("aten::mm;forward 12\n"), "stacks.txt" },
    { "a list of stacks", BYTES("<module> (train.py:12);step (train.py:5) 31\n"), "raw.txt" },
    { "a list of stacks", BYTES("<module> (train.py:12) 2\n"), "raw.txt" },
    { "a profile for speedscope",
      BYTES("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"profiles\":["),
      "a.json" },
    { "a profile of Scalene", BYTES("{\n    \"alloc_samples\": 0,\n    \"args\": [\n"),
      "profile.json" },
    { "a page of HTML", BYTES("<!DOCTYPE html>\n"), "memory.html" },
    { "a page of HTML", BYTES("<html>\n"), "memory.html" },
    { "a page of HTML", BYTES("<?xml version=\"1.0\"?>\n"), "flame.svg" },
    { "a page of HTML", BYTES("<svg width=\"1200\">\n"), "flame.svg" },
    { "an execution trace", BYTES("{\"schema\": \"1.0\", \"nodes\": []}"), "a.json" },
    { "JSON of rocprofv3", BYTES("{\"rocprofiler-sdk-tool\":[{\"metadata\":{\"node\":{\"id\":0}"),
      "results.json" },
    { "a result of benchmarks", BYTES("{\"context\": {}, \"benchmarks\": []}\n"), "a.json" },
    { "a list of numbers", BYTES("[[1, 2], [3, 4]]\n"), "timeline.json" },
    { "the table of key_averages()",
      BYTES("------------  ------------  \n        Name    Self CPU %      Self CPU  \n"),
      "a.txt" },
    { "a table of Nsight Compute", BYTES("==PROF== Connected to process 12 (/usr/bin/python)\n"),
      "ncu.csv" },
    { "a table of Nsight Compute",
      BYTES("\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\"\n"), "ncu.csv" },
    { "a table of nvprof",
      BYTES("==12== NVPROF is profiling process 12, command: python\n"
            "==12== Profiling application: python\n"),
      "nvprof.csv" },
    { "a table of nvprof", BYTES("======== Profiling result:\n\"Start\",\"Duration\"\n"), "a.csv" },
    { "a table of nvprof", BYTES("\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\"\n"), "a.csv" },
    { "a table of nvprof", BYTES("\"Start\",\"Duration\",\"Grid X\",\"Grid Y\"\n"), "a.csv" },
    { "a table of nsys stats", BYTES("Time (%),Total Time (ns),Instances,Avg (ns)\n"), "a.csv" },
    { "a table of nsys stats",
      BYTES("\n ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n"
            " Time (%)  Total Time (ns)  Instances\n"),
      "a.txt" },
    { "a table of nsys stats", BYTES("Start (ns),Duration (ns),CorrId,GrdX\n"), "a.csv" },
    { "a table of rocprof", BYTES("\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\"\n"),
      "results.stats.csv" },
    { "a table of rocprof", BYTES("\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Start_Timestamp\"\n"),
      "kernel_trace.csv" },
    { "a table of rocprof", BYTES("\"Index\",\"KernelName\",\"gpu-id\"\n"), "results.csv" },
    { "a table of VTune", BYTES("Function\tCPU Time\tCPU Time:Effective Time\n"), "a.csv" },
    { "a table of values", BYTES("timestamp, name, utilization.gpu [%]\n"), "smi.csv" },
    { "a table of values", BYTES("step,loss,seconds\n"), "a.csv" },
    { NULL, BYTES(""), "a.json" },
    { NULL, BYTES("no trace, at all\n"), "a.txt" },
    { NULL, BYTES("{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1},\n"), "a.json" },
    { NULL, BYTES("\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 2\n"), "a.json" },
    { NULL, BYTES("<module>\n"), "a.txt" },
};

TEST(each_kind_is_told)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct foreign_file *found =
            foreign_file(cases[i].bytes, cases[i].count, cases[i].path);
        const char *name = found != NULL ? found->name : "nothing";
        const char *wanted = cases[i].name != NULL ? cases[i].name : "nothing";
        if (strncmp(name, wanted, strlen(wanted)) != 0)
            fail_msg("case %zu, %s: it is %s, not %s", i, cases[i].path, name, wanted);
    }
}

TEST(each_row_has_a_case_and_needs_all_of_its_bytes)
{
    for (const struct foreign_file *one = foreign_files; one->name != NULL; one++) {
        bool has = false;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
            if (foreign_file(cases[i].bytes, cases[i].count, cases[i].path) == one) {
                has = true;
                for (size_t count = 0; count < cases[i].count; count++)
                    foreign_file(cases[i].bytes, count, cases[i].path);
            }
        if (!has)
            fail_msg("row %d, %s, has no case", (int)(one - foreign_files), one->name);
    }
}

TEST(the_document_lists_them)
{
    char wanted[16384] = "| file | instead |\n|---|---|\n";
    size_t length = strlen(wanted);

    for (const struct foreign_file *one = foreign_files; one->name != NULL; one++)
        if (one == foreign_files || strcmp(one->name, one[-1].name) != 0)
            length += (size_t)snprintf(wanted + length, sizeof wanted - length, "| %s | %s |\n",
                                       one->name, one->instead);
    document_list(DOCUMENTS "/other-files.md", "kinds", wanted);
}
