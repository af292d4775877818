"""erf and erfc against the C library, element by element."""

import math

import numpy as np
import pytest

from ge_xdsl.dialects.ge.special import _erf_single, erf, erfc

POINTS = np.concatenate(
    [
        np.linspace(-6.5, 6.5, 20001),
        [0.46875, -0.46875, 4.0, -4.0, 3.95, 0.0, -0.0, 1e-30, -1e-8, 30.0, -30.0],
        [np.inf, -np.inf],
    ]
)


def reference(function, x):
    return np.array([function(float(v)) for v in x])


def test_erf_of_f64():
    found = erf(POINTS)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, reference(math.erf, POINTS), rtol=1e-15, atol=1e-300)


def test_erf_of_f32():
    x = POINTS.astype(np.float32)
    found = erf(x)
    expected = reference(math.erf, x)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < 6.1e-8
    np.testing.assert_allclose(found, expected, rtol=1.2e-7)
    assert np.abs(found).max() == 1


def test_the_fit_for_f32_before_rounding():
    x = np.linspace(1e-6, 3.95, 20001)
    np.testing.assert_allclose(_erf_single(x), reference(math.erf, x), rtol=2.4e-9)


def test_erfc_keeps_relative_accuracy():
    found = erfc(POINTS)
    np.testing.assert_allclose(found, reference(math.erfc, POINTS), rtol=1e-14, atol=1e-300)
    assert erfc(np.float32([6.0])).dtype == np.float32


@pytest.mark.parametrize("function", [erf, erfc])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (3, 4), (40000,)])
def test_shapes(function, shape):
    x = np.full(shape, 0.5, np.float32)
    found = function(x)
    assert found.shape == shape
    expected = math.erf(0.5) if function is erf else math.erfc(0.5)
    np.testing.assert_allclose(found, np.full(shape, expected), rtol=1e-6)


@pytest.mark.parametrize("function", [erf, erfc])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_stays_nan(function, dtype):
    assert np.isnan(function(np.array([np.nan, np.nan], dtype))).all()


def test_signs_and_strides():
    assert np.signbit(erf(np.array([-0.0], np.float32)))
    x = np.linspace(-2, 2, 12).reshape(3, 4)
    np.testing.assert_array_equal(erf(x.T), erf(np.ascontiguousarray(x.T)))
