"""Weights on disk: reading and writing `.mlir` with its `.safetensors`, and files that lie."""

import json
import os
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.store import HEADER_LIMIT, Store
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.dialects.ge.weights import Weight, WeightAttr, array_of, const_attr
from ge_xdsl.errors import CompileError, UsageError
from ge_xdsl.exporters.mlir import mlir_text, write_mlir
from ge_xdsl.importers import load_module
from ge_xdsl.importers.mlir import attach_weights, load_mlir
from ge_xdsl.pattern.equal import same_constant

W = np.arange(100, dtype=np.float32).reshape(4, 25)


def module_of(*weights):
    """A module whose graph holds a Const per (key, array) or (key, array, DataType)."""
    module = parse_module("func.func @main() { func.return }")
    block = main_function(module).body.block
    for i, (key, array, *dtype) in enumerate(weights):
        attr = const_attr(array, key, *dtype)
        const = op_class("Const").build(value=attr, node_name=f"c{i}")
        block.insert_op_before(const, block.last_op)
    return module


def consts(module):
    return [op for op in ge_ops(main_function(module)) if op.op_type == "Const"]


def arrays(module):
    return [op.value for op in consts(module)]


def header_of(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length])


# Writing and reading back


def test_a_weight_goes_to_the_store_and_comes_back_as_a_view(tmp_path):
    path = tmp_path / "m.mlir"
    assert write_mlir(module_of(("w", W)), path) == tmp_path / "m.safetensors"
    assert sorted(os.listdir(tmp_path)) == ["m.mlir", "m.safetensors"]
    assert 'attributes {ge.weights = "m.safetensors"}' in path.read_text()
    assert '#ge.weight<"w">' in path.read_text()
    module = load_mlir(path)
    verify(module)
    (array,) = arrays(module)
    np.testing.assert_array_equal(array, W)
    assert not array.flags.owndata
    assert not array.flags.writeable
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    assert type(getattr(base, "obj", base)).__name__ == "mmap"


STORED = [
    (np.float32, "F32"),
    (np.float16, "F16"),
    (ml_dtypes.bfloat16, "BF16"),
    (np.float64, "F64"),
    (np.int8, "I8"),
    (np.int16, "I16"),
    (np.int32, "I32"),
    (np.int64, "I64"),
    (np.uint8, "U8"),
    (np.uint16, "U16"),
    (np.uint32, "U32"),
    (np.uint64, "U64"),
    (np.bool_, "BOOL"),
    (ml_dtypes.float8_e5m2, "F8_E5M2"),
    (ml_dtypes.float8_e4m3fn, "F8_E4M3"),
    (np.complex64, "U8"),
    (np.complex128, "U8"),
    (ml_dtypes.int4, "U8"),
    (ml_dtypes.float8_e8m0fnu, "U8"),
]


@pytest.mark.parametrize(("dtype", "name"), STORED, ids=lambda v: str(v))
def test_every_element_type_survives(tmp_path, dtype, name):
    array = (np.arange(99) % 7).astype(dtype).reshape(9, 11)
    write_mlir(module_of(("w", array)), tmp_path / "m.mlir")
    assert header_of(tmp_path / "m.safetensors")["w"]["dtype"] == name
    (found,) = arrays(load_mlir(tmp_path / "m.mlir"))
    assert found.dtype == array.dtype
    assert found.tobytes() == array.tobytes()


def test_the_ir_type_tells_apart_what_the_store_does_not(tmp_path):
    array = np.arange(99, dtype=np.int8)
    write_mlir(module_of(("q", array, DataType.DT_QINT8)), tmp_path / "m.mlir")
    (const,) = consts(load_mlir(tmp_path / "m.mlir"))
    assert const.properties["value"].data.tensor == Tensor(DataType.DT_QINT8, (99,))
    np.testing.assert_array_equal(const.value, array)


