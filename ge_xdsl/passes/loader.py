"""Loading user pass files: the rules of `ASCEND_GE_PY_PASS_PATH`, and what `import ge` finds.

A file is loaded once per process whatever path names it; a load that fails leaves no pass of its
file behind. Errors are `CompileError`s at the user's own line.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib
import importlib.util
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType

from ge_xdsl.errors import CompileError, Location, nearest
from ge_xdsl.passes import registry

ENV_PY_PASS_PATH = "ASCEND_GE_PY_PASS_PATH"
"""Pass files and directories, separated like PATH; read on every load."""

MODULE_PREFIX = "_ge_py_pass_"
ALIAS = "ge"
PACKAGE = "ge_xdsl.compat.ge"
OP_PACKAGES = frozenset({"es_all", "es_cv", "es_math", "es_nn", "es_transformer"})
"""The packages that hold the op functions of `ge.es.<name>` in a CANN installation."""

_NOT_IN_MODULE = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+(?=>)")
"""Where an object lies, in its `repr`: another place in each run."""

_loaded: dict[Path, str] = {}
"""Canonical path of a loaded file or package -> its module name."""


class PassPathError(CompileError):
    """A pass path that cannot be loaded; `cause` is what Python would raise for it."""

    def __init__(self, message: str, cause: Exception) -> None:
        super().__init__(message)
        self.cause = cause


class PassLoadError(CompileError):
    """A pass file that raised while it was loaded; `cause` is what it raised."""

    def __init__(self, message: str, location: Location, cause: BaseException) -> None:
        super().__init__(message, location=location)
        self.cause = cause


# The name `ge`


class _AliasLoader(Loader):
    """Gives a module of the compat package a second name without running it again."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.target)
        self.spec = module.__spec__
        return module

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the real module, which is what `python -m ge.pyatc` runs."""
        spec = importlib.util.find_spec(self.target)
        loader = spec.loader if spec is not None else None
        return loader.get_code(self.target) if isinstance(loader, SourceLoader) else None

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has put the alias's spec there
        prefix = f"{PACKAGE}."
        for name, known in list(sys.modules.items()):
            if name.startswith(prefix):
                sys.modules.setdefault(f"{ALIAS}.{name.removeprefix(prefix)}", known)


class AliasFinder(MetaPathFinder):
    """Finds `ge` and `ge.*`, and op packages such as `es_math`, in the compat package."""

    def find_spec(
        self, fullname: str, path: object, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in OP_PACKAGES:
            importlib.import_module(f"{PACKAGE}.es")  # makes the op modules
            real = f"{PACKAGE}.es.{fullname.removeprefix('es_')}"
            return ModuleSpec(fullname, _AliasLoader(real))
        if fullname != ALIAS and not fullname.startswith(f"{ALIAS}."):
            return None
        real = PACKAGE + fullname.removeprefix(ALIAS)
        if real not in sys.modules:
            try:
                if importlib.util.find_spec(real) is None:
                    return None
            except ModuleNotFoundError:
                return None
        return ModuleSpec(fullname, _AliasLoader(real), is_package=_is_package(real))


def _is_package(name: str) -> bool:
    module = sys.modules.get(name)
    spec = module.__spec__ if module is not None else importlib.util.find_spec(name)
    return spec is not None and spec.submodule_search_locations is not None


def real_ge_is_importable() -> bool:
    """Whether a `ge` package other than ours can be imported: one that has `passes`."""
    known = sys.modules.get(ALIAS)
    if known is not None:
        return known.__name__ == ALIAS
    spec = PathFinder.find_spec(ALIAS)
    if spec is None or spec.origin is None:
        return False
    return PathFinder.find_spec(f"{ALIAS}.passes", spec.submodule_search_locations) is not None


def activate(*, force: bool = False) -> bool:
    """Make `import ge` find the compat package; returns whether it does.

    A real `ge` package that can be imported is left alone unless `force` is given.
    """
    if any(isinstance(finder, AliasFinder) for finder in sys.meta_path):
        return True
    if real_ge_is_importable() and not force:
        return False
    if ALIAS in sys.modules and sys.modules[ALIAS].__name__ == ALIAS:
        raise CompileError(
            "another 'ge' package is imported already, expected the one of ge_xdsl",
            subject="import ge",
        )
    sys.meta_path.insert(0, AliasFinder())
    return True


# Loading


def load(paths: Sequence[str] = ()) -> list[ModuleType]:
    """Load the pass files of `ASCEND_GE_PY_PASS_PATH`, then those of `paths` (`--load`).

    Raises CompileError for a path that is missing or no .py file, and for a file that cannot be
    compiled, raises, or registers a taken name.
    """
    activate(force=True)
    found: dict[str, ModuleType] = {}
    for entry in (*env_entries(), *paths):
        for module in load_entry(entry):
            found.setdefault(module.__name__, module)
    return list(found.values())


def env_entries(variable: str = ENV_PY_PASS_PATH) -> list[str]:
    """The entries of an environment variable, in order, empty ones dropped."""
    text = os.environ.get(variable, "")
    return [entry.strip() for entry in text.split(os.pathsep) if entry.strip()]


def load_entry(entry: str) -> list[ModuleType]:
    """Load one file, or what a directory holds."""
    path = Path(entry).expanduser().resolve()
    if not path.exists():
        hint = ", expected one path each time" if "," in entry else ""
        text = f"python pass path does not exist: {entry}{hint}"
        raise PassPathError(text, FileNotFoundError(text))
    if path.is_dir():
        return list(_load_directory(path))
    if path.suffix != ".py":
        text = f"python pass file must end with .py: {entry}"
        raise PassPathError(text, ValueError(text))
    return [_load_file(path)]


def _load_directory(path: Path) -> Iterator[ModuleType]:
    """The .py files and packages of a directory, by name; its files can import each other."""
    with _on_sys_path(str(path)):
        for child in sorted(path.iterdir(), key=lambda p: p.name):
            if child.name.startswith("_"):
                continue
            if child.is_dir() and (child / "__init__.py").is_file():
                yield _load_package(child)
            elif child.suffix == ".py" and child.is_file():
                yield _load_file(child.resolve())


@contextmanager
def _on_sys_path(folder: str) -> Generator[None]:
    added = folder not in sys.path
    if added:
        sys.path.insert(0, folder)
    try:
        yield
    finally:
        if added:
            sys.path.remove(folder)


def module_name(path: Path) -> str:
    """The module name of a pass file: the same in every process."""
    digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{MODULE_PREFIX}{path.stem}_{int(digest[:15], 16)}"


def _load_file(path: Path) -> ModuleType:
    known = _known(path)
    if known is not None:
        return known
    name = module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    before = {p.name for p in registry.registered()}
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # a file may raise anything; none of it ends the process
        sys.modules.pop(name, None)
        registry.discard({p.name for p in registry.registered()} - before)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise load_error(error, path) from error
    _loaded[path] = name
    return module


def _load_package(folder: Path) -> ModuleType:
    path = folder.resolve()
    known = _known(path)
    if known is not None:
        return known
    before = {p.name for p in registry.registered()}
    try:
        module = importlib.import_module(folder.name)
    except BaseException as error:
        registry.discard({p.name for p in registry.registered()} - before)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise load_error(error, path / "__init__.py") from error
    if not Path(module.__file__ or "").resolve().is_relative_to(path):
        raise CompileError(
            f"package '{folder.name}' is another one, expected the one here",
            location=Location(str(path)),
        )
    _loaded[path] = module.__name__
    return module


def _known(path: Path) -> ModuleType | None:
    name = _loaded.get(path)
    return sys.modules.get(name) if name is not None else _imported(path)


def _imported(path: Path) -> ModuleType | None:
    """The module of a pass file that the user's own code imported: its passes are registered."""
    places = (user_pass.location for user_pass in registry.registered())
    files = {place.file for place in places if place and Path(place.file).name == path.name}
    if not any(Path(file).resolve() == path for file in files):
        return None
    modules = ((getattr(module, "__file__", None), module) for module in [*sys.modules.values()])
    return next((module for file, module in modules if file in files), None)


