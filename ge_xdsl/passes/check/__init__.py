"""What `ge-check` does: lint rules, build graphs from patterns, run passes on them, compare."""
