"""Fixtures of the compat tests: `import ge` works, and every test starts without passes."""

import pytest

from ge_xdsl.passes import loader

loader.activate()


@pytest.fixture(autouse=True)
def _no_passes():
    loader.unload()
    yield
    loader.unload()
