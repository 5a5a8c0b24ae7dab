"""One file a wire family; each names what it holds in ``PROVIDERS``, the family's default first."""
