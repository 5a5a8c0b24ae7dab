from toolshape._families.openai import responses, vendors

PROVIDERS = (*responses.PROVIDERS, *vendors.PROVIDERS)
