#!/usr/bin/env python3
"""`--completion` and `--man`: each command and each option of its --help is in both; bash reads the one, man the other.

usage: test_shell_pages.py PROGRAM
"""
import re
import shutil
import subprocess
import sys

program = sys.argv[1]
failures = []


def said(*command, text=None):
    ran = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60,
                         check=False)
    if ran.returncode != 0 or ran.stderr:
        failures.append(f"{' '.join(command)}: exits with {ran.returncode}: {ran.stderr}")
    return ran.stdout


def completed(script, *words):
    """What bash offers after these words."""
    shell = (script + f"\nCOMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}\n_chokepoint {words[0]}\n"
             'printf "%s\\n" "${COMPREPLY[@]}"\n')
    return said("bash", "-c", shell).split()


completion, manual = said(program, "--completion"), said(program, "--man")
commands = re.findall(r"^  (\w+) +\S", said(program, "--help").split("\nCommands:\n")[1].split("\n\n")[0], re.M)
if len(commands) < 15 or completed(completion, program, "''") != commands:
    failures.append(f"of the commands {commands} bash completes {completed(completion, program, chr(39) * 2)}")
count = 0
for command in commands:
    options = re.findall(r"^      --([\w-]+)", said(program, command, "--help"), re.M)
    count += len(options)
    offered = completed(completion, program, command, "--")
    section = manual.split(f"\n.SS {command}\n")[1].split("\n.SS ")[0].replace("\\-", "-")
    for option in options:
        if f"--{option}" not in offered:
            failures.append(f"{command}: bash does not complete --{option}: {offered}")
        if not re.search(rf"^\.TP\n--{option}(\n|=)", section, re.M):
            failures.append(f"{command}: the manual has no --{option}")
if count < 150 or "item_sync" not in completed(completion, program, "explain", "item_s"):
    failures.append(f"{count} options, or no scenario is completed")
if shutil.which("groff"):
    said("groff", "-man", "-Tutf8", "-ww", "-z", text=manual)
print(f"{len(commands)} commands, {count} options")
print("\n".join(failures))
sys.exit(bool(failures))
