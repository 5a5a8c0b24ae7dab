from toolshape._families.cohere.responses import PROVIDERS

__all__ = ["PROVIDERS"]
