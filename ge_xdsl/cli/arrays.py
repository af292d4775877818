"""Input arrays of `ge-run`: from files, or random; and what is shown and saved of the outputs."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ge_xdsl.errors import CompileError, Location, UsageError, nearest, one_line

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp

    from ge_xdsl.dialects.ge.types import Array, Tensor

BLANK = 1 << 16
"""Elements of an input up to which it may hold sizes that shapes depend on."""
RANDOM_INTEGERS = 2
"""Random integers are 0 or 1: valid as masks, token numbers, indices and counts alike."""

NPZ_LIMIT = 2**30
"""Most bytes that an .npz file may unpack to."""


def gather_inputs(
    func: FuncOp,
    files: Sequence[str],
    archive: str | None,
    seed: int | None,
    shapes: Mapping[str, Sequence[int]],
    unread: bool = False,
) -> dict[str, Array]:
    """One array per graph input: `NAME=FILE.npy` entries, then an .npz file, then random values.

    Where nothing is computed (`unread`) a large input is one zero, seen in its shape.
    Raises UsageError for names that are no inputs, CompileError for files and inputs that do not
    fit.
    """
    from ge_xdsl.dialects.ge.names import input_names
    from ge_xdsl.dialects.ge.types import tensor_of

    names = input_names(func)
    tensors = dict(zip(names, map(tensor_of, func.body.block.arg_types), strict=True))
    found: dict[str, Array] = {}
    if archive is not None:
        for name, array in load_npz(archive).items():
            check_name(name, names, f"{archive}")
            found[name] = fitted(array, tensors[name])
    for entry in files:
        name, path = split_entry(entry, names, "--input")
        found[name] = fitted(load_npy(path), tensors[name])
    for name, tensor in tensors.items():
        if name not in found and seed is not None:
            shape = shapes.get(name)
            made = blank_array(tensor, shape) if unread else None
            found[name] = made if made is not None else random_array(name, tensor, seed, shape)
    missing = next((name for name in names if name not in found), None)
    if missing is not None:
        raise UsageError(
            f"no array for graph input '{missing}', "
            "expected --input NAME=FILE.npy, --inputs FILE.npz, --random-inputs, or --estimate "
            "for times alone"
        )
    return {name: found[name] for name in names}


def check_name(name: str, names: Sequence[str], where: str) -> None:
    """Raise UsageError when the graph has no input of this name."""
    if name not in names:
        known = ", ".join(names) or "none"
        hint = nearest(name, names)
        raise UsageError(f"{where}: no graph input '{name}', expected one of: {known}{hint}")


def split_entry(text: str, names: Sequence[str], flag: str) -> tuple[str, str]:
    """Name and value of `NAME=VALUE`; a name may hold equals signs itself.

    Raises UsageError for other text and for names that are no graph inputs.
    """
    parts = text.split("=")
    for i in range(1, len(parts)):
        if "=".join(parts[:i]) in names:
            return "=".join(parts[:i]), "=".join(parts[i:])
    if len(parts) == 1:
        known = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        only = f"{flag} {names[0]}={text}" if len(names) == 1 else ""
        raise UsageError(f"{flag} {text}, expected {only or f'NAME=VALUE, the inputs are {known}'}")
    check_name(parts[0], names, flag)
    return parts[0], "=".join(parts[1:])


def asked_shapes(func: FuncOp, entries: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """What `--shape NAME=DIMS` entries say, by input name; one may name a symbolic dimension.

    Raises UsageError for other text, and for names that the graph does not have.
    """
    from ge_xdsl.dialects.ge.names import input_names, symbolic_dims
    from ge_xdsl.passes.infer_shape import parse_dims, with_symbols

    symbols = dict.fromkeys(name for dims in symbolic_dims(func) for name in dims if name)
    names = list(dict.fromkeys([*input_names(func), *symbols]))
    found: dict[str, tuple[int, ...]] = {}
    for entry in entries:
        name, dims = split_entry(entry, names, "--shape")
        try:
            found[name] = parse_dims(dims)
        except ValueError as error:
            raise UsageError(f"--shape {entry}: {error}") from None
        if name in symbols and name not in input_names(func) and len(found[name]) != 1:
            raise UsageError(f"--shape {entry}, expected one number for dimension '{name}'")
    return with_symbols(func, found)


def sample_shapes(
    module: ModuleOp, entries: Sequence[str], file: str
) -> dict[str, tuple[int, ...]]:
    """What `--shape` entries say of the samples that a graph is tried on.

    Raises UsageError as `asked_shapes`, CompileError where a shape does not fit its input.
    """
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.passes.infer_shape import set_input_shapes

    found = asked_shapes(main_function(module), entries)
    try:
        if found:
            set_input_shapes(main_function(module.clone()), found)
    except CompileError as error:
        raise error.with_location(Location(file)) from None
    return found


def load_npy(path: str) -> Array:
    """The array of an .npy file, read-only; a file never runs code. Raises CompileError."""
    import numpy as np

    try:
        array: object = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError, MemoryError) as error:
        raise bad_file(path, error, "an .npy file") from None
    if not isinstance(array, np.ndarray):
        raise CompileError("is no .npy file, expected one array", location=Location(path))
    return array  # pyright: ignore[reportUnknownVariableType]


def load_npz(path: str) -> dict[str, Array]:
    """The arrays of an .npz file by name; a file never runs code. Raises CompileError."""
    import zipfile

    import numpy as np

    try:
        loaded: Any = np.load(path, mmap_mode="r", allow_pickle=False)
        if not hasattr(loaded, "files"):
            raise ValueError("it holds one array without a name")
        with loaded as archive:
            size = sum(entry.file_size for entry in archive.zip.infolist())
            if size > NPZ_LIMIT:
                raise ValueError(f"it unpacks to {size} bytes and may to {NPZ_LIMIT}")
            return {name: archive[name] for name in archive.files}
    except (
        ValueError,
        EOFError,
        OSError,
        MemoryError,
        KeyError,
        AttributeError,
        TypeError,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
    ) as error:
        raise bad_file(path, error, "an .npz file") from None


def bad_file(path: str, error: Exception, expected: str) -> CompileError:
    """One line for whatever numpy finds wrong with a file."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    text = (reason or type(error).__name__).split("\n")[0]
    if (
        "pickle" in text or "Python object" in text
    ):  # what numpy says of objects, and of any file that it does not know
        text = "it holds no plain array"
    return CompileError(
        f"cannot be read, {text[:1].lower()}{text[1:]}, expected {expected}",
        location=Location(path),
    )


