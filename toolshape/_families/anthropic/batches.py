"""How the batches of Anthropic hold requests and results."""

from toolshape._families.wire.batches import BatchForm, ResultPlace

_RECORD = ResultPlace(("recordId",), ("modelOutput",), ("error",))  # of Claude on Bedrock
ANTHROPIC_BATCH = BatchForm(
    id=("custom_id",),
    body=("params",),
    id_pattern=r"[a-zA-Z0-9_-]{1,64}",
    model="line",
    refuses={"stream": "no result of a batch is streamed"},
    # Claude's own bodies also come from Bedrock, as records of an InvokeModel job.
    results=(ResultPlace(("custom_id",), ("result", "message"), ("result",)), _RECORD),
    evidence="Request and MessageBatchIndividualResponse of anthropic 2.14.0, "
    "platform.claude.com api batches, 2026-11-28",
)
