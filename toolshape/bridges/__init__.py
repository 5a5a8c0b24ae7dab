"""Bridges to agent frameworks: pass tools to a framework, and import its tools. Each module needs its framework."""

from toolshape.bridges._delivery import BridgeOptions

__all__ = ["BridgeOptions"]
