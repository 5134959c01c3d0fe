"""From the JSON of `chokepoint kernel` to a page: its findings, the source beside its counts, and a picture of each
access that wastes. Pictures are SVG, so the page shows them without a script."""
from common import kernel_picture
from report_page import page

MALFORMED = page.MALFORMED
PICTURES_MOST = 8


def render(found, before):
    """The page of a run, and of another before it."""
    runs = ([page.view_kernel(before, "before", PICTURES_MOST)] if before else []) + \
        [page.view_kernel(found, "after" if before else "", PICTURES_MOST)]
    return page.filled("kernel.html", ["theme.js"], page.STYLES, runs=runs, figure=kernel_picture.figure)
