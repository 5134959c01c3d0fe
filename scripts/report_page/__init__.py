"""The pages that scripts/report.py writes. For `report`, sources.py reads, page.py and its templates show."""
