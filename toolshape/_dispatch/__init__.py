"""A response: its calls read, planned, run and answered."""
