"""Reads tool definitions that were written elsewhere, in any provider's format, and validates calls by their schema."""
