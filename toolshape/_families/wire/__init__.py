"""Code that all providers share: bodies, streams, ids, and the export of tools.

It needs only the standard library.
"""
