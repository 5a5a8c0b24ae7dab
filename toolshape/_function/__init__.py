"""Reads a Python function (signature, pydantic model, canonical JSON Schema) and calls it."""
