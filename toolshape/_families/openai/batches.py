"""How the batches of OpenAI's form hold requests and results."""

from toolshape._families.wire.batches import BatchForm, ResultPlace

LINE = ResultPlace(("custom_id",), ("response", "body"), ("error",), ("response", "status_code"))
OPENAI_BATCH = BatchForm(
    id=("custom_id",),
    body=("body",),
    fixed={"method": "POST", "url": "/v1/chat/completions"},
    model="line",
    refuses={"stream": "no result of a batch is streamed"},
    results=(LINE,),
    evidence="OpenAI's batch guide; batch_create_params of openai 3.57.0 and groq 1.7.0; "
    "learn.microsoft.com how-to/batch; inference-docs.cerebras.ai/capabilities/batch, 2026-11-28",
)
TOGETHER_BATCH = BatchForm(
    id=("custom_id",),
    body=("body",),
    id_pattern=r"(?s).{1,64}",
    model="either",
    refuses=OPENAI_BATCH.refuses,
    results=(LINE,),
    evidence="docs.together.ai/docs/inference/batch, 2026-11-28",
)