def load_error(error: BaseException, path: Path) -> PassLoadError:
    """What a pass file raised, at the last line of the user's code that ran."""
    if isinstance(error, SyntaxError):
        place = Location(error.filename or str(path), error.lineno or 0, error.offset or 1)
        return PassLoadError(f"syntax error: {error.msg}", place, error)
    line = user_line(error, path.parent)
    place = line or Location(str(path))
    return PassLoadError(f"loading the pass file raised {cause_of(error)}", place, error)


def cause_of(error: BaseException) -> str:
    """What user code raised, as `Type: text`, with the name that was probably meant."""
    try:
        text, hint = str(error), ""
    except Exception:  # a class of the user's, whose text is no better than its name
        return type(error).__name__
    text = _ADDRESS.sub("", text)
    wanted = _NOT_IN_MODULE.match(text) if isinstance(error, ImportError) else None
    if wanted is not None:
        name, module = wanted[1], wanted[2]
        shown = ALIAS + module.removeprefix(PACKAGE) if module.startswith(PACKAGE) else module
        text = f"cannot import name '{name}' from '{shown}'"
        hint = nearest(name, dir(sys.modules.get(module)))
    elif isinstance(error, AttributeError) and error.name and error.obj is not None:
        owner = error.obj if isinstance(error.obj, ModuleType) else type(error.obj)
        known = [name for name in dir(owner) if not name.startswith("_")]
        hint = "" if error.name in known else nearest(error.name, known)
        if isinstance(error.obj, type) and text == error.name:  # what enumerations say
            hint = nearest(error.name, dir(error.obj))
            text = f"{error.obj.__name__} has no member '{error.name}'"
    elif isinstance(error, NameError) and error.name:
        hint = nearest(error.name, _names_in_reach(error))
    return f"{type(error).__name__}: {text}{hint}" if text else type(error).__name__


