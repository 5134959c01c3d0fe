"""The tables of docs/ that document JSON, and what they say about each member of a document.

A heading with a table of members says whose they are: `kinds[].figures[]` in a heading of the third level is a path in
the document, and a heading of the second level begins a document and has its outermost members. A page without such
headings of the second level is one document, and "the file" its outermost object.

    | member | type | unit | meaning | example |

- `*` in a name stands for any letters: settings by their names.
- A meaning that links to another such heading: the member has the members that are there, and below there.
- A name that links to one: its members are here too, with the types of the row, or "as there".
- "only on a GPU", "only where" and "absent": not every machine, run or row of a result writes the member. Nor need a member
  that another table includes be there, nor those of an object that "may be absent".

JSON Schemas (draft 2020-12) of all documents, which are in the package:

    json_tables.py DOCS FOLDER      writes FOLDER/NAME.schema.json
"""
import json
import os
import re
import sys

TYPES = {"integer": {int}, "number": {int, float}, "string": {str}, "boolean": {bool}, "object": {dict},
         "array": {list}, "null": {type(None)}}
COPY = "as there"
HEAD = "| member | type | unit | meaning | example |"
# The documents, by the commands that write them.
DOCUMENTS = {
    "bench": "benches.md#json",
    "compare": "compare.md#json",
    "compare-explain": "compare.md#json-of-compare---explain",
    "diagnose": "diagnosis.md",
    "doctor": "fleet.md#json-of-doctor",
    "fleet": "fleet.md#json-of-fleet",
    "history-check": "history.md#json",
    "history-line": "history.md#the-file",
    "job": "digest.md#json-of-job",
    "kernel": "kernels.md#json-of-kernel",
    "list": "results.md#json-of-list",
    "run": "results.md#json-of-run-resultjson",
    "site-index": "site.md#indexjson",
    "train": "training.md#json-of-a-training",
    "train-ladder": "training.md#json-of-a-ladder",
    "train-sweep": "training.md#json-of-a-sweep",
    "try": "try.md#the-result",
}
LINK = re.compile(r"\[[^\]]*\]\(([\w.-]*)#([\w-]+)\)")
SELDOM = re.compile(r"\bonly (on a GPU|where|with)\b")
UNITS = {"_ns": "ns", "_bytes": "B", "_us": "us", "_mhz": "MHz", "seconds": "s", "bytes_per_second": "B/s",
         "flops_per_second": "FLOP/s"}


class Row:
    """A line of a table: a member's name, what types it may have, and whether it may be missing."""

    def __init__(self, page, cells, failures):
        self.page = page
        name, types, self.unit, self.meaning, example = cells
        included = LINK.fullmatch(name)
        self.includes = (included[1] or page, included[2]) if included else None
        self.name = "" if included else name.strip("`")
        links = [(file or page, anchor) for file, anchor in LINK.findall(self.meaning)]
        self.links = links if not included else []
        self.seldom = bool(SELDOM.search(self.meaning))
        self.required = not (self.seldom or self.includes or "absent" in self.meaning)
        self.types = set()
        self.example = None
        self.copies = types == COPY
        if not self.copies:
            self.check(types, example, failures)

    def check(self, types, example, failures):
        where = f"{self.page}: {self.name}"
        for word in types.split(" or "):
            if word not in TYPES:
                failures.append(f"{where}: there is no type {word}")
            self.types |= TYPES.get(word, set())
        try:
            value = self.example = json.loads(example.strip("`"))
        except ValueError:
            failures.append(f"{where}: the example {example} is not JSON")
            return
        if type(value) not in self.types:
            failures.append(f"{where}: the example {example} is not of the type {types}")
        units = [unit for end, unit in UNITS.items() if self.name.endswith(end)]
        if units and self.types & {int, float, list} and units[-1] != self.unit:
            failures.append(f"{where}: the unit is {units[-1]}, not {self.unit or 'nothing'}")
        if not self.meaning:
            failures.append(f"{where}: the meaning is not stated")


class Section:
    """A heading and its table."""

    def __init__(self, document, paths, rows):
        self.document, self.paths, self.rows = document, paths, rows


def anchor_of(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def rows_of(page, text, failures):
    """The rows of the tables of members in `text`."""
    rows = []
    for table in text.split(f"\n{HEAD}\n")[1:]:
        for line in table.split("\n\n", 1)[0].splitlines()[1:]:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) != 5:
                failures.append(f"{page}: not five cells: {line}")
            else:
                rows.append(Row(page, cells, failures))
    return rows


