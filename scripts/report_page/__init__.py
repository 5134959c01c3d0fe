"""The page that scripts/report.py writes: sources.py reads, page.py and its templates show."""
