"""Bridges to agent frameworks: pass tools to a framework, and import its tools.

Each module needs its framework.

In: a registry's tools, or a framework's. Out: the framework's own tool objects, or tools of
toolshape. A framework has one module; what all of them need is in ``_foreign.py`` and
``_delivery.py``.
"""

from toolshape.bridges._delivery import BridgeOptions

__all__ = ["BridgeOptions"]
