#!/usr/bin/env python3
"""Writes chokepoint.html, and the same as files for a server, of viewer/ and of what emscripten made.

usage: web_page.py BUILD
BUILD has chokepoint_web.js and chokepoint_web.wasm; BUILD/chokepoint.html and BUILD/site/ are written.
"""
import base64
import gzip
import hashlib
import pathlib
import sys

VIEWER = pathlib.Path(__file__).resolve().parent.parent / "viewer"
TITLE = "chokepoint"
DATA = '<script type="application/octet-stream" id="{}">{}</script>\n'
# The page itself may start its worker, from its own text, and run WebAssembly; it may connect to nothing.
ALONE = "script-src 'sha256-@SCRIPT_DIGEST@' 'wasm-unsafe-eval'; worker-src blob:"
# Files of a server are its own, and the worker fetches the program from there.
SERVED = "style-src 'self' 'unsafe-inline'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'"


def listed(*names):
    files = [one for name in names for one in (VIEWER / name).read_text().split()]
    return "".join((VIEWER / one).read_text() for one in files)


def replaced(text, **parts):
    """Each of them stands in the text, once."""
    for name, part in parts.items():
        before, found, after = text.partition(f"@{name}@")
        assert found and f"@{name}@" not in after, name
        text = before + part + after
    return text


def with_policy(skeleton, policy):
    begin = skeleton.index("style-src") if "style-src" in policy else skeleton.index("script-src")
    end = skeleton.index('"', begin)
    return skeleton[:begin] + policy + skeleton[end:]


def alone(script, style, worker, program):
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    data = DATA.format("worker", worker) + DATA.format("program", base64.b64encode(program).decode())
    page = with_policy((VIEWER / "page.html").read_text(), ALONE)
    page = page.replace("<script>@SCRIPT@", f"{data}<script>@SCRIPT@")
    return replaced(page, TITLE=TITLE, STYLE=style, SCRIPT_DIGEST=digest, DOCUMENT="", SCRIPT=script)


def served():
    page = with_policy((VIEWER / "page.html").read_text(), SERVED)
    page = page.replace("<style>\n@STYLE@\n</style>", '<link rel="stylesheet" href="chokepoint.css">')
    page = page.replace("<script>@SCRIPT@</script>", '<script src="chokepoint.js"></script>')
    return replaced(page, TITLE=TITLE, DOCUMENT="")


def main(build):
    script, style = listed("scripts.txt", "scripts_web.txt"), listed("styles.txt", "styles_web.txt")
    worker = (build / "chokepoint_web.js").read_text() + (VIEWER / "worker.js").read_text()
    program = (build / "chokepoint_web.wasm").read_bytes()
    for text in (script, worker):
        assert "</script" not in text and "<!--" not in text
    (build / "chokepoint.html").write_text(alone(script, style, worker, gzip.compress(program, mtime=0)))
    site = build / "site"
    site.mkdir(exist_ok=True)
    (site / "index.html").write_text(served())
    (site / "chokepoint.css").write_text(style)
    (site / "chokepoint.js").write_text(script)
    (site / "worker.js").write_text(worker)
    (site / "chokepoint_web.wasm").write_bytes(program)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
