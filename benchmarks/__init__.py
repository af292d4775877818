"""Benchmarks; `python -m benchmarks [NAME...]` prints one JSON object per benchmark."""
