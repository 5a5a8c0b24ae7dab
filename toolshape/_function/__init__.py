"""Reads a function and its docstring, models its parameters, and calls it.

In: a function. Out: its signature, model and JSON Schema; later, what the function returned, as
text or JSON. To support another annotation or docstring style, change this room; it knows no
provider.
"""
