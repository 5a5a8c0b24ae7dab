"""Reads tool definitions from elsewhere, in any provider's format, and
validates calls against their schemas.
"""
