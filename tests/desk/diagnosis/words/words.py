"""Words that a page must not have, by the kind of program that its reader has in mind. The kinds are told here, not by the
program: by whoever made the trace, or named it."""
import re

TRAINING = [r"gradient", r"optimizer(?!'s calls)", r"\bloss\b", r"backward", r"master weights", r"GradScaler", r"learning rate",
            r"\btraining\b(?! data)(?<!without training)", r"the loader", r"loader workers", r"num_workers"]
SERVING = TRAINING + [r"profiler\.step", r"ProfilerStep", r"the batch", r"DataLoader"]
FOREIGN = TRAINING + [r"profiler\.step", r"ProfilerStep", r"torch\.", r"\.item\(\)", r"no device work", r"marks no steps", r"cuDNN"]
ROCM = [r"cuDNN", r"cuBLAS", r"(?<!R)NCCL", r"CUPTI", r"CUDA graphs", r"PYTORCH_CUDA", r"\bSMs?\b"]
HOST = [r"CUPTI", r"clocks of its device", r"the device is (idle|busy)", r"NCCL", r"CUDA graphs"]
ANY = [r"\b1 (times|kernels|launches|copies|events|steps|ranks)\b", r"\b0 us of\b", r"works for 0 us", r"\bthere are 0\b",
       r"\b0 of these", r"\b0% of kernel time", r"queued for 0%", r"busy for 0%", r"communication (takes )?0\.0%"]
KINDS = {"inference": TRAINING, "serving": SERVING, "foreign": FOREIGN, "rocm": ROCM, "host": HOST}


def sentences(page):
    """All that the JSON of `diagnose` says of its traces and their run."""
    told = page["traces"] + ([page["run"]] if page.get("run") else [])
    for trace in told:
        yield from filter(None, (trace.get("headline"), trace.get("healthy"), (trace.get("slow_rank") or {}).get("text")))
        for finding in trace.get("findings") or []:
            yield from (finding["title"], finding["evidence"], finding["advice"])
        yield from (row["figures"] for row in trace.get("checklist") or [])


def above_tables(console):
    """A page for the console down to its findings: what comes after are names and figures of the trace."""
    return " ".join(console.split("\nFindings\n")[0].split())


def wrong(page, console, kinds):
    """The sentences that have a forbidden word, each with it."""
    words = re.compile("|".join(ANY + [word for kind in kinds for word in KINDS[kind]]))
    said = [*sentences(page), above_tables(console)]
    return [f"\"{match.group()}\" in: {sentence[:300]}" for sentence in said for match in words.finditer(sentence)][:5]