def _names_in_reach(error: BaseException) -> list[str]:
    """What the innermost frame of a traceback could have meant by a name."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    found = [*frames[-1].f_locals, *frames[-1].f_globals] if frames else []
    return [*found, *dir(builtins)]


def user_line(error: BaseException, folder: Path | None = None) -> Location | None:
    """The innermost line of a traceback that is user code: not ours, not the import system's."""
    ours = str(Path(__file__).resolve().parents[1])
    found: Location | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        inside = _is_user_file(file, ours) if folder is None else Path(file).is_relative_to(folder)
        if inside:
            found = Location(file, line, 1)
    return found


def _is_user_file(file: str, ours: str) -> bool:
    """Whether a file is none of the folder `ours`, of the standard library or installed."""
    library = sysconfig.get_path("stdlib")
    folders = (f"{library}{os.sep}", f"{ours}{os.sep}")
    return "site-packages" not in file and not file.startswith(("<", *folders))


@contextmanager
def loaded(paths: Sequence[str]) -> Generator[None]:
    """`load`, and forget what it newly registered at the end of the `with`."""
    before = {user_pass.name for user_pass in registry.registered()}
    known = dict(_loaded)
    try:
        load(paths)
        yield
    finally:
        new = {user_pass.name for user_pass in registry.registered()} - before
        registry.discard(new)
        for path in _loaded.keys() - known.keys():
            sys.modules.pop(_loaded.pop(path), None)


def unload() -> None:
    """Forget loaded pass files and their passes, so that the next load runs them again."""
    for name in [name for name in sys.modules if name.startswith(MODULE_PREFIX)]:
        del sys.modules[name]
    registry.clear()
