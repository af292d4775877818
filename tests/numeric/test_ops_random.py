"""Random numbers: published words of Philox, moments, ranges and repeatability."""

import numpy as np
import pytest
from op_runs import make, run
from op_witness import BF16, F16, F32, F64, I32, I64, U8
from xdsl.traits import Pure

from ge_xdsl.dialects.ge.families import FAMILIES
from ge_xdsl.dialects.ge.random import philox_words
from ge_xdsl.dialects.ge.registry import op_class

MANY = np.array([40, 500])
U64 = np.uint64


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [
        (0, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (2**64 - 1, 2**128 - 1, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            0x299F31D0A4093822,
            0x0370734413198A2E85A308D3243F6A88,
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_as_published(key, counter, words):
    low, high = counter & (2**64 - 1), counter >> 64
    assert philox_words(key, low, high, 4).tolist() == words
    assert philox_words(key, low, high, 3).tolist() == words[:3]


def test_the_counter_steps_and_carries():
    whole = philox_words(7, 2**64 - 1, 5, 12).tolist()
    assert whole[4:8] == philox_words(7, 0, 6, 4).tolist()
    assert whole[8:] == philox_words(7, 1, 6, 4).tolist()


def test_only_stateless_ops_are_pure():
    for op in FAMILIES["random"].split():
        assert op_class(op).has_trait(Pure) == op.startswith("Stateless")


@pytest.mark.parametrize(("number", "dtype"), [(0, F32), (1, F16), (27, BF16), (11, F64)])
def test_uniform(number, dtype):
    y = run("RandomUniform", MANY, dtype=number, seed=3)[0]
    assert y.dtype == dtype
    wide = y.astype(F64)
    assert wide.min() >= 0
    assert wide.max() < 1
    assert abs(wide.mean() - 0.5) < 0.01
    assert abs(wide.var() - 1 / 12) < 0.01


@pytest.mark.parametrize(("number", "dtype"), [(0, F32), (1, F16), (11, F64)])
def test_normal(number, dtype):
    for op, variance in (("RandomStandardNormal", 1.0), ("TruncatedNormal", 0.7737)):
        wide = run(op, MANY, dtype=number, seed2=3)[0].astype(F64)
        assert abs(wide.mean()) < 0.03
        assert abs(wide.var() - variance) < 0.03
        assert (np.abs(wide).max() <= 2) == (op == "TruncatedNormal")
    assert run("TruncatedNormal", MANY, dtype=number)[0].dtype == dtype


@pytest.mark.parametrize("dtype", [I32, I64])
def test_integers(dtype):
    y = run("RandomUniformInt", MANY, np.array(-2, dtype), np.array(3, dtype))[0]
    assert y.dtype == dtype
    counts = np.unique(y, return_counts=True)
    assert counts[0].tolist() == [-2, -1, 0, 1, 2]
    assert (np.abs(counts[1] - 4000) < 300).all()


def test_shuffle_keeps_the_rows():
    x = np.arange(100, dtype=F16).reshape(50, 2)
    y = run("RandomShuffle", x, seed=1)[0]
    assert (y != x).any()
    assert sorted(y.tolist()) == x.tolist()
    assert run("RandomShuffle", np.array(5, F32))[0] == 5


@pytest.mark.parametrize(("number", "dtype"), [(3, I32), (9, I64)])
def test_multinomial(number, dtype):
    chances = np.array([[0.1, 0.6, 0.3], [0.5, 0, 0.5]])
    with np.errstate(divide="ignore"):
        logits = (np.log(chances) + np.array([[5], [-3]])).astype(F32)
    y = run("Multinomial", logits, np.array(20000, I32), dtype=number)[0]
    assert y.dtype == dtype
    for row, wanted in zip(y, chances, strict=True):
        assert np.abs(np.bincount(row, minlength=3) / 20000 - wanted).max() < 0.02


def test_masks():
    shape, prob = np.array([10, 100]), np.array(0.25, F32)
    seed = np.array(9, I64)
    found = {
        "DropOutGenMask": run("DropOutGenMask", shape, prob, seed=9)[0],
        "StatelessDropOutGenMask": run(
            "StatelessDropOutGenMask", shape, prob, seed, seed, np.array([4, 0], I64)
        )[0],
    }
    for y in found.values():
        assert (y.dtype, y.shape) == (U8, (128,))
        assert abs(np.unpackbits(y).mean() - 0.25) < 0.05
    words = philox_words(9, 4, 0, 1024)
    bits = [(int(w) + 0.5) / 2**32 < 0.25 for w in words]
    assert np.unpackbits(found["StatelessDropOutGenMask"], bitorder="little").tolist() == bits
    zero = np.array([0, 0], I64)
    first, second = (
        run("StatelessDropOutGenMask", shape, prob, seed, seed, offset)[0]
        for offset in (None, zero)
    )
    assert first.tolist() == second.tolist()


def test_stateless_uniform_and_normal():
    arrays = MANY, np.array([5], U64), np.array([1, 2], U64), np.array(1, I32)
    y = run("StatelessRandomUniformV2", *arrays)[0]
    words = philox_words(5, 1, 2, 20000)
    np.testing.assert_array_equal(y.reshape(-1), ((words % 2**23) / 2**23).astype(F32))
    z = run("StatelessRandomNormalV2", *arrays)[0].astype(F64)
    assert abs(z.mean()) < 0.03
    assert abs(z.var() - 1) < 0.03
    odd = run("StatelessRandomNormalV2", np.array([3]), *arrays[1:])[0]
    np.testing.assert_array_equal(odd, z.reshape(-1)[:3].astype(F32))


@pytest.mark.parametrize(("number", "dtype"), [(0, F32), (12, np.bool_), (3, I32)])
def test_bernoulli(number, dtype):
    arrays = MANY, np.array(0.3, F32), np.array(1, I64), np.array(8, I64)
    y = run("StatelessBernoulli", *arrays, dtype=number)[0]
    assert y.dtype == dtype
    assert abs(y.mean() - 0.3) < 0.02
    assert run("StatelessBernoulli", MANY, np.array(1, F32), *arrays[2:])[0].all()
    assert not run("StatelessBernoulli", MANY, np.array(0, F32), *arrays[2:])[0].any()


@pytest.mark.parametrize(
    ("op_type", "inputs", "attrs"),
    [
        ("RandomUniform", [MANY], {"dtype": 0}),
        ("RandomStandardNormal", [MANY], {"dtype": 0}),
        ("TruncatedNormal", [MANY], {}),
        ("RandomUniformInt", [MANY, np.array(0), np.array(9)], {}),
        ("RandomShuffle", [np.arange(90)], {}),
        ("Multinomial", [np.zeros((2, 5), F32), np.array(60)], {}),
        ("DropOutGenMask", [MANY, np.array(0.5, F32)], {}),
    ],
)
def test_seeds_choose_the_numbers(op_type, inputs, attrs):
    first, again, other, third = (
        run(op_type, *inputs, **attrs, **seeds)[0].tolist()
        for seeds in ({"seed": 1}, {"seed": 1}, {"seed": -1}, {"seed2": 1})
    )
    assert first == again
    assert first != other
    assert first != third


KEYED = [np.array([2]), np.zeros(1, U64), np.zeros(2, U64)]


@pytest.mark.parametrize(
    ("op_type", "arrays", "attrs", "text"),
    [
        ("RandomUniformInt", [np.array([2]), np.array(3), np.array(3)], {},
         r"interval is \[3, 3\), expected one that is not empty"),
        ("Multinomial", [np.zeros((2, 0), F32), np.array(1)], {},
         "logits has no classes, expected at least one"),
        ("DropOutGenMask", [np.array([2]), np.array(1.5, F32)], {},
         r"prob is 1.5, expected one number in \[0, 1\]"),
        ("StatelessRandomUniformV2", [*KEYED, np.array(1, I32)], {"dtype": 1},
         "dtype is DT_FLOAT16, expected DT_FLOAT, whose stream is known"),
        ("StatelessRandomUniformV2", [*KEYED, np.array(2, I32)], {},
         r"alg is 2, expected 1 \(Philox\) or 3 \(automatic\)"),
    ],
)  # fmt: skip
def test_refused_values(op_type, arrays, attrs, text):
    op = make(op_type, arrays, True, attrs=attrs)
    with pytest.raises(ValueError, match=text):
        op.execute(arrays)
