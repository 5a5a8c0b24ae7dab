"""Running a function with validated arguments: its value, or the error that answers the call."""
