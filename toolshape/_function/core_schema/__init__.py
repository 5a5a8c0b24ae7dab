"""Tightens pydantic's core schemas, and reads keys, enums, tags and defaults from them."""
