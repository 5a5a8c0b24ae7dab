"""Reads a structured answer from a response, and sends the schema that the answer must have.

In: a type, and a provider. Out: the part of the request that asks for the type, and the value that
came back. What an answer allows at a provider is data of the family; this room only applies it.
"""
