"""The `ge` package that user pass files import; `passes.loader.activate` gives it that name."""
