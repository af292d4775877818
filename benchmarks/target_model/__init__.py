"""The target model against published measurements: `python -m benchmarks.target_model`.

Every measurement stands in `points.json` with how its kernel is read. The kernels are built from
aicore ops here and timed by `time_kernel`, as those of a lowered graph are.
"""
