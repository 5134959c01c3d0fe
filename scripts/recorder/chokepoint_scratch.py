"""During a trial the program's files go to a scratch folder, since what it computes there is no result.

A file that the program opens for writing is in the scratch folder under its own absolute path, and is read from there
again; a file that it adds to is copied there first. Folders are made there, and files that it removes stay where they are.
Files that it holds open go on in a copy. All this is done in Python's functions. An audit hook (PEP 578) sees every opening
within Python, also those by other functions, and refuses the ones that would write elsewhere. It does not see how a
library in C or another program writes.
"""
import _io
import builtins
import errno
import fcntl
import functools
import gc
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import threading

NAMED_MOST = 50
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
LETTERS = {"+": os.O_RDWR, "w": os.O_WRONLY | os.O_TRUNC, "a": os.O_APPEND, "x": os.O_WRONLY | os.O_EXCL}
# In the folder for temporary files: what tempfile, multiprocessing and compilers make there, which other programs read.
TEMPORARY = re.compile(r"(tmp\w{8}|pymp-|torchinductor_|torch_|triton|cuda)")
# Functions of libraries that open a path in C, and which argument that is.
SAVERS = (("torch.serialization", "_open_zipfile_writer", 0), ("safetensors.torch", "serialize_file", 1))
SYSTEM = ("/dev/", "/proc/", "/sys/")
# Events that change a path: the places of the paths among their arguments, and that of the folder that they start from.
EVENTS = {"os.rename": ((0, 2), (1, 3)), "os.mkdir": ((0, 2),), "os.remove": ((0, 1),), "os.rmdir": ((0, 1),),
          "os.truncate": ((0, None),), "os.link": ((1, 3),), "os.symlink": ((1, 2),), "os.chmod": ((0, 2),),
          "os.chown": ((0, 3),), "os.utime": ((0, 3),), "sqlite3.connect": ((0, None),)}


class Busy(threading.local):
    """Whether this thread is in a function below, whose own calls are meant as they are."""
    now = False