def read_pages(folder, failures):
    """Sections by page and anchor."""
    sections = {}
    for page in sorted(os.listdir(folder)):
        if not page.endswith(".md"):
            continue
        document = page
        with open(os.path.join(folder, page), encoding="utf-8") as file:
            parts = re.split(r"^(##+) (.*)$", file.read(), flags=re.MULTILINE)
        for level, heading, text in zip(parts[1::3], parts[2::3], parts[3::3]):
            rows = rows_of(page, text, failures)
            if level == "##" and rows:
                document = f"{page}#{anchor_of(heading)}"
            paths = [""] if level == "##" else re.findall(r"`([^`]+)`", heading)
            paths = ["" if path == "the file" else path for path in paths]
            if rows:
                sections[page, anchor_of(heading)] = Section(document, paths, rows)
    return sections


class Tables:
    """All documents."""

    def __init__(self, folder):
        self.failures = []
        self.sections = read_pages(folder, self.failures)

    def section(self, row, link):
        found = self.sections.get(link)
        if found is None and row.includes:
            self.failures.append(f"{row.page}: {link} has no table of members")
        return found

    def members(self, document):
        """Pairs of path and row of a document, given as "page" or "page#anchor"."""
        found = []
        for section in self.sections.values():
            if section.document == document:
                for path in section.paths:
                    found += self.section_members(section, path)
        return found

    def section_members(self, section, path):
        found = []
        for row in section.rows:
            if row.includes:
                inner = self.section(row, row.includes)
                if row.copies and inner:
                    found += self.section_members(inner, path)
                    continue
                found += [(f"{path}.{of.name}".lstrip("."), row) for of in (inner.rows if inner else [])]
                continue
            here = f"{path}.{row.name}".lstrip(".")
            found.append((here, row))
            for link in row.links if row.types & {dict, list} else ():
                found += self.linked_members(self.section(row, link), here)
        return found

    def linked_members(self, target, path):
        """Those of a section, and of all below it in its document, as if it stood at `path`."""
        if target is None:
            return []
        base = target.paths[0]
        path += "[]" if base.endswith("[]") else ""
        found = []
        for section in self.sections.values():
            if section.document != target.document:
                continue
            for inner in section.paths:
                if inner == base or (base and inner.startswith((f"{base}.", f"{base}["))):
                    found += self.section_members(section, path + inner[len(base):])
        return found


def new_row(path, types):
    """The row of a member that has none: its meaning and an example are to be filled in."""
    name = path.split(".")[-1]
    words = " or ".join(word for word, known in TYPES.items() if word != "number" and known & types)
    if float in types:
        words = words.replace("integer", "number") if "integer" in words else f"number {words}".strip()
    unit = [unit for end, unit in UNITS.items() if name.endswith(end)][-1:]
    return f"| `{name}` | {words} | {''.join(unit)} | MEANING | `EXAMPLE` |"


def pattern(path):
    """The paths that a documented path stands for."""
    return re.compile(re.escape(path).replace(r"\*", r"[^.\[\]]+"))


# --- Schemas ---


def described(row):
    """The words of a schema about a member, beside its types."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", row.meaning).replace("\\|", "|").replace("`", "")
    return {"description": f"{text} [{row.unit}]" if row.unit else text, "examples": [row.example]}


def put(node, path, row, required):
    """The member at `path`, in the schema of its document."""
    parts = path.split(".")
    for at, part in enumerate(parts):
        node["type"] = sorted({*node.get("type", []), "object"})
        name = part.rstrip("[]")
        if "*" in name:
            node = node.setdefault("patternProperties", {}).setdefault(f"^{pattern(name).pattern}$", {})
        else:
            if required and at == len(parts) - 1:
                node["required"] = sorted({*node.get("required", []), name})
            node = node.setdefault("properties", {}).setdefault(name, {})
        for _ in range(part.count("[]")):
            node["type"] = sorted({*node.get("type", []), "array"})
            node = node.setdefault("items", {})
    words = {word for word, types in TYPES.items() if word != "number" and types & row.types}
    words = words - {"integer"} | {"number"} if float in row.types else words
    node["type"] = sorted({*node.get("type", []), *words})
    if not row.includes:
        node.update(described(row))


def schema(tables, name):
    """Members may come at any time, so others than these are allowed."""
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"chokepoint: {name}"}
    members = tables.members(DOCUMENTS[name])
    loose = {path for path, row in members if "may be absent" in row.meaning}
    for path, row in members:
        put(made, path, row, row.required and path.rpartition(".")[0] not in loose)
    return made


def main(docs, folder):
    tables = Tables(docs)
    os.makedirs(folder, exist_ok=True)
    for name in DOCUMENTS:
        with open(os.path.join(folder, f"{name}.schema.json"), "w", encoding="utf-8") as file:
            json.dump(schema(tables, name), file, indent=1)
            file.write("\n")
    return "\n".join(tables.failures) or None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
