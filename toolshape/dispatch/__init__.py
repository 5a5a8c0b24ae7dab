"""A response in; its calls planned, run and answered out."""
