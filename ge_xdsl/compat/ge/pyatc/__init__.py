"""`ge.pyatc`: ATC's command line from Python; `python -m ge.pyatc` and `ge.pyatc.__main__.main`."""
