"""Makes the operations of an OpenAPI document tools. Needs the extra ``openapi``.

In: a document, and an ``httpx`` client that knows the server and its credentials. Out: a registry
whose tools write the arguments of a call into a request as the document says, each at its place,
and return what the server answers.
"""

try:
    from toolshape.openapi._api import Api, load
    from toolshape.openapi._operations import LeftOut, Operation
except ImportError as error:
    raise ImportError(
        f"toolshape.openapi needs httpx and jsonschema: pip install 'toolshape[openapi]' ({error})"
    ) from error

__all__ = ["Api", "LeftOut", "Operation", "load"]
