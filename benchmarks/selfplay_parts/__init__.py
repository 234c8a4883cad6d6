"""The parts of ``benchmarks/selfplay.py``, one module for each value of the column ``part``."""
