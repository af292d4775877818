"""Running programs of torch as GE graphs beside eager torch."""

import numpy as np
import pytest

import ge_xdsl as gx
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.names import input_names
from ge_xdsl.importers.torch.values import array_of_tensor

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def exported(model, args, kwargs=None, **options):
    return torch.export.export(model.eval(), args, kwargs, **options)


def flat(results):
    items = results if isinstance(results, tuple | list) else [results]
    return [item.detach() for item in items if item is not None]


def run(module, args):
    """The outputs for tensors in the order of the graph inputs, before and after optimisation."""
    verify(module)
    named = dict(zip(input_names(main_function(module)), map(array_of_tensor, args), strict=True))
    plain = gx.run(module, named)
    gx.optimize(module)
    return plain, gx.run(module, named)


def check(module, args, expected, tolerance=1e-4):
    for outputs in run(module, args):
        assert len(outputs) == len(expected)
        for (name, array), tensor in zip(outputs.items(), expected, strict=True):
            wanted = array_of_tensor(tensor)
            assert (array.dtype, array.shape) == (wanted.dtype, wanted.shape), name
            np.testing.assert_allclose(
                array.astype(np.float64),
                wanted.astype(np.float64),
                tolerance,
                tolerance,
                err_msg=name,
            )


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
