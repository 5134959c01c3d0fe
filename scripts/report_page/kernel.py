"""From the JSON of `chokepoint kernel` to a page: its findings, the source beside its counts, and a picture of each
access that wastes. Pictures are SVG, so the page shows them without a script."""
import pathlib

import markupsafe

from common import kernel_picture
from report_page import page

FOLDER = pathlib.Path(__file__).parent
MALFORMED = page.MALFORMED
PICTURES_MOST = 8


def render(found, before):
    """The page of a run, and of another before it."""
    script = (FOLDER / "theme.js").read_text()
    runs = ([page.view_kernel(before, "before", PICTURES_MOST)] if before else []) + \
        [page.view_kernel(found, "after" if before else "", PICTURES_MOST)]
    style = (FOLDER / "style.css").read_text() + (FOLDER / "kernel.css").read_text()
    return page.environment().get_template("kernel.html").render(
        runs=runs, style=markupsafe.Markup(style), script=markupsafe.Markup(script), figure=kernel_picture.figure,
        script_digest=page.digest_of(script))
