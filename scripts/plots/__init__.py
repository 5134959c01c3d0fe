"""The kinds of plots, one per file. Each has `data`, which picks the figures from files and needs no
matplotlib, and `draw`, which draws nothing else than that."""
