"""Op modules of other packages: every entry point of the group `ge.es.plugins` is one.

An entry point's name is the module's; its object is a module, the path of one, or a callable that
gives either. What cannot be loaded is told on standard error and left out.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, cast

GROUP = "ge.es.plugins"
LABEL = "ge.es._plugin_loader"
PACKAGE = "ge_xdsl.compat.ge.es"

_CALLS = 16
"""Most callables that may give each other before one gives a module."""


def debug_print(level: str, message: str, *args: object) -> None:
    """Tell an outcome on standard error; a success is told by nothing.

    Arguments fill the `%` of the message; what it has no place for follows it.
    """
    if level == "INFO":
        return
    try:
        text = message % args if args else message
    except TypeError:
        text = " ".join([message, *map(str, args)])
    print(f"[{level}] [{LABEL}] {text}", file=sys.stderr)


def load_all_plugins() -> dict[str, ModuleType]:
    """Load every plugin and make it importable as `ge.es.<name>`; name -> module. Never raises."""
    found: dict[str, ModuleType] = {}
    try:
        entries = _iter_plugin_entry_points()
    except Exception as error:  # metadata of foreign packages may be anything
        debug_print("ERROR", "ES plugins cannot be listed: %s", error)
        return found
    for entry in entries:
        name = getattr(entry, "name", None)
        if not name:
            debug_print("WARNING", "ES plugin without a name is left out: %s", entry)
            continue
        try:
            found[name] = _coerce_to_module(entry.load(), name)
        except AttributeError as error:
            debug_print("ERROR", "ES plugin '%s' lacks an attribute: %s", name, error)
        except ImportError as error:
            debug_print("ERROR", "ES plugin '%s' cannot be imported: %s", name, error)
        except (
            Exception
        ) as error:  # a plugin is foreign code: whatever it raises is its own failure
            debug_print("ERROR", "ES plugin '%s' failed: %s", name, error)
        else:
            _publish(name, found[name])
            debug_print("INFO", "ES plugin '%s' loaded: %s", name, found[name].__name__)
    return found


def _publish(name: str, module: ModuleType) -> None:
    """Make a plugin importable, unless there is an op module of its name."""
    if f"{PACKAGE}.{name}" not in sys.modules:
        for package in (PACKAGE, "ge.es"):
            sys.modules.setdefault(f"{package}.{name}", module)


def _iter_plugin_entry_points() -> list[Any]:
    """The entry points of the group, however this Python's importlib hands them out."""
    find = cast("Callable[..., Any]", entry_points)
    try:
        given = find(group=GROUP)
        listed = given if not isinstance(given, dict) else cast("Any", given).get(GROUP, [])
    except TypeError:
        given = find()
        select = getattr(given, "select", None)
        listed = select(group=GROUP) if select is not None else given.get(GROUP, [])
    return list(cast("Iterable[Any]", listed))


def _coerce_to_module(obj: Any, plugin_name: str) -> ModuleType:
    """The module that an entry point's object stands for; raises TypeError for another object."""
    for _ in range(_CALLS):
        if isinstance(obj, ModuleType):
            return obj
        if isinstance(obj, str):
            return importlib.import_module(obj)
        if not callable(obj):
            break
        obj = obj()
    raise TypeError(
        f"ES plugin '{plugin_name}' gives {type(obj).__name__}, expected a module, the path of "
        "one or a callable that gives either"
    )
