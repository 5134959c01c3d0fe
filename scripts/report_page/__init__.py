"""The pages that scripts/report.py writes. Of `report`: sources.py reads, page.py and its templates show."""
