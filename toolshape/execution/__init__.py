"""Validated arguments in; the function's value out, or the error that answers the call."""