def test_another_reader_agrees(tmp_path):
    ints = np.arange(70, dtype=np.int64)
    write_mlir(module_of(("a", W.astype(np.float16)), ("b", ints)), tmp_path / "m.mlir")
    found = load_file(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(found["a"], W.astype(np.float16))
    np.testing.assert_array_equal(found["b"], ints)


def test_a_store_that_another_writer_made_is_read(tmp_path):
    save_file({"w": W}, tmp_path / "m.safetensors", metadata={"format": "np"})
    module = load_text(tmp_path, '"m.safetensors"')
    np.testing.assert_array_equal(arrays(module)[0], W)


def test_arrays_that_are_not_contiguous(tmp_path):
    big = np.arange(2**21, dtype=np.int16).reshape(2**10, 2**11)
    spread = np.broadcast_to(np.float32(2.5), (3, 1000))
    empty = np.zeros((0, 3), np.complex64)
    write_mlir(module_of(("t", big.T), ("s", spread), ("e", empty)), tmp_path / "m.mlir")
    found = arrays(load_mlir(tmp_path / "m.mlir"))
    np.testing.assert_array_equal(found[0], big.T)
    np.testing.assert_array_equal(found[1], spread)
    assert found[2].shape == (0, 3)


def test_equal_graphs_give_equal_bytes(tmp_path):
    parts = [("a", W), ("b", W.astype(np.int8)), ("c", W.astype(np.float64))]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_mlir(module_of(*parts), tmp_path / name / "m.mlir")
    for file in ("m.mlir", "m.safetensors"):
        one, two = ((tmp_path / name / file).read_bytes() for name in ("one", "two"))
        assert one == two
    offsets = {
        k: v["data_offsets"][0] for k, v in header_of(tmp_path / "one/m.safetensors").items()
    }
    assert offsets == {"c": 0, "a": 800, "b": 1200}


def test_keys_are_made_unique(tmp_path):
    module = module_of(("w", W), ("w", W + 1), ("w", W.copy()), ("w", W + 2))
    write_mlir(module, tmp_path / "m.mlir")
    assert list(header_of(tmp_path / "m.safetensors")) == ["w", "w_1", "w_2"]
    found = arrays(load_mlir(tmp_path / "m.mlir"))
    for array, expected in zip(found, (W, W + 1, W, W + 2), strict=True):
        np.testing.assert_array_equal(array, expected)
    assert [op.properties["value"].data.key for op in consts(module)] == ["w"] * 4


@pytest.mark.parametrize("key", ["日本/权重:0", 'a"b', "a\\b", "a\nb", "\x01", "é"])
def test_keys_in_any_script(tmp_path, key):
    write_mlir(module_of((key, W)), tmp_path / "m.mlir")
    assert list(load_file(tmp_path / "m.safetensors")) == [key]
    np.testing.assert_array_equal(arrays(load_mlir(tmp_path / "m.mlir"))[0], W)


def test_a_store_can_be_replaced_while_it_is_mapped(tmp_path):
    path = tmp_path / "m.mlir"
    write_mlir(module_of(("w", W), ("v", W * 2)), path)
    module = load_mlir(path)
    func = main_function(module)
    first = next(iter(func.body.block.ops))
    first.detach()
    write_mlir(module, path)
    (kept,) = arrays(load_mlir(path))
    np.testing.assert_array_equal(kept, W * 2)
    np.testing.assert_array_equal(arrays(module)[0], W * 2)


def test_small_constants_need_no_store(tmp_path):
    write_mlir(module_of(("w", W[:1])), tmp_path / "m.mlir")
    assert os.listdir(tmp_path) == ["m.mlir"]
    assert "dense<" in (tmp_path / "m.mlir").read_text()
    assert "ge.weights" not in (tmp_path / "m.mlir").read_text()


def test_the_module_is_as_it_was_after_writing(tmp_path):
    module = module_of(("w", W))
    before = module_text(module)
    write_mlir(module, tmp_path / "m.mlir")
    assert module_text(module) == before


# Text for a stream


def test_text_names_the_store_that_it_came_from(tmp_path):
    write_mlir(module_of(("w", W)), tmp_path / "m.mlir")
    text, warning = mlir_text(load_mlir(tmp_path / "m.mlir"))
    assert text == (tmp_path / "m.mlir").read_text()
    assert warning == ""


def test_text_without_a_store_warns(tmp_path):
    text, warning = mlir_text(module_of(("w", W)))
    assert "ge.weights" not in text
    assert warning == "the data of 1 weight is not written, expected -o FILE.mlir"
    write_mlir(module_of(("w", W)), tmp_path / "m.mlir")
    module = load_mlir(tmp_path / "m.mlir")
    other = op_class("Const").build(value=const_attr(W + 1, "n"), node_name="n")
    main_function(module).body.block.insert_op_before(
        other, main_function(module).body.block.last_op
    )
    text, warning = mlir_text(module)
    assert "ge.weights" not in text
    assert warning == "the data of 2 weights is not written, expected -o FILE.mlir"


# Failures of writing


def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "m.mlir"
    write_mlir(module_of(("w", W)), path)
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ge_xdsl.exporters.mlir.write_store", full)
    with pytest.raises(CompileError, match="cannot use the file, no space left on device"):
        write_mlir(module_of(("w", W + 1)), path)
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("none/m.mlir", "cannot use the file, no such file or directory"),
        ("m.safetensors", "ending is '.safetensors', expected .mlir"),
        (".", "is no regular file, expected one beside which the weights can stand"),
        ("m.mlir/deep.mlir", "cannot use the file, not a directory"),
    ],
)
def test_targets_that_cannot_be_written(tmp_path, target, message):
    (tmp_path / "m.mlir").write_text("")
    with pytest.raises(CompileError, match=message):
        write_mlir(module_of(("w", W)), tmp_path / target)
    assert os.listdir(tmp_path) == ["m.mlir"]


