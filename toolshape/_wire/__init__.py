"""Code that all providers share: bodies, streams, ids, and the export of tools. Needs only the standard library."""