class Scratch:
    def __init__(self, folder, own):
        """`own` is the trial's file; those of other ranks begin as it does. Beside it are links to the user's files."""
        self.folder = os.path.realpath(folder)
        self.allowed = (self.folder + os.sep, os.path.splitext(os.path.realpath(own))[0])
        self.temporary = os.path.realpath(tempfile.gettempdir()) + os.sep
        self.redirected, self.blocked = {}, {}  # as ordered sets
        self.saves = True  # else what the program wants to move may not be there
        self.busy = Busy()

    # --- Where a path leads ---

    def absolute(self, path, dir_fd=None):
        """None: not to a file of the user's."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return None
        path = os.fsdecode(path)
        if dir_fd is not None and dir_fd >= 0:
            path = os.path.join(os.readlink("/proc/self/fd/%d" % dir_fd), path)
        path = os.path.abspath(path)
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if (path + os.sep).startswith(self.allowed) or path.startswith(SYSTEM):
            return None
        if path.startswith(self.temporary) and TEMPORARY.match(path[len(self.temporary):]):
            return None
        return path

    def is_inside(self, path):
        return os.path.lexists(self.folder + path)

    def exists(self, path):
        return self.is_inside(path) or os.path.lexists(path)

    def note(self, path):
        if len(self.redirected) < NAMED_MOST:
            self.redirected[path] = True

    def to_write(self, path, keeps=False, exclusive=False):
        """Where to write instead; `keeps`: what the file holds stays."""
        if exclusive and self.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        target = self.folder + path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if keeps and not os.path.lexists(target) and os.path.isfile(path):
            shutil.copyfile(path, target)
        self.note(path)
        return target

    def to_open(self, path, flags, dir_fd=None):
        """The path to open in place of this one."""
        known = self.absolute(path, dir_fd)
        if known is not None and os.path.islink(known) and not self.is_inside(known):
            path = os.path.realpath(known)
            known = self.absolute(path)
        if known is None:
            return path
        if flags & WRITES:
            return self.to_write(known, not flags & os.O_TRUNC, flags & os.O_EXCL)
        return self.folder + known if self.is_inside(known) else path

    # --- Functions of Python ---

    def replaced(self, real, new):
        @functools.wraps(real)
        def function(*args, **kwargs):
            if self.busy.now:
                return real(*args, **kwargs)
            self.busy.now = True
            try:
                return new(real, *args, **kwargs)
            finally:
                self.busy.now = False

        return function

    def open(self, real, file, mode="r", *args, **kwargs):
        if isinstance(mode, str):
            flags = sum(flag for letter, flag in LETTERS.items() if letter in mode)
            file = self.to_open(file, flags)
        return real(file, mode, *args, **kwargs)

    def open_by_flags(self, real, path, flags, mode=0o777, *, dir_fd=None):
        return real(self.to_open(path, flags, dir_fd), flags, mode, dir_fd=dir_fd)

    def look(self, real, path=".", *args, **kwargs):
        """A file in the scratch folder is meant first."""
        known = self.absolute(path, kwargs.get("dir_fd"))
        return real(self.folder + known if known is not None and self.is_inside(known) else path, *args, **kwargs)

    def list(self, real, path="."):
        known = self.absolute(path)
        if known is None or not self.is_inside(known):
            return real(path)
        return list({**dict.fromkeys(real(path) if os.path.isdir(known) else ()), **dict.fromkeys(real(self.folder + known))})

    def scan(self, real, path="."):
        known = self.absolute(path)
        return real(self.folder + known if known is not None and not os.path.isdir(known) else path)

    def change(self, real, path, *args, **kwargs):
        """Changes or removes what is in the scratch folder; elsewhere that only seems to be done."""
        known = self.absolute(path, kwargs.get("dir_fd"))
        if known is None:
            return real(path, *args, **kwargs)
        if self.is_inside(known):
            return real(self.folder + known, *args, **kwargs)
        if not os.path.lexists(known):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self.note(known)

    def mkdir(self, real, path, mode=0o777, *, dir_fd=None):
        known = self.absolute(path, dir_fd)
        if known is None:
            return real(path, mode, dir_fd=dir_fd)
        if self.exists(known):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        if not self.exists(os.path.dirname(known)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self.note(known)
        return os.makedirs(self.folder + known, mode)

    def move(self, real, src, dst, *, src_dir_fd=None, dst_dir_fd=None):
        old, new = self.absolute(src, src_dir_fd), self.absolute(dst, dst_dir_fd)
        if old is None and new is None:
            return real(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        source = src if old is None else self.folder + old if self.is_inside(old) else old
        if not os.path.lexists(source):
            if not self.saves:
                return None
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), src, None, dst)
        is_folder = os.path.isdir(source)
        target = dst if new is None else self.folder + new if is_folder else self.to_write(new)
        if source == old:  # the user's own stays
            shutil.copytree(source, target) if is_folder else shutil.copy2(source, target)
        else:
            os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
            shutil.move(source, target)  # maybe to another disk
        return None

    def link(self, real, src, dst, *args, **kwargs):
        known = self.absolute(dst, kwargs.get("dir_fd", kwargs.get("dst_dir_fd")))
        return real(src, dst if known is None else self.to_write(known, exclusive=True), *args, **kwargs)

    def save(self, place):
        """For a library that opens a path in C, which is the argument at this place."""
        def save_(real, *args, **kwargs):
            args = list(args)
            if len(args) > place and isinstance(args[place], (str, bytes, os.PathLike)):
                args[place] = os.fspath(self.to_open(args[place], os.O_WRONLY | os.O_TRUNC))
            return real(*args, **kwargs)

        return save_

    # --- All ---

    def begin(self):
        """From now on, until the process ends."""
        os.makedirs(self.folder, exist_ok=True)
        self.move_open_files()
        news = {"open": self.open_by_flags, "mkdir": self.mkdir, "rename": self.move, "replace": self.move,
                "link": self.link, "symlink": self.link, "listdir": self.list, "scandir": self.scan,
                **dict.fromkeys(("stat", "lstat", "access", "chdir"), self.look),
                **dict.fromkeys(("remove", "unlink", "rmdir", "truncate", "chmod", "chown", "utime"), self.change)}
        supported = (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks)
        for name, new in news.items():
            real = getattr(os, name)
            setattr(os, name, self.replaced(real, new))
            for known in supported:
                if real in known:
                    known.add(getattr(os, name))
        builtins.open = io.open = self.replaced(builtins.open, self.open)
        for module, name, place in SAVERS:
            if hasattr(sys.modules.get(module), name):
                setattr(sys.modules[module], name, self.replaced(getattr(sys.modules[module], name), self.save(place)))
        sys.addaudithook(self.audit)

    def move_open_files(self):
        """The files that are open for writing go on in copies. Standard output and its like stay."""
        for each in gc.get_objects():
            if issubclass(type(each), _io._IOBase):
                try:
                    if each.writable():
                        each.flush()
                except (OSError, ValueError):
                    pass
        standard = {(known.st_dev, known.st_ino) for known in map(stat_of, range(3)) if known is not None}
        for number in map(int, os.listdir("/proc/self/fd")):
            known = stat_of(number)
            if known is None or not stat.S_ISREG(known.st_mode) or (known.st_dev, known.st_ino) in standard:
                continue
            flags = fcntl.fcntl(number, fcntl.F_GETFL)
            path = self.absolute(os.readlink("/proc/self/fd/%d" % number))
            if flags & os.O_ACCMODE == os.O_RDONLY or path is None or not os.path.isfile(path):
                continue
            target = os.open(self.to_write(path, keeps=True), flags & ~(os.O_TRUNC | os.O_EXCL) | os.O_CREAT)
            os.lseek(target, os.lseek(number, 0, os.SEEK_CUR), os.SEEK_SET)
            os.dup2(target, number, os.get_inheritable(number))
            os.close(target)

    def audit(self, event, args):
        if event == "open":
            if not isinstance(args[2], int) or not args[2] & WRITES:
                return
            places = ((0, None),)
        elif event in EVENTS:
            places = EVENTS[event]
        else:
            return
        before, self.busy.now = self.busy.now, True
        try:
            for place, folder in places:
                path = self.absolute(args[place], None if folder is None else args[folder])
                if path is None or args[place] in (":memory:", ""):
                    continue
                if event == "open" and before and not os.path.isabs(args[place]):
                    continue  # starts from a folder that the event does not tell; to_open() has let it pass
                if len(self.blocked) < NAMED_MOST:
                    self.blocked[path] = True
                raise PermissionError(errno.EPERM, "a trial of chokepoint keeps this file as it is", path)
        finally:
            self.busy.now = before


def stat_of(number):
    try:
        return os.fstat(number)
    except OSError:
        return None
