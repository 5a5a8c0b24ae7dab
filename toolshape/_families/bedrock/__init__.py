from toolshape._families.bedrock.responses import PROVIDERS

__all__ = ["PROVIDERS"]
