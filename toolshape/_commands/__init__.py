"""The parts of the command line: what names a tool, and how rows are shown."""