def fitted(array: Array, tensor: Tensor) -> Array:
    """An array for an element type that numpy files cannot name: raw bytes, or float32 values."""
    from ge_xdsl.dialects.ge.types import numpy_dtype

    dtype = numpy_dtype(tensor.dtype)
    if dtype.isbuiltin == 1 or array.dtype == dtype:
        return array
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)
    return array.astype(dtype) if array.dtype == "float32" else array


def blank_array(tensor: Tensor, shape: Sequence[int] | None) -> Array | None:
    """A zero seen in the shape of a large input; None for one that may hold sizes."""
    import numpy as np

    from ge_xdsl.dialects.ge.types import numpy_dtype

    dims = tensor.shape if shape is None else shape
    dims = tuple(1 if dim < 0 else dim for dim in dims or ())
    dtype = numpy_dtype(tensor.dtype)
    if prod(dims) <= BLANK or dtype.kind == "O":
        return None
    return np.broadcast_to(np.zeros((), dtype), dims)


def random_array(name: str, tensor: Tensor, seed: int, shape: Sequence[int] | None) -> Array:
    """Values that depend on the seed, the name and the shape only: normal floats, small integers.

    Unknown dimensions are those of `shape`, or 1.
    """
    import numpy as np

    from ge_xdsl.dialects.ge.types import numpy_dtype

    dims = concrete_shape(name, tensor, shape)
    rng = np.random.default_rng([seed, zlib.crc32(name.encode("utf-8"))])
    dtype = numpy_dtype(tensor.dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, dims).astype(dtype)
    if dtype.kind in "iu" or "int" in dtype.name:
        top = min(RANDOM_INTEGERS, int(_top(dtype)) + 1)
        return rng.integers(0, top, dims).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(dims) + 1j * rng.standard_normal(dims)).astype(dtype)
    if dtype.kind == "O":
        raise CompileError(
            "is DT_STRING, expected an --input file", subject=f"graph input '{name}'"
        )
    values = rng.standard_normal(dims, np.float32)
    return (np.abs(values) if dtype.name == "float8_e8m0fnu" else values).astype(dtype)


