"""Tells when a module has been imported that was not there yet, or not wholly; nothing is imported to find out."""

from __future__ import annotations

import sys
import threading
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType


class ImportWatch(MetaPathFinder):
    """Calls `tell` with the name of a module once it has been imported.

    It stands first among the interpreter's finders while it watches; it finds nothing by itself, and asks the others.

    Args:
        names: The modules to look out for.
        tell: Called in the thread that imports, after the module's code has run; what it raises reaches that thread.
    """

    def __init__(self, names: Sequence[str], tell: Callable[[str], None]) -> None:
        self._names = frozenset(names)
        self._tell = tell
        self._asking = threading.local()
        self._begun: list[ModuleSpec] = []  # of modules whose import had begun before

    def start(self) -> None:
        """Begins to watch."""
        sys.meta_path.insert(0, self)
        for name in self._names:
            spec = getattr(sys.modules.get(name), "__spec__", None)
            if type(spec) is ModuleSpec and is_in_the_making(spec):
                spec.__dict__["_agentcell_tell"] = self._tell
                spec.__class__ = _TellingSpec
                self._begun.append(spec)

    def stop(self) -> None:
        """Watches no longer, and leaves nothing behind."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for spec in self._begun:
            _give_back(spec)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002 - the interpreter's
        """What the other finders say, with a loader that tells afterwards; None for what nobody waits for."""
        if fullname not in self._names or getattr(self._asking, "name", None) == fullname:
            return None
        self._asking.name = fullname
        try:
            spec = find_spec(fullname)
        finally:
            self._asking.name = None
        if spec is not None and spec.loader is not None:
            spec.loader = _TellingLoader(spec.loader, self._tell)
        return spec


def is_in_the_making(spec: Any) -> bool:
    """Whether a module with this spec is being imported, and not done: by another thread, or around this code."""
    return bool(getattr(spec, "_initializing", False))


class _TellingSpec(ModuleSpec):
    """The spec of a module that another thread is at; the interpreter marks in it when that is done, and then it is its own again."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "_initializing" and not value:
            tell = _give_back(self)
            if tell is not None and self.name in sys.modules:  # else its import has failed
                tell(self.name)


def _give_back(spec: ModuleSpec) -> Callable[[str], None] | None:
    spec.__class__ = ModuleSpec
    tell: Callable[[str], None] | None = spec.__dict__.pop("_agentcell_tell", None)
    return tell


class _TellingLoader(Loader):
    """A module's own loader, which says afterwards that it is done, and then is the module's own again."""

    def __init__(self, loader: Loader, tell: Callable[[str], None]) -> None:
        self._loader = loader
        self._tell = tell

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._tell(module.__name__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
