"""pytest plugin: tests of user passes can `import ge` where no real `ge` is installed."""

from __future__ import annotations

from ge_xdsl.passes.loader import activate


def pytest_configure() -> None:
    """Install the import hook before any test module is imported."""
    activate()
