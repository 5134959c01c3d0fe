"""Writes fixes of a trial into a copy of the user's source, as a diff that `git apply` takes.

Only where `ast` finds the place: a constructor's call at the line that the program made it in gets an argument, or a
line comes before it. Edits are made at ast's positions, so all else in the file stays as it is. A result is kept if it
parses to the same as before but for the change.
"""
import ast
import difflib
import os
import shutil
import sys

from chokepoint_switches import LOADER_FIXES, ROWS, workers_here

LINES = {  # before the optimizer is made; {model} is what its parameters are of
    "compile": "{model}.compile()",
    "tf32": "torch.backends.cuda.matmul.allow_tf32 = True",
    "cudnn_benchmark": "torch.backends.cudnn.benchmark = True",
    "one_thread": "torch.set_num_threads(1)",
}


class NoPlace(Exception):
    """Why there is no diff of a fix."""


class Source:
    """A file of the user's, with edits."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.before = self.text = file.read()
        self.path, self.inserted = path, []
        try:
            self.text.decode("utf-8")
            self.tree = ast.parse(self.text)
        except (ValueError, SyntaxError):
            raise NoPlace("%s is no Python in UTF-8" % path) from None

    def offset(self, line, column):
        return sum(map(len, self.text.splitlines(True)[:line - 1])) + column

    def call(self, line, names):
        """The innermost call of one of these names at a line of the file as it was."""
        line += sum(at <= line for at in self.inserted)
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and
                 node.lineno <= line <= node.end_lineno and
                 getattr(node.func, "attr", getattr(node.func, "id", None)) in names]
        if not calls:
            raise NoPlace("%s:%d calls none of %s by its name" % (self.path, line, ", ".join(names)))
        return max(calls, key=lambda node: (node.lineno, node.col_offset))

    def put(self, start, end, new):
        self.text = self.text[:start] + new.encode() + self.text[end:]
        try:
            self.tree = ast.parse(self.text)
        except SyntaxError:
            raise NoPlace("the call in %s is of a form that cannot be changed" % self.path) from None

    def set_keyword(self, line, names, key, value):
        call = self.call(line, names)
        if any(keyword.arg is None for keyword in call.keywords) or any(isinstance(each, ast.Starred) for each in call.args):
            raise NoPlace("the call in %s:%d gets arguments from elsewhere" % (self.path, line))
        wanted = {each.arg: ast.dump(each.value) for each in call.keywords}
        wanted[key] = ast.dump(ast.Constant(value))
        arguments = [ast.dump(each) for each in call.args]
        old = next((each.value for each in call.keywords if each.arg == key), None)
        if old is not None:
            self.put(self.offset(old.lineno, old.col_offset), self.offset(old.end_lineno, old.end_col_offset), repr(value))
        else:
            parts = [*call.args, *(each.value for each in call.keywords)]
            last = max(parts, key=lambda node: (node.end_lineno, node.end_col_offset), default=None)
            if last is None:
                raise NoPlace("the call in %s:%d has no arguments" % (self.path, line))
            at = self.offset(last.end_lineno, last.end_col_offset)
            self.put(at, at, ", %s=%r" % (key, value))
        new = self.call(line, names)
        if [ast.dump(each) for each in new.args] != arguments or {
                each.arg: ast.dump(each.value) for each in new.keywords} != wanted:
            raise NoPlace("the call in %s:%d is of a form that cannot be changed" % (self.path, line))

    def insert_before(self, line, names, text):
        call = self.call(line, names)
        around = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and
                  node.lineno <= call.lineno and node.end_lineno >= call.end_lineno]
        statement = max(around, key=lambda node: (node.lineno, node.col_offset))
        if "{model}" in text:
            model = call.args[0].func.value if call.args and isinstance(call.args[0], ast.Call) and getattr(
                call.args[0].func, "attr", "") == "parameters" else None
            name = model and ast.get_source_segment(self.text.decode(), model)
            if not name or not name.replace(".", "").isidentifier():
                raise NoPlace("%s:%d does not say whose parameters they are" % (self.path, line))
            text = text.format(model=name)
        elif not any(isinstance(node, ast.Import) and any((each.asname or each.name) == "torch" for each in node.names)
                     for node in ast.walk(self.tree)):
            raise NoPlace("%s has no `import torch`" % self.path)
        at = self.offset(statement.lineno, 0)
        indent = self.text[at:at + statement.col_offset]
        if indent.strip():
            raise NoPlace("%s:%d has several statements" % (self.path, line))
        end = "\r\n" if self.text[at:].split(b"\n")[0].endswith(b"\r") else "\n"
        self.put(at, at, indent.decode() + text + end)
        self.inserted.append(statement.lineno - len(self.inserted))

    def diff(self, root):
        name = os.path.relpath(self.path, root)
        lines = difflib.unified_diff(*([line + "\n" for line in text.decode().split("\n")][:-1] + (
            [text.decode().split("\n")[-1]] if not text.endswith(b"\n") else []) for text in (self.before, self.text)),
            "a/" + name, "b/" + name)
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def top_of(path):
    """The folder that git would apply a diff in."""
    folder = os.path.dirname(path)
    while folder != os.path.dirname(folder):
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        folder = os.path.dirname(folder)
    return os.getcwd()


def place_of(trial, what):
    """File, line, and the names by which the constructor may be called."""
    made = [(loader.kind, loader.place) for loader in trial.loaders.values()] if what == "loader" else [
        (type(each), trial.places.get(id(each))) for each in trial.optimizers]
    for kind, place in made:
        if place:
            file, _, line = place.rpartition(":")
            return file, int(line), [each.__name__ for each in kind.__mro__[:-1]]
    raise NoPlace("no line of the program's own makes the %s" % what)


def keywords_of(name):
    """The kind of constructor at the place of a fix, and the arguments that it gets; None: a line comes before it."""
    if name == "workers":
        return "loader", {"num_workers": workers_here(), "persistent_workers": True}
    if name in LOADER_FIXES:
        return "loader", next(row.arguments[1] for row in ROWS if row.name == name)
    if name not in LINES and name not in ("fused", "foreach"):
        raise NoPlace("it is no single call: the page says what to write")
    return "optimizer", None if name in LINES else {name: True}


def script_folder():
    return os.path.dirname(os.path.realpath(sys.argv[0]))


def apply(trial, name, sources):
    what, arguments = keywords_of(name)
    file, line, names = place_of(trial, what)
    file = os.path.realpath(file)
    if not file.startswith(script_folder() + os.sep):
        raise NoPlace("%s is not in the script's folder, so that no copy with the fix can be measured" % file)
    source = sources.setdefault(file, Source(file))
    kept = source.text, source.tree
    try:
        if arguments is None:
            return source.insert_before(line, names, LINES[name])
        for key, value in arguments.items():
            source.set_keyword(line, names, key, value)
    except NoPlace:
        source.text, source.tree = kept
        raise


def write(trial):
    """Writes the diff to the file that the plan names, and what is not in it, with the reason, into the trial's notes. Beside
    it, FILE.tree is the script's folder by symbolic links, with the changed files: to be run in its place."""
    sources = {}
    for name in trial.plan["causes"]:
        try:
            apply(trial, name, sources)
        except (NoPlace, OSError) as error:
            trial.not_tried.append({"name": name, "cause": name, "kind": "fix", "why": str(error)})
    changed = [source for source in sources.values() if source.text != source.before]
    with open(trial.plan["patch"], "w", newline="") as file:
        file.write("".join(source.diff(top_of(source.path)) for source in changed))
    tree, folder = trial.plan["patch"] + ".tree", script_folder()
    script = Source(os.path.realpath(sys.argv[0]))  # as a link it would import from the folder that it leads to
    shutil.rmtree(tree, ignore_errors=True)
    link_tree(folder, tree, {os.path.relpath(source.path, folder): source.text for source in [script, *changed]})


def link_tree(folder, tree, changed):
    os.makedirs(tree)
    inner = {name.split(os.sep)[0] for name in changed if os.sep in name}
    for name in os.listdir(folder):
        if name == "__pycache__":  # the copy's compiled files are its own
            continue
        if name in inner:
            link_tree(os.path.join(folder, name), os.path.join(tree, name),
                      {path[len(name) + 1:]: text for path, text in changed.items() if path.startswith(name + os.sep)})
        elif name in changed:
            with open(os.path.join(tree, name), "wb") as file:
                file.write(changed[name])
        else:
            os.symlink(os.path.join(folder, name), os.path.join(tree, name))
