"""A Python function: its signature, pydantic model and canonical JSON Schema, and how it is called."""
