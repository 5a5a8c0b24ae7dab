"""How the batches of Gemini hold requests and results."""

from toolshape._families.wire.batches import BatchForm, ResultPlace

GEMINI_BATCH = BatchForm(
    id=("metadata", "key"),
    body=(),
    model="either",
    results=(
        ResultPlace(("metadata", "key"), ("response",), ("error",)),
        ResultPlace(("key",), ("response",), ("error",)),
    ),
    is_ordered=True,
    evidence="InlinedRequest, InlinedResponse and BatchJobDestination of google-genai 3.6.1, "
    "ai.google.dev/gemini-api/docs/batch-mode, 2026-11-28",
)
