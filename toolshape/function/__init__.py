"""A Python function in; its signature, pydantic model, canonical JSON Schema and invocation out."""
