"""Arguments that a model wrote: validated and coerced, or refused with what is wrong."""
