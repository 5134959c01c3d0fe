#include "harness/desk/diagnosis/lessons.h"

#include "harness/base/status.h"

#include <stddef.h>
#include <string.h>

static const struct lesson lessons[] = {
    /* --- Memory --- */
    { "memory_growth",
      "allocated memory at the end of a step is higher than a step before, in "
      "four of five steps",
      "something keeps the tensors of past steps alive, and the run ends when memory does",
      "no time; critical if memory lasts for at most 1000 more steps, else major" },
    { "activation_memory",
      "the peak takes 90% of the memory available, and would not without what comes and goes "
      "within a step",
      "what forward keeps for backward fills the device, so no larger batch or model fits",
      "no time; critical from 98% of the memory on, else major" },
    { "allocation_churn", "cudaMalloc, cudaFree or their like, two or more per step",
      "memory goes back to the driver and is taken from it again; a release waits for the device",
      "the time of these calls, without the two longest, and at most the time for which the device "
      "is idle in them, in operators and between events; or what releases put off, if that is "
      "more" },
    { "fragmentation", "at the peak the allocator reserves 1.2 times what is in use, or more",
      "free blocks have sizes that nobody asks for, so memory is used up early",
      "no time; a tenth of the device's memory must be reserved but unused, and from a quarter on "
      "it is major" },
    { "memory_headroom",
      "the allocator holds less than half of the memory, and half of the kernel time is in kernels "
      "shorter than 100 us",
      "a larger batch fits, and would give these kernels more work",
      "none: it is for information" },
    /* --- The host --- */
    { "initialisation",
      "a call of over 1 ms that launches a kernel for the first time; calls that load modules; "
      "captures and instantiations of graphs; spans in which PyTorch compiles",
      "that happens once, at the first use of a kernel, a shape or a graph, which may come late",
      "the time for which the device is idle meanwhile, and in the operators around such calls" },
    { "data_loading",
      "the device is idle while the loop waits for its next batch (enumerate(DataLoader)) or "
      "prepares it",
      "the loader is slower than the device, or the loop does its work",
      "that idle time; what more workers would need themselves, on the cores that are left, does "
      "not count" },
    { "data_jitter", "a few steps wait long for their batch, the others do not",
      "some samples take much longer, and too few batches are ready to bridge that",
      "as for data_loading, averaged over all steps" },
    { "epoch_gap",
      "long waits for data in the steps that begin an epoch, which ask the loader once more than "
      "the others; or at equal distances of 10 steps and more, too many of them for chance",
      "at the border of epochs new workers start, and the loop waits for their first batches",
      "as for data_loading at these borders, averaged over all steps" },
    { "host_sync",
      "the device is idle right after a call in which the host waited for it "
      "(cudaStreamSynchronize, a blocking copy, .item())",
      "a host that waits queues nothing, so host and device work one after the other",
      "the host's time from the end of a wait to the next launch, as far as the device's work "
      "before "
      "would have covered it; and at most as much again for noticing that the wait is over" },
    { "host_work",
      "the device is idle while the host launches nothing for 5 times as long as usual (at least "
      "50 us, from 1 ms on in any case) and neither loads, copies, allocates nor waits",
      "the loop does something else between launches: operators on the host, Python, another "
      "library, or nothing that the profiler records",
      "that idle time; where the host waited for the device before, less what the device's work "
      "would have covered, unless the host's work is longer than that" },
    { "logging_gap", "the device is idle while the loop is in its phase \"log\"",
      "the loop formats, writes or flushes the log itself, and may wait for what it logs",
      "that idle time, and as for host_sync what such waits put off" },
    { "save_pause", "the device is idle while the loop is in its phase \"save\"",
      "the loop copies and writes the checkpoint itself",
      "that idle time, the copies, and what the loop puts off until the save is over" },
    { "small_kernels",
      "the forward pass runs several times per step, and a quarter of the kernels or more are "
      "shorter than the calls that launch them",
      "each micro-batch is so small that launching costs more than computing",
      "the idle time for launches, and the time to start and end kernels, that one pass over the "
      "whole batch would save" },
    { "graph_recapture", "graphs are captured in every fifth step or more often",
      "shapes change, so an earlier graph does not fit and another one is captured",
      "the time for which the device is idle during captures" },
    { "launch_bound", "the device is idle between short kernels until the next one is launched",
      "the host takes longer to launch a step's work than the device takes to do it",
      "the idle time in which the host launches, or prepares the next launch for no longer than "
      "usual; what another finding explains does not count" },
    { "oversubscribed_host",
      "now and then, at most in one of four, a launch takes over 50 us while the device has "
      "nothing "
      "else to do",
      "more threads want to run than there are cores, so the thread that launches waits for one",
      "how much longer these calls take than the others" },
    { "uneven_steps",
      "the device's time per step varies by more than 10%, for the same work and for no reason in "
      "the trace",
      "something outside of the program takes part of the machine, or slows it down",
      "none: it is for information" },
    /* --- Copies --- */
    { "host_round_trip", "between two kernels of a step, a copy to the host and one back",
      "an operation amid the step runs on the host (.cpu(), NumPy)",
      "from the start of the first copy to the end of the second" },
    { "pageable_copy", "copies with \"Pageable\" in their name, larger than 64 KiB",
      "the driver copies such memory to a pinned buffer of its own first, while the host waits",
      "these copies while no kernel runs, and idle time while the host is in their calls" },
    { "small_copies",
      "8 or more copies per step between host and device, 64 KiB or less on average",
      "every copy has a fixed cost, which small ones pay for nothing",
      "these copies while no kernel runs, and idle time while the host is in their calls" },
    { "device_copies", "copies with \"DtoD\" in their name while nothing is computed",
      "what is computed next waits while the device reads and writes data only to have it twice",
      "that time, whether or not ranks communicate meanwhile" },
    { "exposed_copy", "copies between host and device while no kernel runs",
      "the step waits for a batch that could be copied while the one before is computed",
      "the time of these copies, without pageable ones" },
    /* --- The device --- */
    { "fp32_matmul",
      "a tenth of the kernel time or more is in fp32 matrix products, on a device with matrix "
      "units "
      "for shorter types",
      "matrix units, which are at least twice as fast, are not used",
      "half of the time of kernels that name no shorter type, less where the host sets the pace: "
      "by "
      "the busy time over that and the idle time that every step has; on a CPU 0.6 of the time of "
      "products with all sides of 64 or more, less 0.3 of that of kernels that are no products" },
    { "padding_waste", "steps that state padded tokens, more than 7 per sample",
      "sequences of different lengths are in one batch, and the device computes on the rest",
      "the padded share of the device's busy time" },
    { "naive_attention",
      "softmax kernels within the layers, apart from that of the loss; on a host alone, "
      "aten::_softmax "
      "between two aten::bmm",
      "attention writes its scores, tokens by tokens, to memory and reads them again",
      "the time of these kernels, less where the host sets the pace; none on the CPU device; on a "
      "host alone at most the time between the products" },
    { "optimizer_overhead", "the optimizer takes more than 15% of a step",
      "the update runs a few kernels per tensor, or runs after batches that are too small",
      "what exceeds 15% of a step, and all updates but one per step" },
    { "unfused_ops",
      "10 or more kernels per step with one element-wise operation each; on a host alone, as many "
      "operators of more than 5 us",
      "each of them reads and writes all of its data for very little arithmetic",
      "half of their time: two kernels in one read and write half as much" },
    { "small_grid", "kernels of 10 us or more with fewer blocks than half of the SMs",
      "most of the device has nothing to do meanwhile",
      "at most the share of these kernels' time that the empty SMs are of all" },
    { "device_wait", "gaps of 30 us or more before work that was queued already",
      "the work waits for another stream, or another program has the device", "these gaps" },
    { "low_utilisation", "the device is busy for less than half of a step",
      "the host sets the pace; other findings say with what", "none: it is for information" },
    { "device_bound", "the device is busy for 70% of a step or more",
      "only less or faster device work makes the step shorter", "none: it is for information" },
    /* --- A host that computes itself --- */
    { "small_operators", "operators of which most take 5 us or less",
      "dispatch, checks and the recording for backward cost a few microseconds per operator, and "
      "one "
      "sample or one row costs as many operators as a batch",
      "the operators' time by the share of it that is up to 5 us of each; half of it at least" },
    { "host_computes", "a loop that is in operators for 70% of a step, without a device",
      "the host is the device, and sets the pace", "none: it is for information" },
    /* --- Ranks --- */
    { "straggler", "one rank's collectives are short and those of the others long",
      "a collective ends on all ranks together, so who enters it last communicates least",
      "how much longer the next rank communicates, at most what the others do not hide behind "
      "compute" },
    { "exposed_communication", "communication while nothing is computed",
      "the step waits for messages that could go while backward computes",
      "that time, without what is a wait for a slow rank, and without what larger messages would "
      "save (small_messages)" },
    { "small_messages",
      "backward sends 8 or more all-reduces or reduce-scatters per step, of 1 MiB or less on "
      "average",
      "every message has a fixed time, for its start and for each rank on its way, which small "
      "ones "
      "pay for nothing",
      "that time of all messages that buckets of 25 MiB would save, by the share of communication "
      "that does not overlap with compute" },
    { "replicated_state",
      "gradients are all-reduced in backward, and no parameters are gathered or broadcast after "
      "the "
      "update",
      "each rank makes the same update, with the same state, which fills memory that a larger "
      "batch "
      "or model could have",
      "no time; a tenth of the device's memory or more must come free if each rank keeps a part" },
    /* --- The trace --- */
    { "unread_device", "rows of other devices, or of other profilers, and no GPU's kernels",
      "the reader knows the rows of PyTorch's profiler for GPUs and hosts", "unknown" },
    { "no_device_activity", "no kernel, copy or memset is in the trace",
      "the profiler recorded the host alone, or nothing ran on a device",
      "unknown: without device work there is no idle time" },
    { "insufficient_data", "rows that the rules need are missing",
      "what the trace does not show, no rule can judge", "none: it is for information" },
};

const struct lesson *lesson_at(int number)
{
    return number >= 0 && (size_t)number < ARRAY_SIZE(lessons) ? &lessons[number] : NULL;
}

const struct lesson *lesson_find(const char *id)
{
    for (size_t i = 0; i < ARRAY_SIZE(lessons); i++)
        if (strcmp(lessons[i].id, id) == 0)
            return &lessons[i];
    return NULL;
}

bool lesson_costs_time(const struct lesson *lesson)
{
    static const char *const none[] = { "no time", "none", "unknown" };

    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        if (strncmp(lesson->cost, none[i], strlen(none[i])) == 0)
            return false;
    return true;
}
