"""Runs a function with validated arguments; returns its value, or raises the error that answers the call."""
