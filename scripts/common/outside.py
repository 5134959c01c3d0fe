"""Names that come from results, traces and folders, which somebody else may have written."""
import os
import unicodedata


def shown(text):
    """`text` for a terminal: "?" in place of what it would obey, and of what reorders the text around it."""
    return "".join("?" if unicodedata.category(one) in ("Cc", "Cs") or unicodedata.bidirectional(one) in
                   ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI") or one in "\u061c\u200e\u200f"
                   else one for one in text)


def beside(folder, name):
    """The path of the file that a result in `folder` names, "" if that is no regular file in it: a result may name a
    FIFO, which never ends, or a file of the user."""
    path = os.path.join(folder, name)
    is_inside = not os.path.isabs(name) and ".." not in name.split("/")
    return path if is_inside and "\0" not in name and os.path.isfile(path) else ""
