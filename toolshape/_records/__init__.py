"""Holds the records that the other rooms hand to each other, and how they are shown.

In: values that another room has read or computed. Out: immutable records (``Call``, ``Result``,
errors, parts). A new fact about a call or a tool becomes a field here; nothing here imports another
room.
"""
