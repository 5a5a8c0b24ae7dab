"""Validates and coerces the arguments of a call, and writes what the model reads about a mistake.

In: arguments as a model wrote them, and a tool's model or schema. Out: the function's arguments, or
the faults. A new coercion goes into ``coercion.py``; a phrase that models read goes into
``feedback.py``.
"""
