"""Settings of all tests: the drawn examples are the same in every run, and others each night."""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
if not os.environ.get("GE_XDSL_NIGHTLY"):
    settings.load_profile("fixed")
