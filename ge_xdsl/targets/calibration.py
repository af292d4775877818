"""The numbers of the timing model that no document gives: what they mean, and what fixes them.

Each is fitted on arch 2201 to published measurements of which only one thing differs, not to the
mean error; `python -m benchmarks.target_model` prints them beside the measurements.
"""

FITTED = {
    "launch_us": "launch of a small kernel, apart from the cores that it starts",
    "core_start_us": "Exp of 8192x8192 against 2048x2048 f32 on 48 cores; small products on fewer",
    "dma_issue": "copies to UB of 1x64 against 64x64 f16: one instruction per 128 bytes",
    "ub_latency": "Add on one core, and with 8 KB against 32 KB tiles, one buffer",
    "l1_latency": "products with one buffer of 64 columns against two",
    "nd2nz_row": "MTE2 time of a product with rows of 128 against 512 bytes",
    "nd2nz_hit_rate": "MTE2 time of a product with L1 tiles of 64 against 256 columns",
    "nd2nz_cold_rate": "MTE2 time per row of products of 3072, of 6144; a matrix that 6 cores read",
    "line_sharing": "MTE2 time per row of products on 20 against 24 cores",
    "gm_ub_rate": "302 MB read four times in pieces of L2 size against streaming",
    "l0c_gm_rate": "products with f32 against f16 results of one shape",
    "mmad_start": "mmad of 128x256x512 and 128x128x512 in 8 instructions",
    "scalar_latency": "RmsNorm with one scalar per row, bound by neither HBM nor the vector unit",
    "hbm_ub_bandwidth": "copies to UB in tiles of 64x1024 f16",
    "hbm_dma_loss": "copies to UB in tiles of 64x64 against 64x1024; Add with 8 against 32 KB",
    "hbm_write_efficiency": "Add with and without L2 bypass, Exp of 8192x8192 f16",
    "l2_usable": "Add with and without L2 bypass",
    "ub_stall": "Add with and without bank conflicts",
    "join_power": "Add with one against two buffers",
}
"""Field of `Target` -> the measurements that identify it."""
