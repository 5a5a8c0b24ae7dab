from toolshape._families.ollama.responses import PROVIDERS

__all__ = ["PROVIDERS"]
