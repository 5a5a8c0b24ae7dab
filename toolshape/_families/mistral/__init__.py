from toolshape._families.mistral.responses import PROVIDERS

__all__ = ["PROVIDERS"]
