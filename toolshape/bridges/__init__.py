"""Bridges to agent frameworks: gives tools to a framework, and imports its tools. Each module needs its framework installed."""
