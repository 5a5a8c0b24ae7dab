"""Rewrites JSON Schemas, maps arguments back, and handles JSON values. Uses only the standard library."""
