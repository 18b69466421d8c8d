"""How runs that sleep are brought from one version of the workflow to the next: one pure function for each step.

A file here belongs to a released version and is never edited: runs rest on what it did.
"""

from collections.abc import Mapping

from graph.upcasts import v0001
from graph.upcasts.base import Upcast

#: By the version that a run comes from: 1 leads from version 1 to version 2.
UPCASTS: Mapping[int, Upcast] = {1: v0001.upcast}
