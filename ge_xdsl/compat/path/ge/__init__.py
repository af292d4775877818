"""`ge` for a Python that starts with this file's folder on its path: the compat package.

PYTHONPATH=$(python -m ge_xdsl.compat.path) python -m ge.pyatc --model=...
"""

from __future__ import annotations

import sys

from ge_xdsl.passes.loader import PACKAGE, AliasFinder

if not any(isinstance(finder, AliasFinder) for finder in sys.meta_path):
    sys.meta_path.insert(0, AliasFinder())
__import__(PACKAGE)
sys.modules[__name__] = sys.modules[PACKAGE]