def test_a_device_is_written_through_and_stays():
    assert write_mlir(module_of(), "/dev/null") is None
    assert not Path("/dev/null").is_file()
    with pytest.raises(CompileError, match="cannot use the file, is a directory"):
        write_mlir(module_of(), "/tmp")


def test_types_that_have_no_bytes(tmp_path):
    words = np.array(["a"] * 99, object)
    with pytest.raises(CompileError, match="element type is DT_STRING, expected one of fixed size"):
        write_mlir(module_of(("s", words, DataType.DT_STRING)), tmp_path / "m.mlir")
    odd = WeightAttr(Weight("r", W, Tensor(DataType.DT_RESOURCE, (4, 25))))
    module = module_of(("w", W))
    consts(module)[0].properties["value"] = odd
    with pytest.raises(CompileError, match="weight 'r': DT_RESOURCE has no numpy type"):
        write_mlir(module, tmp_path / "m.mlir")
    assert not os.listdir(tmp_path)


def test_weights_without_data_cannot_be_written(tmp_path):
    module = module_of(("w", W))
    consts(module)[0].properties["value"] = WeightAttr(Weight("lost"))
    with pytest.raises(
        CompileError, match="ge.Const 'c0': weight 'lost' has no data, expected its"
    ):
        write_mlir(module, tmp_path / "m.mlir")


# Files that lie


def load_text(folder, weights='"m.safetensors"', key="w", type_text="tensor<4x25xf32>", op=""):
    attribute = f"attributes {{ge.weights = {weights}}} " if weights else ""
    op = op or f'%c = ge.Const() {{value = #ge.weight<"{key}">}} : () -> {type_text}'
    text = (
        f"builtin.module {attribute}{{\n  func.func @main() {{\n    {op}\n    func.return\n  }}\n}}"
    )
    (folder / "m.mlir").write_text(text)
    return load_mlir(folder / "m.mlir")


DATA = W.tobytes()


def store(header, data=DATA, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(4, 25), offsets=(0, 400)):
    return {"w": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}}


LIES = {
    "empty": (b"", "has 0 bytes, expected a header of at least 8"),
    "short": (b"1234567", "has 7 bytes, expected a header of at least 8"),
    "long header": (store(entry(), length=2**40), r"header length is 1099511627776, expected at"),
    "no json": (store(b"{"), "header is no JSON text, "),
    "no utf-8": (store(b"\xff\xfe"), "header is no JSON text, "),
    "deep json": (store(b"[" * 100_000), "header is no JSON text, "),
    "no object": (store(b"[]"), "header is no JSON object, expected one"),
    "key twice": (store(b'{"w":{},"w":{}}'), "header has the key 'w' twice, expected it once"),
    "no entry": (store({"w": 3}), "'w': entry is not {dtype, shape, data_offsets}, expected these"),
    "no dtype": (store({"w": {"shape": [], "data_offsets": [0, 4]}}), "'w': entry is not {dtype,"),
    "negative dim": (store(entry(shape=(-4, -25))), "'w': entry is not {dtype, shape, data_off"),
    "float dim": (store(entry(shape=(4.0, 25))), "'w': entry is not {dtype, shape, data_offsets}"),
    "bool dim": (store(entry(shape=(True, 100))), "'w': entry is not {dtype, shape, data_offsets}"),
    "one offset": (store(entry(offsets=(0,))), "'w': entry is not {dtype, shape, data_offsets}"),
    "rank": (store(entry(shape=[1] * 70)), "'w': has 70 dimensions, expected at most 64"),
    "outside": (store(entry(offsets=(8, 408))), "data_offsets are 8 and 408, expected a range in"),
    "backwards": (store(entry(offsets=(400, 0))), "data_offsets are 400 and 0, expected a range"),
    "size": (store(entry(offsets=(0, 396))), "'w' has 396 bytes, expected 400"),
    "dtype": (
        store(entry(dtype="I32")),
        r"'w' is I32\[4, 25\], expected F32\[4, 25\] for tensor<4x25xf32>",
    ),
    "shape": (store(entry(shape=(25, 4))), r"'w' is F32\[25, 4\], expected F32\[4, 25\] for"),
    "absent": (store({}), "'w' is not in the file, expected it"),
}


