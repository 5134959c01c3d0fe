#!/usr/bin/env python3
"""A trial's fix as a diff (scripts/recorder/chokepoint_patch.py): only the change, all else as it was, and `git apply` takes it;
docs/try.md has the table of what is tried.

usage: test_patch.py SOURCE
"""
import os
import pathlib
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(source / "scripts/recorder"))
import chokepoint_patch  # noqa: E402
import chokepoint_scratch  # noqa: E402

NAMES = ["DataLoader", "AdamW"]
HEAD = "import torch\n"
# Source after HEAD, line of the call, what is set or inserted, source afterwards; None: refused.
CASES = [
    ("l = DataLoader(d)\n", 2, {"num_workers": 2}, "l = DataLoader(d, num_workers=2)\n"),
    ("l = DataLoader(d, num_workers = 0 )  # é\n", 2, {"num_workers": 2}, "l = DataLoader(d, num_workers = 2 )  # é\n"),
    ("é = 1; l = DataLoader(d)", 2, {"num_workers": 2}, "é = 1; l = DataLoader(d, num_workers=2)"),
    ("l = DataLoader(\n\td,\n\tbatch_size=4,  # all, of them)\n)\n", 2, {"num_workers": 2, "persistent_workers": True},
     "l = DataLoader(\n\td,\n\tbatch_size=4, num_workers=2, persistent_workers=True,  # all, of them)\n)\n"),
    ("l = DataLoader(\r\n    d)\r\n", 3, {"num_workers": 2}, "l = DataLoader(\r\n    d, num_workers=2)\r\n"),
    ("l = f(DataLoader(DataLoader(d).dataset, 4))\n", 2, {"pin_memory": True},
     "l = f(DataLoader(DataLoader(d, pin_memory=True).dataset, 4))\n"),
    ("o = torch.optim.AdamW(n.parameters(), lr=1e-3)\n", 2, {"fused": True},
     "o = torch.optim.AdamW(n.parameters(), lr=1e-3, fused=True)\n"),
    ("l = DataLoader((d))\n", 2, {"num_workers": 2}, None),           # it would become a tuple
    ("l = DataLoader(d, **more)\n", 2, {"num_workers": 2}, None),
    ("l = DataLoader(*more)\n", 2, {"num_workers": 2}, None),
    ("l = make(d)\n", 2, {"num_workers": 2}, None),
    ("l = DataLoader()\n", 2, {"num_workers": 2}, None),
    ("if a:\n    o = AdamW(self.net.parameters())\n", 3, "{model}.compile()",
     "if a:\n    self.net.compile()\n    o = AdamW(self.net.parameters())\n"),
    ("if a:\r\n\to = AdamW(n.parameters())\r\n", 3, "torch.set_num_threads(1)",
     "if a:\r\n\ttorch.set_num_threads(1)\r\n\to = AdamW(n.parameters())\r\n"),
    ("o = AdamW(make().parameters())\n", 2, "{model}.compile()", None),
    ("o = AdamW(groups)\n", 2, "{model}.compile()", None),
    ("if a: o = AdamW(n.parameters())\n", 2, "{model}.compile()", None),
]


def check(folder, before, line, change, after):
    path = folder / "train.py"
    path.write_bytes((HEAD + before).encode())
    source = chokepoint_patch.Source(str(path))
    try:
        if isinstance(change, str):
            source.insert_before(line, NAMES, change)
        else:
            for key, value in change.items():
                source.set_keyword(line, NAMES, key, value)
    except chokepoint_patch.NoPlace as reason:
        return [] if after is None else [f"refused: {reason}"]
    if after is None:
        return [f"not refused: {source.text.decode()!r}"]
    if source.text != (HEAD + after).encode():
        return [f"{source.text.decode()!r}"]
    (folder / "fix.patch").write_bytes(source.diff(str(folder)).encode())
    applied = subprocess.run(["git", "apply", "--whitespace=nowarn", "fix.patch"], cwd=folder, capture_output=True, text=True,
                             check=False)
    if applied.returncode != 0 or path.read_bytes() != source.text:
        return [f"git apply: {applied.stderr} {source.diff(str(folder))!r}"]
    return []


def check_lines(folder):
    """Lines that come before a call do not hide the next one."""
    path = folder / "lines.py"
    path.write_text(HEAD + "o = AdamW(n.parameters())\nl = DataLoader(d)\n")
    source = chokepoint_patch.Source(str(path))
    source.insert_before(2, NAMES, "torch.set_num_threads(1)")
    source.insert_before(2, NAMES, "{model}.compile()")
    source.set_keyword(3, ["DataLoader"], "num_workers", 1)
    wanted = HEAD + "torch.set_num_threads(1)\nn.compile()\no = AdamW(n.parameters())\nl = DataLoader(d, num_workers=1)\n"
    return [] if source.text.decode() == wanted else [source.text.decode()]


def check_tree(folder):
    """A copy by links, but for the changed file."""
    (folder / "from/inner/more").mkdir(parents=True)
    (folder / "from/__pycache__").mkdir()
    for name in ("train.py", "inner/loader.py", "inner/more/other.py"):
        (folder / "from" / name).write_text("old")
    chokepoint_patch.link_tree(str(folder / "from"), str(folder / "to"), {"inner/loader.py": b"new"})
    texts = [(folder / "to" / name).read_text() for name in ("train.py", "inner/loader.py", "inner/more/other.py")]
    untouched = (folder / "from/inner/loader.py").read_text()
    if (texts, untouched) != (["old", "new", "old"], "old") or (folder / "to/__pycache__").exists():
        return [f"{texts} {untouched}"]
    # Within a trial, what would write through a link of the copy goes to the scratch folder; the trial's own files do not.
    scratch = chokepoint_scratch.Scratch(str(folder / "scratch"), str(folder / "trial.json"))
    leads = [scratch.to_open(str(folder / name), os.O_WRONLY | os.O_TRUNC) for name in ("to/train.py", "trial.rank1.json.new")]
    wanted = [f"{os.path.realpath(folder)}/scratch{os.path.realpath(folder)}/from/train.py", str(folder / "trial.rank1.json.new")]
    return [] if leads == wanted else [f"{leads}"]


def check_table():
    """docs/try.md has the rows as they are."""
    rows = subprocess.run([sys.executable, source / "scripts/recorder/chokepoint_switches.py"], capture_output=True, text=True,
                          check=True).stdout
    text = (source / "docs/try.md").read_text()
    shown = text.partition("<!-- rows: scripts/recorder/chokepoint_switches.py -->\n")[2].partition("<!-- end of rows -->")[0]
    return [] if shown == rows else [f"docs/try.md's rows should be:\n{rows}"]


def main():
    faults = check_table()
    with tempfile.TemporaryDirectory(prefix="chokepoint-patch-") as name:
        folder = pathlib.Path(name)
        subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
        for case in CASES:
            faults += [f"{case[0]!r} {case[2]}: {fault}" for fault in check(folder, *case)]
        faults += check_lines(folder) + check_tree(folder)
    print("\n".join(faults) or "ok")
    return 1 if faults else 0


sys.exit(main())
