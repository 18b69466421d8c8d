"""Modules that are imported when they are first used.

What works a run imports LangGraph, retrieval and HTTP, which takes seconds; listing runs must not wait for it.
"""

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType


def later(name: str) -> ModuleType:
    """Return a module whose code runs at the first access to one of its names.

    This is the recipe "Implementing lazy imports" of Python's importlib documentation.
    """
    if name in sys.modules:
        return sys.modules[name]
    spec = find_spec(name)
    assert spec is not None, name
    assert spec.loader is not None, name
    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
