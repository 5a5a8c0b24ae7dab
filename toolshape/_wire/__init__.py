"""What every provider has in common: bodies, streams, ids, and the export of a tool. The standard library only."""
