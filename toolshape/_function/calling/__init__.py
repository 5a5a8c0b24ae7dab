"""Runs a function with validated arguments, and returns its value or raises
the ``CallError`` for the call.
"""
