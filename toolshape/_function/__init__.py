"""Reads a Python function and its docstring, makes the pydantic model of its
parameters, and calls the function.

In: a function. Out: its signature, model and JSON Schema; later, what the function returned, as
text or JSON. To support another annotation or docstring style, change this room; it knows no
provider.
"""