def _top(dtype: np.dtype[Any]) -> int:
    import ml_dtypes

    return int(ml_dtypes.iinfo(dtype).max)


def concrete_shape(name: str, tensor: Tensor, shape: Sequence[int] | None) -> tuple[int, ...]:
    """The shape of a random input: as asked, else as declared with 1 for unknown dimensions.

    Raises CompileError for an unknown rank and for more than ELEMENT_LIMIT elements.
    """
    from ge_xdsl.dialects.ge.limits import check_shape

    if shape is None:
        shape = tensor.shape
    if shape is None:
        raise CompileError(
            "rank is unknown, expected --shape NAME=1x3x224x224", subject=f"graph input '{name}'"
        )
    dims = tuple(1 if dim < 0 else dim for dim in shape)
    try:
        check_shape(dims, "array")
    except ValueError as error:
        raise CompileError(str(error), subject=f"graph input '{name}'") from None
    return dims


def assumed_shapes(
    func: FuncOp, inputs: Mapping[str, Array], asked: Mapping[str, Sequence[int]], did: str = "ran"
) -> list[str]:
    """A line per input of unknown dimensions that `did` with 1 for each, as none was asked."""
    from ge_xdsl.dialects.ge.names import input_names
    from ge_xdsl.dialects.ge.shapes import shape_text
    from ge_xdsl.dialects.ge.types import tensor_of

    lines: list[str] = []
    for name, arg in zip(input_names(func), func.body.block.args, strict=True):
        declared, shape = tensor_of(arg.type).shape or (), inputs[name].shape
        unknown = [i for i, dim in enumerate(declared) if dim < 0]
        if unknown and name not in asked and all(shape[i] == 1 for i in unknown):
            lines.append(
                f"graph input '{name}' is {shape_text(declared)} and {did} as {shape_text(shape)}, "
                f"expected --shape {name}=... for other dimensions"
            )
    return lines


def digest(array: Array) -> str:
    """The first 16 hex digits of the SHA-256 of an array's type, shape and bytes."""
    import hashlib

    import numpy as np

    head = f"{array.dtype.name} {array.shape}".encode()
    if array.dtype.kind == "O":
        body = repr(array.tolist()).encode()
    else:
        body = np.ascontiguousarray(array).tobytes()
    return hashlib.sha256(head + body).hexdigest()[:16]


def output_lines(outputs: Mapping[str, Array]) -> list[str]:
    """Name, shape, element type and digest of each output, a line each."""
    from ge_xdsl.dialects.ge.shapes import shape_text

    return [
        f"output '{one_line(name)}': {shape_text(array.shape)} {array.dtype.name} {digest(array)}"
        for name, array in outputs.items()
    ]


def save_npz(path: str, outputs: Mapping[str, Array]) -> None:
    """Write arrays under their names; types that numpy files cannot name become float32."""
    import zipfile

    import numpy as np

    def fill(name: str) -> None:
        with zipfile.ZipFile(name, "w") as archive:
            for key, array in outputs.items():
                known = array.dtype.isbuiltin == 1
                with archive.open(f"{key}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array if known else array.astype("float32"))

    from ge_xdsl.cli.output import write_file

    if any(array.dtype.kind == "O" for array in outputs.values()):
        raise CompileError("an output is DT_STRING, expected numbers only", location=Location(path))
    write_file(str(Path(path)), fill)
