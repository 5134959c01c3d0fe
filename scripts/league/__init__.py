"""The parts of league.py: a corpus, the diagnosers, and how they are scored."""
