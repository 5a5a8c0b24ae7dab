"""Requests as a provider's server reads them; responses, streams and errors as it writes them."""