@pytest.mark.parametrize(("data", "message"), LIES.values(), ids=list(LIES))
def test_a_lying_store_is_refused(tmp_path, data, message):
    (tmp_path / "m.safetensors").write_bytes(data)
    with pytest.raises(CompileError) as error:
        load_text(tmp_path)
    text = str(error.value)
    assert re.search(message, text), text
    assert "m.safetensors" in text
    assert all(": error: " in line or ": note: " in line for line in text.splitlines())


def test_an_error_names_text_op_and_store(tmp_path):
    (tmp_path / "m.safetensors").write_bytes(store({}))
    with pytest.raises(CompileError) as error:
        load_text(tmp_path)
    file = tmp_path / "m.mlir"
    assert str(error.value).splitlines() == [
        f"{file}:3:5: error: ge.Const 'c': weight 'w' is not in the file, expected it",
        f"{file}:3:5: note: {tmp_path / 'm.safetensors'}: the weights are here",
    ]


def test_the_header_limit_holds(tmp_path, monkeypatch):
    assert HEADER_LIMIT == 100_000_000
    monkeypatch.setattr("ge_xdsl.dialects.ge.store.HEADER_LIMIT", 16)
    (tmp_path / "m.safetensors").write_bytes(store(entry()))
    with pytest.raises(CompileError, match="header length is .*, expected at most 16"):
        Store(tmp_path / "m.safetensors")


def test_a_bool_must_be_one(tmp_path):
    header = {"w": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}
    (tmp_path / "m.safetensors").write_bytes(store(header, b"\x01\x02"))
    with pytest.raises(CompileError, match="has a BOOL that is neither 0 nor 1"):
        load_text(tmp_path, type_text="tensor<2xi1>")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": '"../m.safetensors"'}, "ge.weights is '../m.safetensors', expected a file in"),
        ({"weights": '"/m.safetensors"'}, "ge.weights is '/m.safetensors', expected a file in the"),
        ({"weights": '"a/m.safetensors"'}, "ge.weights is 'a/m.safetensors', expected a file in"),
        ({"weights": '""'}, "ge.weights is '', expected a file in the same folder"),
        ({"weights": '".."'}, "ge.weights is '..', expected a file in the same folder"),
        ({"weights": '"a\\\\b"'}, r"ge.weights is 'a.b', expected a file in the same folder"),
        ({"weights": '"link"'}, "ge.weights is 'link', expected a file in the same folder"),
        ({"weights": "3 : i64"}, "ge.weights is 3 : i64, expected a string"),
        ({"weights": '"none"'}, "cannot use the file, no such file or directory"),
        ({"weights": '"pipe"'}, "is no regular file, expected one"),
        ({"weights": '"folder"'}, "is no regular file, expected one"),
        ({"weights": ""}, "weight 'w' has no data, expected the module attribute ge.weights"),
        (
            {"type_text": "tensor<?x25xf32>"},
            "'w' type is tensor<\\?x25xf32>, expected known dimensions",
        ),
        ({"type_text": "tensor<4x25x!ge.element<DT_STRING>>"}, "DT_STRING, expected one of fixed"),
        ({"type_text": "tensor<4x25x!ge.element<DT_RESOURCE>>"}, "DT_RESOURCE has no numpy type"),
        (
            {"op": '%c = ge.Add(%c, %c) {_w = #ge.weight<"w">} : '
             "(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"},
            "is not the value of a Const, expected one",
        ),
    ],
)  # fmt: skip
def test_names_and_uses_that_are_refused(tmp_path, options, message):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    for place in (tmp_path, folder):
        (place / "m.safetensors").write_bytes(store(entry()))
    (folder / "link").symlink_to(tmp_path / "m.safetensors")
    with pytest.raises(CompileError, match=message):
        load_text(folder, **options)


