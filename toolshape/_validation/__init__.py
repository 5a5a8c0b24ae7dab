"""Validates and coerces the arguments of a call, and writes what the model reads about a mistake.

In: arguments as a model wrote them, and a tool's model or schema. Out: the function's arguments, or
the faults. A new coercion goes into ``coercion.py``; a phrase that models read goes into
``feedback.py``.
"""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._validation import (
        jsonschema_checker as jsonschema_checker,
        output_checker as output_checker,
        pydantic_checker as pydantic_checker,
        repair as repair,
        schema_defaults as schema_defaults,
    )
else:  # many processes see no invalid call, and most of these need an extra.
    __getattr__ = import_later(
        __name__,
        "jsonschema_checker",
        "output_checker",
        "pydantic_checker",
        "repair",
        "schema_defaults",
    )
