"""Makes a tool out of a function or a definition, and compiles its form at one provider.

In: a function or a definition with its options, and a provider. Out: the tool, its record, and its
shape at a provider. To add an option of ``@tool``, or a form of definitions, change this room.
"""
