"""What the numbers of a `Target` are: unit and meaning of each field, and a chip as a text."""

from __future__ import annotations

from collections.abc import Iterator

from ge_xdsl.targets.calibration import FITTED
from ge_xdsl.targets.sources import SOURCES, UNCHECKED
from ge_xdsl.targets.target import Target

FIELDS: dict[str, tuple[str, str]] = {
    "cube_cores": ("cores", "cube cores"),
    "vector_cores": ("cores", "vector cores"),
    "clock_mhz": ("MHz", "clock of the cores"),
    "l1": ("bytes", "L1 of a cube core"),
    "l0a": ("bytes", "L0A, left factors"),
    "l0b": ("bytes", "L0B, right factors"),
    "l0c": ("bytes", "L0C, sums"),
    "ub": ("bytes", "UB of a vector core"),
    "bt": ("bytes", "bias table"),
    "fb": ("bytes", "fixpipe buffers, all together"),
    "l2": ("bytes", "L2 of the die"),
    "hbm": ("bytes", "memory; 0 where no table gives it"),
    "l0a_layout": ("", "order of the blocks in L0A"),
    "ub_reserved": ("bytes", "of UB that kernels may not use"),
    "l1_reserved": ("bytes", "of L1 that kernels may not use"),
    "gm_l1_rate": ("bytes/cycle", "GM to L1, port of a core"),
    "gm_ub_rate": ("bytes/cycle", "GM to UB, port of a core, data in L2"),
    "ub_gm_rate": ("bytes/cycle", "UB to GM, port of a core"),
    "l0c_gm_rate": ("bytes/cycle", "L0C to GM through the fixpipe"),
    "l0c_ub_rate": ("bytes/cycle", "L0C to UB; 0 where there is no such way"),
    "l1_ub_rate": ("bytes/cycle", "L1 to UB; 0 where there is no such way"),
    "ub_l1_rate": ("bytes/cycle", "UB to L1; 0 where there is no such way"),
    "l0c_elements": ("elements/cycle", "cast and quantisation stages of the fixpipe"),
    "l1_l0a_rate": ("bytes/cycle", "L1 to L0A"),
    "l1_l0b_rate": ("bytes/cycle", "L1 to L0B"),
    "l1_bt_rate": ("bytes/cycle", "L1 to the bias table"),
    "load_start": ("cycles", "of a load to L0 on top of its bytes"),
    "mmad_start": ("cycles", "of an mmad on top of its blocks"),
    "vector_start": ("cycles", "of a vector instruction on top of its repeats"),
    "dma_issue": ("cycles", "of a copy at least"),
    "scalar_latency": ("cycles", "from a vector result through the scalar unit and back"),
    "sync_all": ("cycles", "until all cores of a die have met"),
    "ub_latency": ("cycles", "from the end of a copy to UB until its data can be used"),
    "l1_latency": ("cycles", "from the end of a copy to L1, or from L0C, until it can be used"),
    "nd2nz_row": ("cycles", "of a row that is cut into blocks on top of its bytes"),
    "nd2nz_hit_rate": ("bytes/cycle", "within such a row, data in L2"),
    "nd2nz_cold_rate": ("bytes/cycle", "within such a row, data in HBM"),
    "line_sharing": ("", "part by which each core more that reads a row at once slows it"),
    "hbm_ub_bandwidth": ("bytes/s", "HBM to UB, all cores together"),
    "hbm_l1_bandwidth": ("bytes/s", "HBM to L1, all cores together"),
    "hbm_write_efficiency": ("", "bandwidth of writes as part of that of reads"),
    "hbm_dma_loss": ("bytes", "of HBM time that a copy costs on top of its own"),
    "l2_line": ("bytes", "line of L2; a row that begins inside one costs one more"),
    "l2_usable": ("", "part of L2 that data can fill before other data is pushed out"),
    "ub_stall": ("", "part of the cycles of a bank conflict for which copies stand still"),
    "join_power": ("", "p of (core^p + hbm^p)^(1/p), the time of core and HBM together"),
    "launch_us": ("us", "launch of a kernel"),
    "core_start_us": ("us", "of the launch for every core that is started"),
    "mmad_fp32_factor": ("", "cycles per block of an f32 mmad"),
    "vector_repeats": ("repeats", "of 256 bytes in one vector instruction; 0 for no limit"),
    "bank_conflict": ("", "factor of a vector instruction whose sources meet in UB banks"),
    "vector_rates": ("elements/cycle", "of 2 and of 4 bytes, by vector op"),
}
"""Field of `Target` -> unit and meaning."""


def description(chip: Target) -> list[dict[str, object]]:
    """Every number of a chip: field, value, unit, meaning, and where it comes from."""
    found: list[dict[str, object]] = []
    for name, (unit, meaning) in FIELDS.items():
        tag = chip.sources[name]
        source = SOURCES[tag]
        if tag == "FITTED":
            source = f"{source}: {FITTED[name]}"
        found.append(
            {
                "field": name,
                "value": value_of(chip, name),
                "unit": unit,
                "meaning": meaning,
                "tag": tag,
                "source": source,
            }
        )
    return found


def rate_tag(chip: Target, op: str) -> str:
    """Where the rates of a vector op come from."""
    return chip.rate_sources.get(op, chip.sources["vector_rates"])


def unchecked(chip: Target) -> list[str]:
    """The fields, and the rates of vector ops, that no document gives for a chip."""
    fields = [name for name in FIELDS if chip.sources[name] in UNCHECKED]
    rates = [op for op in chip.vector_rates if rate_tag(chip, op) in UNCHECKED]
    return [name for name in fields if name != "vector_rates"] + [f"{op} rate" for op in rates]


def value_of(chip: Target, name: str) -> object:
    """The value of a field as plain JSON; rates by op as a mapping."""
    value: object = getattr(chip, name)
    if name == "vector_rates":
        return {op: list(rates) for op, rates in chip.vector_rates.items()}
    return value


def describe(chip: Target) -> str:
    """A chip as text: a line per number with unit, meaning and source."""
    head = f"{chip.name}: arch {chip.arch}, kernels for {' and '.join(chip.lowers)} cores"
    rows = [list(_cells(item)) for item in description(chip)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]
    rates = [
        f"    {op:10} {two:4} {four:4}  [{rate_tag(chip, op)}] {SOURCES[rate_tag(chip, op)]}"
        for op, (two, four) in chip.vector_rates.items()
    ]
    found = unchecked(chip)
    foot = [f"  unchecked: {len(found)} of {len(FIELDS) - 1 + len(rates)}"] if found else []
    return "\n".join([head, *(f"  {line}" for line in lines), *rates, *foot]) + "\n"


def _cells(item: dict[str, object]) -> Iterator[str]:
    """Field, value with unit, meaning, source."""
    value = item["value"]
    text = "see below" if isinstance(value, dict) else number_text(value)
    yield str(item["field"])
    yield f"{text} {item['unit']}".rstrip()
    yield str(item["meaning"])
    yield f"[{item['tag']}] {item['source']}"


def number_text(value: object) -> str:
    """A number as short as it can be read back."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
