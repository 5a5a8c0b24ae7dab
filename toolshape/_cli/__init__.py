"""The command line: each command reads its arguments, calls the public API, and prints.

In: the arguments of a command. Out: text or JSON, and an exit code. A command decides nothing that
the library does not; ``rulebook/`` holds the probes of ``toolshape verify``.
"""