def test_a_constant_of_another_kind_is_refused(tmp_path):
    (tmp_path / "m.safetensors").write_bytes(store(entry()))
    module = parse_module(
        'builtin.module attributes {ge.weights = "m.safetensors"} { func.func @main() {\n'
        '%c = "ge.Const"() <{value = #ge.weight<"w">}> : () -> i32\nfunc.return } }'
    )
    with pytest.raises(CompileError, match="weight 'w' type is i32, expected a tensor"):
        attach_weights(module, "m.mlir", tmp_path)


def test_altered_headers_never_give_another_exception(tmp_path):
    rng = np.random.default_rng(0)
    good = np.frombuffer(store(entry()), np.uint8)
    for _ in range(300):
        bad = good.copy()
        bad[rng.integers(0, 70, 2)] = rng.integers(32, 127, 2)
        (tmp_path / "m.safetensors").write_bytes(bad.tobytes())
        try:
            assert isinstance(load_text(tmp_path).ops.first, object)
        except CompileError as error:
            assert "m.safetensors" in str(error)


# Choosing a reader


def test_the_ending_chooses_the_reader(tmp_path):
    for name in ("m.mlir", "m.txt"):
        (tmp_path / name).write_text("func.func @main() { func.return }")
    assert main_function(load_module(tmp_path / "m.mlir")).sym_name.data == "main"
    assert load_module(tmp_path / "m.txt", input_format="mlir")
    with pytest.raises(CompileError, match=r"ending is '.dat', expected .mlir or .onnx or .air or"):
        load_module(tmp_path / "m.dat")
    with pytest.raises(UsageError, match="format is 'onxn', expected mlir or onnx or .*, did you"):
        load_module(tmp_path / "m.mlir", input_format="onxn")
    with pytest.raises(CompileError, match="is no ONNX model, expected a serialized ModelProto"):
        load_module(tmp_path / "m.mlir", input_format="onnx")


def test_standard_input(tmp_path, monkeypatch):
    (tmp_path / "m.mlir").write_text("func.func @main() { func.return }")
    with open(tmp_path / "m.mlir") as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main_function(load_module("-"))
    with open(tmp_path / "m.mlir") as file:
        monkeypatch.setattr("sys.stdin", file)
        with pytest.raises(CompileError, match="^<stdin>: error: is no ONNX model"):
            load_module("-", input_format="onnx")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.mlir", "none.mlir: error: cannot use the file, no such file or directory"),
        ("folder.mlir", "folder.mlir: error: is no regular file, expected one"),
        ("latin.mlir", "latin.mlir:2:4: error: byte is 0xe9, expected UTF-8 text"),
        ("bad.mlir", "bad.mlir:1:1: error: "),
        ("none.onnx", "none.onnx: error: cannot use the file, no such file or directory"),
        ("nul\0.mlir", "error: cannot use the file, embedded null byte"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, message):
    (tmp_path / "folder.mlir").mkdir()
    (tmp_path / "latin.mlir").write_bytes(b"// x\n// \xe9")
    (tmp_path / "bad.mlir").write_text("}{")
    with pytest.raises(CompileError) as error:
        load_module(tmp_path / name)
    assert message in str(error.value)


def test_a_boolean_constant_is_the_same_from_text_and_from_an_array():
    text = "%c = ge.Const() {value = dense<[true, false]> : tensor<2xi1>} : () -> tensor<2xi1>"
    module = parse_module(f"func.func @main() {{\n  {text}\n  func.return\n}}\n")
    (const,) = ge_ops(module)
    made = const_attr(np.array([True, False]))
    assert const.properties["value"] == made
    assert same_constant(const, made)
    assert not same_constant(const, const_attr(np.array([True, True])))
    assert array_of(made).tolist() == [True, False]
